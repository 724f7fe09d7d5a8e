//! Glossaries as people write them: lines of source, tab, target, and a kind where it is not a phrase; and as the runtime reads
//! them.

mod learn;
mod words;

pub use learn::{Learned, learn};

use anyhow::{Context, Result, bail};
use latimer::blob::glossary::{Glossary, GlossaryKind, MAGIC, MOST_TERM_WORDS, fold, words_of};
use std::collections::BTreeMap;
use std::path::Path;

/// Longest key, and longest target, in bytes.
const MOST_KEY: usize = u8::MAX as usize;
const MOST_TARGET: usize = u16::MAX as usize;

/// Targets by folded key and kind: in the order of the section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(BTreeMap<(String, GlossaryKind), String>);

impl Entries {
    /// Reads lines of source, tab, target, and optionally tab, `phrase` or `term`. Lines that start with `#`, and empty ones, are
    /// skipped.
    pub fn read_tsv(path: &Path) -> Result<Self> {
        Self::parse(path, &read(path)?)
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let mut entries = Entries::default();
        let mut lines: BTreeMap<(String, GlossaryKind), usize> = BTreeMap::new();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        // Lines are split before decoding, so that a byte that is no UTF-8 has a line to name.
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let at = || format!("{}:{}", path.display(), number + 1);
            let Some((source, target, kind)) = fields(line).with_context(at)? else { continue };
            let key = key_of(source, kind).with_context(at)?;
            if let Some(before) = lines.insert((key.clone(), kind), number + 1) {
                bail!("{}: {source:?} stands on line {before} already: remove one of them", at());
            }
            entries.add(&key, kind, target).with_context(at)?;
        }
        if entries.0.is_empty() {
            bail!("{}: has no entries: give one SOURCE<TAB>TARGET a line", path.display());
        }
        Ok(entries)
    }

    fn add(&mut self, key: &str, kind: GlossaryKind, target: &str) -> Result<()> {
        if target.len() > MOST_TARGET {
            bail!("a target of {} bytes, {MOST_TARGET} at most: shorten it", target.len());
        }
        self.0.insert((key.to_owned(), kind), target.to_owned());
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: GlossaryKind) -> usize {
        self.0.keys().filter(|(_, other)| *other == kind).count()
    }

    /// The section, which is a file for flash of its own too.
    pub fn packed(&self) -> Result<Vec<u8>> {
        let entries: Vec<_> =
            self.0.iter().map(|((key, kind), target)| (key.as_str(), *kind, target.as_str())).collect();
        let mut bytes = vec![0; Glossary::emitted_len(&entries)];
        Glossary::emit(&entries, &mut bytes).context("the glossary would be larger than 4 GiB")?;
        Ok(bytes)
    }
}

/// A file of lines, or one that is packed, as packed bytes.
pub fn load(path: &Path) -> Result<Vec<u8>> {
    let bytes = read(path)?;
    if !bytes.starts_with(&MAGIC.to_le_bytes()) {
        return Entries::parse(path, &bytes)?.packed();
    }
    Glossary::parse(&bytes)
        .with_context(|| format!("{}: damaged; pack it anew with `model-gen glossary`", path.display()))?;
    Ok(bytes)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let what = || format!("{}: cannot be read; give a file of lines SOURCE<tab>TARGET", path.display());
    std::fs::read(path).with_context(what)
}

/// Source, target and kind of a line; `None` for a comment or nothing.
fn fields(line: &[u8]) -> Result<Option<(&str, &str, GlossaryKind)>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = str::from_utf8(line).ok().context("found bytes that are not UTF-8: save the file as UTF-8")?;
    if line.trim().is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let wanted = "wanted SOURCE<TAB>TARGET, or SOURCE<TAB>TARGET<TAB>term";
    let (source, target, kind) = match line.split('\t').map(str::trim).collect::<Vec<_>>()[..] {
        [_] => bail!("found no tab, {wanted}"),
        [source, target] => (source, target, GlossaryKind::Phrase),
        [source, target, "phrase"] => (source, target, GlossaryKind::Phrase),
        [source, target, "term"] => (source, target, GlossaryKind::Term),
        [_, _, kind] => bail!("found the kind {kind:?}: write phrase or term"),
        _ => bail!("found more than two tabs, {wanted}"),
    };
    match (source, target) {
        ("", _) => bail!("found an empty source, {wanted}"),
        (_, "") => bail!("found an empty target, {wanted}"),
        _ => Ok(Some((source, target, kind))),
    }
}

