//! Phrase pairs: `SOURCE<TAB>TARGET` lines, where a source may stand on several lines with several targets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// References a source is scored against in this project's figures.
pub const MAX_REFERENCES: usize = 4;

/// A source and what it may be translated to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrase {
    /// The text to translate.
    pub source: String,
    /// At least one translation.
    pub references: Vec<String>,
}

/// Why pairs could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairsError {
    /// The operating system would not give the file's bytes.
    #[error("{}: cannot be read; give a file of lines SOURCE<tab>TARGET", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A line is not a pair.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it, and what was wanted.
        problem: &'static str,
    },
    /// The file holds no pair at all.
    #[error("{}: holds no pairs: give one SOURCE<TAB>TARGET a line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Distinct sources in the order they first appear, each with its first `max_references` targets.
pub fn read_pairs(path: &Path, max_references: usize) -> Result<Vec<Phrase>, PairsError> {
    let bytes = std::fs::read(path).map_err(|source| PairsError::Unreadable { path: path.to_owned(), source })?;
    parse(path, &bytes, max_references)
}

fn parse(path: &Path, bytes: &[u8], max_references: usize) -> Result<Vec<Phrase>, PairsError> {
    let mut phrases: Vec<Phrase> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    // Lines are split before decoding, so that a byte that is no UTF-8 has a line to name.
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
    for (number, line) in lines.enumerate().take_while(|_| !bytes.is_empty()) {
        let (source, target) =
            pair(line).map_err(|problem| PairsError::Line { path: path.to_owned(), line: number + 1, problem })?;
        let place = *index.entry(source).or_insert_with(|| {
            phrases.push(Phrase { source: source.to_owned(), references: Vec::new() });
            phrases.len() - 1
        });
        let references = &mut phrases[place].references;
        if references.len() < max_references.max(1) {
            references.push(target.to_owned());
        }
    }
    if phrases.is_empty() { Err(PairsError::Empty { path: path.to_owned() }) } else { Ok(phrases) }
}

fn pair(line: &[u8]) -> Result<(&str, &str), &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = str::from_utf8(line).map_err(|_| "found bytes that are not UTF-8: save the file as UTF-8")?;
    match line.split('\t').collect::<Vec<_>>()[..] {
        ["", _] => Err("found an empty source, wanted SOURCE<TAB>TARGET"),
        [_, ""] => Err("found an empty target, wanted SOURCE<TAB>TARGET"),
        [source, target] => Ok((source, target)),
        [_] => Err("found no tab, wanted SOURCE<TAB>TARGET"),
        _ => Err("found more than one tab, wanted SOURCE<TAB>TARGET"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(bytes: &[u8]) -> Result<Vec<Phrase>, String> {
        parse(Path::new("pairs.tsv"), bytes, 2).map_err(|error| error.to_string())
    }

    #[test]
    fn sources_are_grouped_in_order() {
        let phrases = parse_text("b\t1\na\t2\r\nb\t3\nb\t4".as_bytes()).unwrap();
        let found: Vec<_> = phrases.iter().map(|p| (p.source.as_str(), p.references.join(" "))).collect();
        assert_eq!(found, [("b", "1 3".to_owned()), ("a", "2".to_owned())]);
    }

    #[test]
    fn faults_name_file_and_line() {
        for (bytes, wanted) in [
            (&b"a\tb\nno tab\n"[..], "pairs.tsv:2: found no tab"),
            (b"a\tb\tc", "pairs.tsv:1: found more than one tab"),
            (b"a\tb\n\nc\td", "pairs.tsv:2: found no tab"),
            (b"\tb", "pairs.tsv:1: found an empty source"),
            (b"a\t\n", "pairs.tsv:1: found an empty target"),
            (b"a\tb\n\xff\tc", "pairs.tsv:2: found bytes that are not UTF-8"),
            (b"", "pairs.tsv: holds no pairs"),
        ] {
            let error = parse_text(bytes).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
        let error = read_pairs(Path::new("no/such/file.tsv"), 4).unwrap_err().to_string();
        assert!(error.starts_with("no/such/file.tsv: cannot be read"), "{error}");
    }
}
