//! A glossary: phrases and terms whose translations the user gives, as a section of a blob or as bytes of their own.
//!
//! [`GlossaryHeader`], then [`GlossaryEntry`]s in order of their keys, terms behind phrases, then their texts: key and target
//! of each, without anything between. Keys are what [`words_of`] leaves of a text, written as [`fold`] makes them.

use super::layout::SectionKind;
use super::record::record;
use crate::error::BlobError;
use crate::phrase::chars::{chars, is_closing, is_emoji, is_final_mark, is_space, lower};
use core::cmp::Ordering;
use core::ops::Range;

record! {
    /// Start of a glossary.
    pub struct GlossaryHeader[16] {
        /// `GLOS`, to tell it from other bytes.
        magic: u32 @ 0,
        /// Number of entries.
        entries: u32 @ 4,
        /// Bytes of text.
        text_len: u32 @ 8,
        /// Zero.
        reserved: u32 @ 12,
    }
}

record! {
    /// An entry of a glossary.
    pub struct GlossaryEntry[8] {
        /// Offset of the key among the texts; the target follows it.
        at: u32 @ 0,
        /// Bytes of the target.
        target_len: u16 @ 4,
        /// Bytes of the key.
        key_len: u8 @ 6,
        /// What the key is compared with: 0 whole phrases, 1 words of a phrase.
        kind: u8 @ 7,
    }
}

/// First four bytes of a glossary.
pub const MAGIC: u32 = u32::from_le_bytes(*b"GLOS");

/// Words of a term at most; characters, in a script that writes no blanks.
pub const MOST_TERM_WORDS: usize = 6;

/// What a key is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum GlossaryKind {
    /// A whole phrase.
    Phrase = 0,
    /// Words of a phrase.
    Term = 1,
}

/// A view of a glossary.
#[derive(Clone, Copy, Debug)]
pub struct Glossary<'g> {
    entries: &'g [u8],
    text: &'g str,
    /// Whether there are terms, for which every word has to be looked up.
    terms: bool,
}

/// A text as keys are written: lower case, runs of whitespace as one blank, typographic apostrophes straight.
pub fn fold(text: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let mut blank = true;
    chars(text)
        .filter_map(move |(_, c)| {
            let before = core::mem::replace(&mut blank, is_space(c));
            match c {
                _ if blank && before => None,
                _ if blank => Some(' '),
                '\u{2019}' | '\u{2018}' | '\u{02bc}' => Some('\''),
                c => Some(lower(c)),
            }
        })
        .flat_map(|c| {
            let mut bytes = [0; 4];
            let len = c.encode_utf8(&mut bytes).len();
            bytes.into_iter().take(len)
        })
}

/// The bytes of a text by which it is looked up: without blanks around it, what opens a Spanish question, and marks, closing
/// quotes and emoji at its end. All of a text that is made of such.
pub fn words_of(text: &[u8]) -> Range<usize> {
    let leads = |c: char| is_space(c) || matches!(c, '\u{bf}' | '\u{a1}');
    let trails = |c: char| {
        is_space(c) || is_closing(c) || is_emoji(c) || is_final_mark(c) || matches!(c, ',' | ':' | ';' | '\u{3001}')
    };
    let end = chars(text).filter(|(_, c)| !trails(*c)).last().map_or(0, |(range, _)| range.end);
    match chars(text).find(|(_, c)| !leads(*c)) {
        Some((first, _)) if first.start < end => first.start..end,
        _ => 0..text.len(),
    }
}

impl<'g> Glossary<'g> {
    /// Of nothing.
    pub const EMPTY: Glossary<'static> = Glossary { entries: &[], text: "", terms: false };

    /// Reads and checks a glossary.
    ///
    /// # Errors
    ///
    /// [`BlobError::Malformed`] with the number of the entry that is at fault; 0 for the header and the lengths too.
    pub fn parse(bytes: &'g [u8]) -> Result<Self, BlobError> {
        let malformed =
            |index: usize| BlobError::Malformed { section: SectionKind::Glossary as u32, index: index as u32 };
        let mut glossary = Self::split(bytes).ok_or(malformed(0))?;
        let mut before: Option<(&str, GlossaryKind)> = None;
        let mut text_at = 0;
        for index in 0..glossary.len() {
            let (key, kind, target) = glossary.entry(index).ok_or(malformed(index))?;
            // Texts lie without anything between.
            if glossary.record(index).is_none_or(|entry| entry.at as usize != text_at) {
                return Err(malformed(index));
            }
            text_at += key.len() + target.len();
            if key.is_empty() || target.is_empty() || before.is_some_and(|before| before >= (key, kind)) {
                return Err(malformed(index));
            }
            before = Some((key, kind));
            glossary.terms |= kind == GlossaryKind::Term;
        }
        if text_at == glossary.text.len() { Ok(glossary) } else { Err(malformed(0)) }
    }

