//! SentencePiece's own form: a Darts-clone double array (Yata, "Darts-clone"; Aoe 1989), whose values are offsets into
//! zero-terminated strings.
//!
//! A unit of 32 bits holds: bits 0..8 the label that leads to it, bit 31 set in units that hold a value (bits 0..31),
//! bit 8 "a value hangs below", bit 9 "the offset is in units of 256", bits 10..32 the offset to its children, by
//! exclusive or.

use super::Keys;
use anyhow::{Context, ensure};

/// Bytes of the longest key; SentencePiece's builder knows no longer ones than a line of rules.
const MAX_KEY: usize = 1024;
/// Paths followed before the array counts as damaged; NFKC takes 300,000.
const MAX_NODES: usize = 1 << 22;

/// A character map as SentencePiece stores it.
#[derive(Clone, Debug)]
pub struct DoubleArray {
    units: Vec<u32>,
    strings: Vec<u8>,
}

impl DoubleArray {
    /// From little-endian units and the strings after them.
    pub fn new(units: &[[u8; 4]], strings: Vec<u8>) -> Self {
        Self { units: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(), strings }
    }

    /// Every key with its value; fails where the array was not made by a builder: it loops, or leaves its bounds.
    pub fn keys(&self, field: &str) -> anyhow::Result<Keys> {
        let mut keys = Keys::new();
        let Some(root) = self.unit(0) else { return Ok(keys) };
        // Places where children are, and the labels that lead there.
        let mut todo = vec![(offset(root), Vec::new())];
        let mut nodes = 0;
        while let Some((base, path)) = todo.pop() {
            for byte in 0..=u8::MAX {
                let Some((base, value)) = self.step(base, byte) else { continue };
                let key = [path.as_slice(), &[byte]].concat();
                nodes += 1;
                ensure!(
                    key.len() <= MAX_KEY && nodes <= MAX_NODES,
                    "{field} has a trie that loops: the file is damaged, copy it again"
                );
                if let Some(at) = value {
                    let value = self.string(at).with_context(|| {
                        format!(
                            "{field} has a replacement at {at}, past its strings: the file is damaged, copy it again"
                        )
                    })?;
                    keys.insert(key.clone(), value.to_vec());
                }
                todo.push((base, key));
            }
        }
        Ok(keys)
    }

    /// Length of the longest prefix of a text that is a key, and its value.
    pub fn longest_match(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let mut longest = None;
        let mut base = offset(self.unit(0)?);
        for (len, byte) in (1..).zip(text) {
            let Some((next, value)) = self.step(base, *byte) else { break };
            base = next;
            longest = value.map(|at| (len, at)).or(longest);
        }
        let (len, at) = longest?;
        Some((len, self.string(at)?))
    }

    /// Follows one label from children at `base`: where the next children are, and the value of a key that ends here.
    fn step(&self, base: u32, byte: u8) -> Option<(u32, Option<usize>)> {
        let at = base ^ u32::from(byte);
        let unit = self.unit(at).filter(|unit| label(*unit) == u32::from(byte))?;
        let base = at ^ offset(unit);
        let value = self.unit(base).filter(|_| has_value(unit)).map(value);
        Some((base, value))
    }

    fn unit(&self, at: u32) -> Option<u32> {
        self.units.get(at as usize).copied()
    }

    fn string(&self, at: usize) -> Option<&[u8]> {
        self.strings.get(at..)?.split(|byte| *byte == 0).next()
    }
}

fn label(unit: u32) -> u32 {
    unit & (1 << 31 | 0xff)
}

fn has_value(unit: u32) -> bool {
    unit & 1 << 8 != 0
}

fn value(unit: u32) -> usize {
    (unit & !(1 << 31)) as usize
}

fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}
