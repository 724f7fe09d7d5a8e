//! The character map of the tokenizer section: byte strings and what replaces them, exact and small.
//!
//! A *value* is a number of 24 bits that names a replacement: below [`STRINGS`] a code point, above it an offset into
//! the replacement strings. The map is [`CharsMapHeader`], [`CharsRange`] records, the tables that they point into,
//! then an automaton:
//!
//! - Keys of one character are ranges of code points ([`range_kind`]), because their values come in runs. A character
//!   may *fold*: in longer keys it counts as the character that replaces it, so that one key stands for all its
//!   compatibility forms.
//! - All other keys are an acyclic automaton over bytes, whose equal suffixes are shared. Values are the sums of weights
//!   along a path (modulo 2^24), as in Mohri, "Finite-State Transducers in Language and Speech Processing" (1997),
//!   section 3. So 11,172 Hangul syllables take one arc for each of their 68 letters.
//!
//! A state stands at its byte offset, the first one at 0: the number of arcs less 1, a byte with the bytes of a weight
//! (bits 0..2) and of a link (bits 2..4), then the arcs in ascending order of labels. An arc is its label, its weight
//! and its link: bit 0 "a key ends here", the bits above it the offset of the next state, 0 for none. A link of no
//! bytes ends a key and leads nowhere.

use super::record::{chunk, record};

/// Values from here on are offsets into the replacement strings.
pub const STRINGS: u32 = 0x11_0000;
/// Bits of a value, an offset or a code point in a [`CharsRange`].
pub const VALUE_MASK: u32 = 0xff_ffff;

record! {
    /// Start of the character map.
    pub struct CharsMapHeader[16] {
        /// Number of ranges.
        ranges: u32 @ 0,
        /// Bytes of the ranges' tables.
        tables_len: u32 @ 4,
        /// The least code point that folds; 1114112 (U+10FFFF and 1) where none does.
        folds_from: u32 @ 8,
        /// Bytes of the longest path in the automaton; 0 without one.
        longest: u16 @ 12,
        /// Zero.
        reserved: u16 @ 14,
    }
}

record! {
    /// Consecutive code points and their values.
    pub struct CharsRange[8] {
        /// Bits 0..24 the first code point, 24..32 the kind.
        first: u32 @ 0,
        /// Bits 0..24 the first value or the offset of a table, 24..32 the number of code points less 1.
        value: u32 @ 4,
    }
}

/// Kinds of a [`CharsRange`]: what its values are, and whether its characters fold.
pub mod range_kind {
    /// All have the same value.
    pub const CONSTANT: u8 = 0;
    /// A table: the least value (3 bytes), then one byte for each code point to add to it; all ones for no value.
    pub const TABLE8: u8 = 1;
    /// A table of entries of two bytes.
    pub const TABLE16: u8 = 2;
    /// A table of entries of three bytes.
    pub const TABLE24: u8 = 3;
    /// Values ascend with the code points.
    pub const RUN: u8 = 4;
    /// A run in which only every second code point has a value, as where capitals and small letters alternate.
    pub const ALTERNATE: u8 = 5;
    /// Added to any of them: the characters fold.
    pub const FOLDS: u8 = 8;
}

impl CharsRange {
    /// The first code point.
    pub const fn first_char(&self) -> u32 {
        self.first & VALUE_MASK
    }

    /// One of [`range_kind`], without [`range_kind::FOLDS`].
    pub const fn kind(&self) -> u8 {
        (self.first >> 24) as u8 & !range_kind::FOLDS
    }

    /// In longer keys the characters count as what replaces them.
    pub const fn folds(&self) -> bool {
        (self.first >> 24) as u8 & range_kind::FOLDS != 0
    }

    /// The first value, or the offset of a table.
    pub const fn first_value(&self) -> u32 {
        self.value & VALUE_MASK
    }

    /// The last code point's distance from the first.
    pub const fn span(&self) -> u32 {
        self.value >> 24
    }
}

/// The parts of a character map, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharsMapTables<'b> {
    /// [`CharsMapHeader::folds_from`].
    pub folds_from: u32,
    /// [`CharsMapHeader::longest`].
    pub longest: u16,
    /// [`CharsRange`] records.
    pub ranges: &'b [[u8; CharsRange::SIZE]],
    /// The ranges' tables.
    pub tables: &'b [u8],
    /// The automaton.
    pub states: &'b [u8],
}

impl CharsMapTables<'_> {
    /// A map that replaces nothing. It takes no bytes.
    pub const EMPTY: Self = CharsMapTables { folds_from: STRINGS, longest: 0, ranges: &[], tables: &[], states: &[] };
}

