//! The character map: the longest prefix of a text that has a replacement, and that replacement.
//!
//! SentencePiece stores it as a Darts-clone double array (Yata, "Darts-clone"; Aoe 1989), whose values are offsets into
//! zero-terminated strings. A unit of 32 bits holds: bits 0..8 the label that leads to it, bit 31 set in units that
//! hold a value (bits 0..31), bit 8 "a value hangs below", bit 9 "the offset is in units of 256", bits 10..32 the
//! offset to its children, by exclusive or.

/// A view of the map; empty where the model has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CharsMap<'b> {
    pub(crate) trie: &'b [[u8; 4]],
    pub(crate) strings: &'b [u8],
}

impl<'b> CharsMap<'b> {
    /// Length of the longest prefix (at least 1) in the map and what replaces it, which may be empty.
    pub(crate) fn longest_match(&self, text: &[u8]) -> Option<(usize, &'b [u8])> {
        let mut longest = None;
        let mut at = offset(self.unit(0)?);
        for (index, &byte) in text.iter().enumerate() {
            at ^= u32::from(byte);
            let Some(unit) = self.unit(at) else { break };
            if label(unit) != u32::from(byte) {
                break;
            }
            at ^= offset(unit);
            if has_value(unit) {
                let Some(unit) = self.unit(at) else { break };
                longest = Some((index.wrapping_add(1), value(unit)));
            }
        }
        let (len, string) = longest?;
        let tail = self.strings.get(string..)?;
        let end = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
        Some((len, tail.get(..end)?))
    }

    fn unit(&self, at: u32) -> Option<u32> {
        self.trie.get(at as usize).map(|unit| u32::from_le_bytes(*unit))
    }
}

const fn label(unit: u32) -> u32 {
    unit & (1 << 31 | 0xff)
}

const fn has_value(unit: u32) -> bool {
    unit & 1 << 8 != 0
}

const fn value(unit: u32) -> usize {
    (unit & !(1 << 31)) as usize
}

const fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}
