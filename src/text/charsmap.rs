//! The character map: the longest prefix of a text that has a replacement, and that replacement.
//!
//! [`crate::blob::charsmap`] has the format. A key of one character is found among ranges of code points, any other one
//! by walking an automaton with the text's bytes, or with those of what a character folds to.

use super::normalizer::first_char_len;
use crate::blob::charsmap::{CharsMapTables, CharsRange, STRINGS, VALUE_MASK, number, range_kind};

/// Offset of the automaton's first state.
pub const ROOT: u32 = 0;

/// What stands in the text's place.
#[derive(Clone, Copy, Debug)]
pub enum Replacement<'t> {
    /// One character, its bytes and their number.
    Char([u8; 4], usize),
    /// Bytes of the map or of the text, which may be none.
    Bytes(&'t [u8]),
}

impl Replacement<'_> {
    /// The bytes to put.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Replacement::Char(bytes, len) => bytes.get(..*len).unwrap_or_default(),
            Replacement::Bytes(bytes) => bytes,
        }
    }
}

/// What a byte leads to in the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// Added to the value so far.
    pub weight: u32,
    /// A key ends here.
    pub is_key: bool,
    /// The state that follows, if any.
    pub next: Option<u32>,
}

/// A view of the map; empty where the model has none.
#[derive(Clone, Copy, Debug)]
pub struct CharsMap<'b> {
    tables: CharsMapTables<'b>,
    strings: &'b [u8],
}

impl<'b> CharsMap<'b> {
    /// Checks a map; `strings` are the replacements that are not one character, each ended by a zero byte.
    pub fn parse(map: &'b [u8], strings: &'b [u8]) -> Option<Self> {
        Some(CharsMap { tables: CharsMapTables::parse(map)?, strings })
    }

