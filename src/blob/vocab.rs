//! A vocabulary section: [`VocabHeader`], then arrays of one element an entry, entries sorted by their bytes.
//!
//! In this order, without padding: scores of user-defined pieces (`u64`), text offsets (`u32`, one more than entries),
//! scores (`u32`), first entry of each first byte (`u16`, 257), ids (`u16`), entry of each id (`u16`, one an id),
//! kinds (`u8`), text (UTF-8). That is 13 bytes an entry and its text, and needs no trie.

use super::record::record;
use crate::error::BlobError;
use crate::num::soft_float::{is_finite32, is_finite64};
use crate::text::vocab::{SourceKind, TargetKind, Vocab};

record! {
    /// Start of a vocabulary section.
    pub struct VocabHeader[16] {
        /// Number of entries, at most 65,535: pieces of the vocabulary and of the segmenter.
        entries: u32 @ 0,
        /// Number of ids; every id below it has an entry.
        ids: u32 @ 4,
        /// Bytes of text.
        text_len: u32 @ 8,
        /// Number of scores of user-defined pieces.
        wide_scores: u32 @ 12,
    }
}

/// One entry to be written.
#[derive(Clone, Copy, Debug)]
pub struct VocabEntry<'a> {
    /// The piece.
    pub text: &'a str,
    /// Vocabulary id: the unknown id where the vocabulary lacks the piece.
    pub id: u16,
    /// Bits of a binary32, or the index of a wide score if user-defined.
    pub score: u32,
    /// Part in segmentation.
    pub source: SourceKind,
    /// How the piece is written out.
    pub target: TargetKind,
}

/// What a vocabulary section is written from.
#[derive(Clone, Copy, Debug)]
pub struct VocabParts<'a> {
    /// Entries in ascending order of their bytes.
    pub entries: &'a [VocabEntry<'a>],
    /// Entry of each id.
    pub entry_of_id: &'a [u16],
    /// Scores of user-defined pieces, the bits of binary64s.
    pub wide_scores: &'a [u64],
}

/// The most entries a section may have: one less than `u16` can count, since 65,535 marks unknown characters.
pub const MAX_ENTRIES: usize = 65_535;

impl<'b> Vocab<'b> {
    /// Reads and checks a section; `section` is its kind, for errors.
    pub fn parse(bytes: &'b [u8], section: u32) -> Result<Self, BlobError> {
        let vocab = Self::split(bytes).ok_or(BlobError::Malformed { section, index: 0 })?;
        match vocab.first_fault() {
            None => Ok(vocab),
            Some(index) => Err(BlobError::Malformed { section, index: index as u32 }),
        }
    }

    /// Cuts the section into its arrays.
    fn split(bytes: &'b [u8]) -> Option<Self> {
        let header = VocabHeader::read(bytes, 0)?;
        let (entries, ids) = (header.entries as usize, header.ids as usize);
        if entries > MAX_ENTRIES || ids > entries {
            return None;
        }
        let (_, rest) = bytes.split_at_checked(VocabHeader::SIZE)?;
        let (wide_scores, rest) = array::<8>(rest, header.wide_scores as usize)?;
        let (offsets, rest) = array::<4>(rest, entries.checked_add(1)?)?;
        let (scores, rest) = array::<4>(rest, entries)?;
        let (first, rest) = array::<2>(rest, 257)?;
        let (ids_of, rest) = array::<2>(rest, entries)?;
        let (entry_of_id, rest) = array::<2>(rest, ids)?;
        let (kinds, rest) = rest.split_at_checked(entries)?;
        let text = core::str::from_utf8(rest).ok()?;
        (text.len() == header.text_len as usize).then_some(Vocab {
            text,
            offsets,
            scores,
            wide_scores,
            first,
            ids: ids_of,
            entry_of_id,
            kinds,
        })
    }