    fn split(bytes: &'g [u8]) -> Option<Self> {
        let header = GlossaryHeader::read(bytes, 0).filter(|header| header.magic == MAGIC && header.reserved == 0)?;
        let (_, rest) = bytes.split_at_checked(GlossaryHeader::SIZE)?;
        let (entries, text) = rest.split_at_checked((header.entries as usize).checked_mul(GlossaryEntry::SIZE)?)?;
        let text = core::str::from_utf8(text).ok()?;
        (text.len() == header.text_len as usize).then_some(Glossary { entries, text, terms: false })
    }

    /// Number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len() / GlossaryEntry::SIZE
    }

    /// Whether some are terms.
    pub const fn has_terms(&self) -> bool {
        self.terms
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn record(&self, index: usize) -> Option<GlossaryEntry> {
        GlossaryEntry::read(self.entries, index.checked_mul(GlossaryEntry::SIZE)?)
    }

    /// Key, kind and target of an entry.
    pub fn entry(&self, index: usize) -> Option<(&'g str, GlossaryKind, &'g str)> {
        let entry = self.record(index)?;
        let (_, text) = self.text.split_at_checked(entry.at as usize)?;
        let (key, text) = text.split_at_checked(entry.key_len as usize)?;
        let (target, _) = text.split_at_checked(entry.target_len as usize)?;
        let kind = match entry.kind {
            0 => GlossaryKind::Phrase,
            1 => GlossaryKind::Term,
            _ => return None,
        };
        Some((key, kind, target))
    }

    /// The target of a text, which is folded for that.
    pub fn find(&self, kind: GlossaryKind, text: &[u8]) -> Option<&'g str> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let (key, found, target) = self.entry(middle)?;
            match key.bytes().cmp(fold(text)).then(found.cmp(&kind)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(target),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Bytes [`Self::emit`] writes for entries.
    pub fn emitted_len(entries: &[(&str, GlossaryKind, &str)]) -> usize {
        let text: usize = entries.iter().map(|(key, _, target)| key.len() + target.len()).sum();
        GlossaryHeader::SIZE + entries.len() * GlossaryEntry::SIZE + text
    }

    /// Writes a glossary of entries in ascending order of their keys, which are folded, and kinds; `None` where `out` is too
    /// short or a length does not fit its field.
    pub fn emit(entries: &[(&str, GlossaryKind, &str)], out: &mut [u8]) -> Option<usize> {
        let out = out.get_mut(..Self::emitted_len(entries))?;
        let text_at = GlossaryHeader::SIZE + entries.len() * GlossaryEntry::SIZE;
        let text_len = u32::try_from(out.len().checked_sub(text_at)?).ok()?;
        GlossaryHeader { magic: MAGIC, entries: entries.len().try_into().ok()?, text_len, reserved: 0 }
            .write(out, 0)?;
        let mut at = 0;
        for (index, (key, kind, target)) in entries.iter().enumerate() {
            GlossaryEntry {
                at: u32::try_from(at).ok()?,
                target_len: target.len().try_into().ok()?,
                key_len: key.len().try_into().ok()?,
                kind: *kind as u8,
            }
            .write(out, GlossaryHeader::SIZE + index * GlossaryEntry::SIZE)?;
            for text in [key, target] {
                out.get_mut(text_at + at..text_at + at + text.len())?.copy_from_slice(text.as_bytes());
                at += text.len();
            }
        }
        Some(out.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const ENTRIES: [(&str, GlossaryKind, &str); 4] = [
        ("good day", GlossaryKind::Phrase, "buen día"),
        ("good day", GlossaryKind::Term, "buenos días"),
        ("señor", GlossaryKind::Term, "lord"),
        ("tom's", GlossaryKind::Phrase, "de Tom"),
    ];

    fn section(entries: &[(&str, GlossaryKind, &str)]) -> Vec<u8> {
        let mut bytes = std::vec![0; Glossary::emitted_len(entries)];
        assert_eq!(Glossary::emit(entries, &mut bytes), Some(bytes.len()));
        bytes
    }

    #[test]
    fn finds_what_was_written_however_it_is_spelled() {
        let bytes = section(&ENTRIES);
        let glossary = Glossary::parse(&bytes).unwrap();
        assert_eq!(glossary.len(), 4);
        let find = |kind, text: &str| glossary.find(kind, text.as_bytes());
        assert_eq!(find(GlossaryKind::Phrase, "Good \t DAY"), Some("buen día"));
        assert_eq!(find(GlossaryKind::Term, "GOOD day"), Some("buenos días"));
        assert_eq!(find(GlossaryKind::Term, "SEÑOR"), Some("lord"));
        assert_eq!(find(GlossaryKind::Phrase, "Tom\u{2019}s"), Some("de Tom"));
        assert_eq!(find(GlossaryKind::Phrase, "good"), None);
        assert_eq!(find(GlossaryKind::Phrase, "señor"), None);
        assert_eq!(Glossary::EMPTY.find(GlossaryKind::Term, b"x"), None);
    }

    #[test]
    fn marks_are_no_words() {
        let words = |text: &'static str| text.get(words_of(text.as_bytes())).unwrap();
        for (text, wanted) in [
            ("Hello!", "Hello"),
            (" \u{bf}D\u{f3}nde? ", "D\u{f3}nde"),
            ("route 66.", "route 66"),
            ("C++", "C++"),
            ("U.S.", "U.S"),
            ("Hi) \u{1f600}", "Hi"),
            ("?!", "?!"),
            ("", ""),
        ] {
            assert_eq!(words(text), wanted);
        }
    }

    #[test]
    fn disorder_and_truncation_are_refused() {
        let refused = |bytes: &[u8], index| {
            let section = SectionKind::Glossary as u32;
            assert_eq!(Glossary::parse(bytes).err(), Some(BlobError::Malformed { section, index }));
        };
        let [a, b, ..] = ENTRIES;
        refused(&section(&[b, a]), 1);
        refused(&section(&[a, a]), 1);
        refused(&section(&[a, ("x", GlossaryKind::Term, "")]), 1);
        let whole = section(&ENTRIES);
        for (at, index) in [(12, 0), (15, 0), (16, 0), (16 + 8, 1), (16 + 2 * 8, 2)] {
            let mut bytes = whole.clone();
            bytes[at] += 1;
            refused(&bytes, index);
        }
        // Text that no entry has.
        let mut longer = whole.clone();
        longer.push(b'y');
        longer[8] += 1;
        refused(&longer, 0);
        (0..whole.len()).for_each(|len| refused(&whole[..len], 0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_safe_to_search(
            bytes in proptest::collection::vec(any::<u8>(), 16..80), entries in 0u8..4, text: Vec<u8>
        ) {
            let mut bytes = bytes;
            bytes[..8].copy_from_slice(&[b'G', b'L', b'O', b'S', entries, 0, 0, 0]);
            let text_len = bytes.len().saturating_sub(16 + 8 * usize::from(entries)) as u32;
            bytes[8..12].copy_from_slice(&text_len.to_le_bytes());
            if let Ok(glossary) = Glossary::parse(&bytes) {
                let _ = glossary.find(GlossaryKind::Term, &text);
            }
            prop_assert!(text.get(words_of(&text)).is_some());
        }

        #[test]
        fn every_entry_is_found(keys in proptest::collection::btree_set("[a-zé ]{0,5}[a-z]", 1..20)) {
            let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).filter(|key| fold(key.as_bytes()).eq(key.bytes())).collect();
            let entries: Vec<_> = keys.iter().map(|key| (*key, GlossaryKind::Phrase, *key)).collect();
            let bytes = section(&entries);
            let glossary = Glossary::parse(&bytes).unwrap();
            for key in keys {
                prop_assert_eq!(glossary.find(GlossaryKind::Phrase, key.as_bytes()), Some(key));
            }
        }
    }
}