    /// Length of the longest prefix (at least 1) in the map and what replaces it, which may be empty.
    ///
    /// Takes a binary search among the ranges, and at most [`CharsMapTables::longest`] steps in the automaton.
    pub fn longest_match(&self, text: &[u8]) -> Option<(usize, Replacement<'b>)> {
        let mut longest = None;
        let (mut rest, mut state, mut value) = (text, ROOT, 0u32);
        let mut steps = self.tables.longest;
        'walk: while let Some(lead) = rest.first() {
            let first = rest.len() == text.len();
            let mut symbol = Replacement::Char([*lead, 0, 0, 0], 1);
            let (mut len, mut folded) = (1, false);
            if let Some((char, char_len)) = first_char(rest) {
                len = char_len;
                symbol = utf8(char);
                if first || char >= self.tables.folds_from {
                    let single = self.single(char);
                    if let Some((value, _)) = single.filter(|_| first) {
                        longest = Some((len, value));
                    }
                    if let Some((value, true)) = single.filter(|(value, _)| *value < STRINGS) {
                        (symbol, folded) = (utf8(value), true);
                    }
                }
            }
            let consumed = text.len().wrapping_sub(rest.len());
            let bytes = symbol.as_bytes();
            for (index, byte) in (1..).zip(bytes) {
                let Some(left) = steps.checked_sub(1) else { break 'walk };
                steps = left;
                let Some(arc) = self.arc(state, *byte) else { break 'walk };
                value = value.wrapping_add(arc.weight) & VALUE_MASK;
                // Inside a folded character the text's own bytes are not those of the path.
                let end = consumed.wrapping_add(if folded { len } else { index });
                if arc.is_key && (!folded || index == bytes.len()) && longest.is_none_or(|(len, _)| len < end) {
                    longest = Some((end, value));
                }
                let Some(next) = arc.next else { break 'walk };
                state = next;
            }
            rest = rest.get(len..).unwrap_or_default();
        }
        let (len, value) = longest?;
        Some((len, self.replacement(value)?))
    }

    /// The value of the key that is one character, and whether the character folds.
    pub fn single(&self, char: u32) -> Option<(u32, bool)> {
        let read = |range: &[u8; CharsRange::SIZE]| CharsRange::read(range, 0);
        let after = self.tables.ranges.partition_point(|range| read(range).is_some_and(|r| r.first_char() <= char));
        let range = read(self.tables.ranges.get(after.checked_sub(1)?)?)?;
        let offset = char.wrapping_sub(range.first_char());
        if offset > range.span() {
            return None;
        }
        let value = match range.kind() {
            range_kind::CONSTANT => range.first_value(),
            range_kind::RUN => range.first_value().wrapping_add(offset),
            range_kind::ALTERNATE if offset & 1 == 1 => return None,
            range_kind::ALTERNATE => range.first_value().wrapping_add(offset),
            width => {
                let (table, width) = (range.first_value() as usize, usize::from(width));
                let at = table.wrapping_add(3).wrapping_add((offset as usize).wrapping_mul(width));
                let entry = number(self.tables.tables, at, width)?;
                if entry == VALUE_MASK >> (24usize.wrapping_sub(width.wrapping_mul(8))) {
                    return None;
                }
                number(self.tables.tables, table, 3)?.wrapping_add(entry)
            }
        };
        Some((value & VALUE_MASK, range.folds()))
    }

    /// Where a byte leads from a state.
    pub fn arc(&self, state: u32, byte: u8) -> Option<Arc> {
        let states = self.tables.states.get(state as usize..)?;
        let (&[last, widths], arcs) = states.split_first_chunk::<2>()?;
        let (weight_width, link_width) = (usize::from(widths & 3), usize::from(widths >> 2 & 3));
        let size = weight_width.wrapping_add(link_width).wrapping_add(1);
        // The arcs before `from` have lesser labels, those from `to` on greater ones.
        let (mut from, mut to) = (0, usize::from(last).wrapping_add(1));
        while from < to {
            let middle = from.wrapping_add(to) / 2;
            let at = middle.wrapping_mul(size);
            let label = *arcs.get(at)?;
            match label.cmp(&byte) {
                core::cmp::Ordering::Less => from = middle.wrapping_add(1),
                core::cmp::Ordering::Greater => to = middle,
                core::cmp::Ordering::Equal => {
                    let weight = number(arcs, at.wrapping_add(1), weight_width)?;
                    let link = match link_width {
                        0 => 1,
                        width => number(arcs, at.wrapping_add(1).wrapping_add(weight_width), width)?,
                    };
                    let next = Some(link >> 1).filter(|next| *next != ROOT);
                    return Some(Arc { weight, is_key: link & 1 == 1, next });
                }
            }
        }
        None
    }

    /// What a value names.
    pub fn replacement(&self, value: u32) -> Option<Replacement<'b>> {
        let Some(at) = value.checked_sub(STRINGS) else { return Some(utf8(value)) };
        let tail = self.strings.get(at as usize..)?;
        let end = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
        tail.get(..end).map(Replacement::Bytes)
    }
}

/// The valid UTF-8 character that `text` starts with, and its length.
fn first_char(text: &[u8]) -> Option<(u32, usize)> {
    let len = first_char_len(text)?;
    let char = core::str::from_utf8(text.get(..len)?).ok()?.chars().next()?;
    Some((u32::from(char), len))
}

/// The bytes of a code point. Written out because the standard library's holds a check that the linker cannot drop.
const fn utf8<'t>(char: u32) -> Replacement<'t> {
    const fn tail(bits: u32) -> u8 {
        0x80 | bits as u8 & 0x3f
    }
    match char {
        0..0x80 => Replacement::Char([char as u8, 0, 0, 0], 1),
        0x80..0x800 => Replacement::Char([0xc0 | (char >> 6) as u8, tail(char), 0, 0], 2),
        0x800..0x1_0000 => Replacement::Char([0xe0 | (char >> 12) as u8, tail(char >> 6), tail(char), 0], 3),
        _ => Replacement::Char([0xf0 | (char >> 18) as u8, tail(char >> 12), tail(char >> 6), tail(char)], 4),
    }
}

#[cfg(test)]
mod tests;