    /// The first entry that contradicts the rest of the table.
    fn first_fault(&self) -> Option<usize> {
        let mut bytes_seen = 0u16;
        let mut before: Option<&str> = None;
        if self.offsets.first().map(|o| u32::from_le_bytes(*o)) != Some(0) {
            return Some(0);
        }
        for index in 0..self.len() {
            let mut sound = || {
                let text = self.text_of(index)?;
                let first = u16::from(*text.as_bytes().first()?);
                // The index by first byte has this entry's number for every byte passed since the entry before.
                while bytes_seen <= first {
                    if self.first_entry(bytes_seen)? != index {
                        return None;
                    }
                    bytes_seen = bytes_seen.checked_add(1)?;
                }
                let score = self.score_bits(index)?;
                let score_sound = match self.source_kind(index)? {
                    SourceKind::None => true,
                    SourceKind::Normal | SourceKind::Unused => is_finite32(score),
                    SourceKind::UserDefined => is_finite64(self.wide_score(score)?),
                };
                if self.target_kind(index)? == TargetKind::Byte {
                    byte_of_piece(text)?;
                }
                let ascending = before.is_none_or(|before| before.as_bytes() < text.as_bytes());
                before = Some(text);
                let id_sound = usize::from(self.id_of(index)?) < self.id_count();
                (score_sound && ascending && id_sound).then_some(())
            };
            if sound().is_none() {
                return Some(index);
            }
        }
        let rest_is_empty = (bytes_seen..=256).all(|byte| self.first_entry(byte) == Some(self.len()));
        let end = self.offsets.last().map(|o| u32::from_le_bytes(*o) as usize);
        if !rest_is_empty || end != Some(self.text.len()) {
            return Some(self.len());
        }
        (0..self.id_count()).find(|&id| {
            let entry = u16::try_from(id).ok().and_then(|id| self.entry_of(id));
            entry.and_then(|entry| self.id_of(entry)).map(usize::from) != Some(id)
        })
    }
}

impl VocabParts<'_> {
    /// Bytes [`Self::emit`] writes.
    pub fn emitted_len(&self) -> usize {
        let text: usize = self.entries.iter().map(|e| e.text.len()).sum();
        VocabHeader::SIZE
            + 8 * self.wide_scores.len()
            + 4
            + (4 + 4 + 2 + 1) * self.entries.len()
            + 2 * 257
            + 2 * self.entry_of_id.len()
            + text
    }

    /// Writes the section, or `None` where `out` is too short or a length does not fit its field.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let len = self.emitted_len();
        let (header, mut rest) = out.get_mut(..len)?.split_at_mut_checked(VocabHeader::SIZE)?;
        let text_len: usize = self.entries.iter().map(|e| e.text.len()).sum();
        VocabHeader {
            entries: self.entries.len().try_into().ok().filter(|&n: &u32| n as usize <= MAX_ENTRIES)?,
            ids: self.entry_of_id.len().try_into().ok()?,
            text_len: text_len.try_into().ok()?,
            wide_scores: self.wide_scores.len().try_into().ok()?,
        }
        .write(header, 0)?;
        let mut put = |bytes: &[u8]| -> Option<()> {
            let (head, tail) = core::mem::take(&mut rest).split_at_mut_checked(bytes.len())?;
            head.copy_from_slice(bytes);
            rest = tail;
            Some(())
        };
        self.wide_scores.iter().try_for_each(|s| put(&s.to_le_bytes()))?;
        let mut offset = 0u32;
        put(&offset.to_le_bytes())?;
        for entry in self.entries {
            offset = offset.checked_add(entry.text.len() as u32)?;
            put(&offset.to_le_bytes())?;
        }
        self.entries.iter().try_for_each(|e| put(&e.score.to_le_bytes()))?;
        for byte in 0..=256u16 {
            let first =
                self.entries.partition_point(|e| e.text.as_bytes().first().is_none_or(|&f| u16::from(f) < byte));
            put(&(first as u16).to_le_bytes())?;
        }
        self.entries.iter().try_for_each(|e| put(&e.id.to_le_bytes()))?;
        self.entry_of_id.iter().try_for_each(|e| put(&e.to_le_bytes()))?;
        self.entries.iter().try_for_each(|e| put(&[e.source as u8 | (e.target as u8) << 4]))?;
        self.entries.iter().try_for_each(|e| put(e.text.as_bytes()))?;
        Some(len)
    }
}

/// The byte that a piece of the form `<0xNN>` (two upper-case hexadecimal digits) stands for.
pub fn byte_of_piece(piece: &str) -> Option<u8> {
    let &[b'<', b'0', b'x', high, low, b'>'] = piece.as_bytes() else { return None };
    let digit = |d: u8| match d {
        b'0'..=b'9' => Some(d - b'0'),
        b'A'..=b'F' => Some(d - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

/// The first `count` elements of `N` bytes, and what follows.
fn array<const N: usize>(bytes: &[u8], count: usize) -> Option<(&[[u8; N]], &[u8])> {
    let (head, tail) = bytes.split_at_checked(count.checked_mul(N)?)?;
    Some((head.as_chunks::<N>().0, tail))
}