/// The key that a source is found by.
fn key_of(source: &str, kind: GlossaryKind) -> Result<String> {
    let words = source.get(words_of(source.as_bytes())).unwrap_or(source);
    let key = String::from_utf8(fold(words.as_bytes()).collect())?;
    if key.len() > MOST_KEY {
        bail!("a source of {} bytes, {MOST_KEY} at most: shorten it", key.len());
    }
    if kind == GlossaryKind::Term {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if !is_word(key.chars().next()) || !is_word(key.chars().last()) {
            bail!("the term {source:?}: a term starts and ends with a letter or a digit; make it a phrase");
        }
        let words = key.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '-')).filter(|w| !w.is_empty());
        let count = words.count();
        if count > MOST_TERM_WORDS {
            bail!("a term of {count} words, {MOST_TERM_WORDS} at most: shorten it, or make it a phrase");
        }
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &[u8]) -> Result<Entries, String> {
        Entries::parse(Path::new("words.tsv"), text).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn lines_become_a_section() {
        let text = "\u{feff}# by hand\n\nGood  Morning!\tBuenos d\u{ed}as\r\nprinter\timpresora\tterm\nprinter\tprensa\tphrase\n";
        let entries = parsed(text.as_bytes()).unwrap();
        assert_eq!((entries.len(), entries.count(GlossaryKind::Term)), (3, 1));
        let bytes = entries.packed().unwrap();
        let glossary = Glossary::parse(&bytes).unwrap();
        let found: Vec<_> = (0..3).map(|i| glossary.entry(i).unwrap()).collect();
        assert_eq!(found[0], ("good morning", GlossaryKind::Phrase, "Buenos d\u{ed}as"));
        assert_eq!(found[1], ("printer", GlossaryKind::Phrase, "prensa"));
        assert_eq!(found[2], ("printer", GlossaryKind::Term, "impresora"));
    }

    #[test]
    fn faults_name_file_line_and_remedy() {
        let long = [b"a\tb\n".as_slice(), &[b'x'; 256], b"\ty"].concat();
        let far = [b"x\t".as_slice(), &[b'y'; 65_536]].concat();
        for (bytes, wanted) in [
            (&b"a\tb\nno tab\n"[..], "words.tsv:2: found no tab"),
            (b"a\tb\tverb", "words.tsv:1: found the kind \"verb\": write phrase or term"),
            (b"a\tb\tterm\tx", "words.tsv:1: found more than two tabs"),
            (b"\n\tb", "words.tsv:2: found an empty source"),
            (b"a\t \n", "words.tsv:1: found an empty target"),
            (b"#\n\xff\tc", "words.tsv:2: found bytes that are not UTF-8: save"),
            (b"Go!\tb\n\ngo\tc", "words.tsv:3: \"go\" stands on line 1 already: remove one"),
            (b"c++\tb\tterm", "words.tsv:1: the term \"c++\": a term starts and ends with a letter"),
            (b"a b c d e f g\tx\tterm", "words.tsv:1: a term of 7 words, 6 at most: shorten it"),
            (b"# nothing\n", "words.tsv: has no entries"),
            (&long, "words.tsv:2: a source of 256 bytes, 255 at most: shorten it"),
            (&far, "words.tsv:1: a target of 65536 bytes, 65535 at most: shorten it"),
        ] {
            let error = parsed(bytes).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
        assert_eq!(parsed(b"c++\tx\na b c d e f g\tx").unwrap().len(), 2, "phrases may be so");
    }
}