impl<'b> CharsMapTables<'b> {
    /// Reads a map and checks that the ranges are of a known kind, ascend and do not overlap. Offsets are checked when
    /// they are followed. No bytes are an empty map.
    pub fn parse(bytes: &'b [u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(CharsMapTables::EMPTY);
        }
        let header = CharsMapHeader::read(bytes, 0)?;
        let (_, rest) = bytes.split_at_checked(CharsMapHeader::SIZE)?;
        let (ranges, rest) = rest.split_at_checked((header.ranges as usize).checked_mul(CharsRange::SIZE)?)?;
        let (tables, states) = rest.split_at_checked(header.tables_len as usize)?;
        let (ranges, _) = ranges.as_chunks();
        let mut next = 0;
        let ordered = ranges.iter().all(|range| {
            let Some(range) = CharsRange::read(range, 0) else { return false };
            let known = range.kind() <= range_kind::ALTERNATE && range.first_char() >= next;
            next = range.first_char().saturating_add(range.span()).saturating_add(1);
            known
        });
        let whole = header.reserved == 0 && (header.longest == 0) == states.is_empty();
        (ordered && whole).then_some(CharsMapTables {
            folds_from: header.folds_from,
            longest: header.longest,
            ranges,
            tables,
            states,
        })
    }

    /// Bytes [`Self::emit`] writes.
    pub const fn emitted_len(&self) -> usize {
        let ranges = self.ranges.len().saturating_mul(CharsRange::SIZE);
        let tables = self.tables.len().saturating_add(self.states.len());
        CharsMapHeader::SIZE.saturating_add(ranges).saturating_add(tables)
    }

    /// Writes the map, or `None` where `out` is too short or a length does not fit its field.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let len = self.emitted_len();
        let (header, rest) = out.get_mut(..len)?.split_at_mut_checked(CharsMapHeader::SIZE)?;
        CharsMapHeader {
            ranges: self.ranges.len().try_into().ok()?,
            tables_len: self.tables.len().try_into().ok()?,
            folds_from: self.folds_from,
            longest: self.longest,
            reserved: 0,
        }
        .write(header, 0)?;
        let (ranges, rest) = rest.split_at_mut_checked(self.ranges.as_flattened().len())?;
        ranges.copy_from_slice(self.ranges.as_flattened());
        let (tables, states) = rest.split_at_mut_checked(self.tables.len())?;
        tables.copy_from_slice(self.tables);
        states.copy_from_slice(self.states);
        Some(len)
    }
}

/// A little-endian number of 0 to 3 bytes.
pub(crate) fn number(bytes: &[u8], at: usize, width: usize) -> Option<u32> {
    match width {
        0 => Some(0),
        1 => chunk::<1>(bytes, at).map(|&[a]| u32::from(a)),
        2 => chunk::<2>(bytes, at).map(|&[a, b]| u32::from_le_bytes([a, b, 0, 0])),
        _ => chunk::<3>(bytes, at).map(|&[a, b, c]| u32::from_le_bytes([a, b, c, 0])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGES: [[u8; 8]; 2] = [[0x41, 0, 0, range_kind::RUN, 0x61, 0, 0, 25], [0x5b, 0, 0, 0, 0, 0, 0x11, 0]];
    const TABLES: CharsMapTables =
        CharsMapTables { folds_from: 7, longest: 2, ranges: &RANGES, tables: b"abc", states: b"de" };

    #[test]
    fn reads_what_it_writes() {
        let mut bytes = [0; 64];
        let len = TABLES.emit(&mut bytes).unwrap();
        assert_eq!(len, 16 + 16 + 3 + 2);
        assert_eq!(CharsMapTables::parse(&bytes[..len]), Some(TABLES));
        assert!(TABLES.emit(&mut bytes[..len - 1]).is_none());
        assert_eq!(CharsMapTables::parse(b""), Some(CharsMapTables::EMPTY));
        assert_eq!(CharsMapTables::parse(&bytes[..34]), None, "cut in the tables");
    }

    #[test]
    fn refuses_unordered_ranges_and_unknown_kinds() {
        let mut bytes = [0; 64];
        let len = TABLES.emit(&mut bytes).unwrap();
        for (at, value) in [(16, 0x42), (23, 26), (19, 6), (19, 16), (24, 0x5a), (14, 1), (12, 0), (0, 3)] {
            let mut bytes = bytes;
            bytes[at] = value;
            assert_eq!(CharsMapTables::parse(&bytes[..len]), None, "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = CharsMapTables::parse(&bytes);
        }
    }
}
