//! Translated blocks: what QEMU runs without looking up between its first instruction and its last.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::class::{Class, Counts, Decoded, Marker};
use crate::{riscv, thumb};

/// The guest's instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    Thumb,
    RiscV,
}

/// A block, and how often it ran in the present region.
#[derive(Debug)]
pub struct Block {
    pub start: u64,
    /// The address after its last instruction.
    pub end: u64,
    pub counts: Counts,
    pub runs: AtomicU64,
    /// Its markers, each with the counts of the instructions after it.
    pub markers: Vec<(usize, Marker, Counts)>,
    /// Its first instruction is a load, which overlaps with a load or store before it.
    pub begins_with_load: bool,
    /// Its last instruction is a load or store.
    pub ends_with_memory: bool,
    /// Those of its instructions that read memory; among the vector and float ones some write.
    pub readers: Vec<usize>,
}

impl Block {
    /// From its instructions' addresses and first four bytes.
    ///
    /// Lengths come from the encoding: at the end of a page QEMU 7.2 gives more bytes than an instruction has.
    pub fn new(isa: Isa, insns: impl IntoIterator<Item = (u64, [u8; 4])>) -> Self {
        let mut block = Block {
            start: u64::MAX,
            end: 0,
            counts: Counts::default(),
            runs: AtomicU64::new(0),
            markers: Vec::new(),
            begins_with_load: false,
            ends_with_memory: false,
            readers: Vec::new(),
        };
        let mut before = None;
        for (index, (address, bytes)) in insns.into_iter().enumerate() {
            let (insn, length, marker) = look(isa, bytes);
            block.start = block.start.min(address);
            block.end = address + length;
            match marker {
                Some(marker) => {
                    // Before it so far; what comes after it follows below.
                    block.markers.push((index, marker, block.counts));
                    before = None;
                }
                None => {
                    if matches!(insn.class, Class::Load | Class::LoadMultiple | Class::VectorMemory | Class::Float) {
                        block.readers.push(index);
                    }
                    block.begins_with_load |= index == 0 && insn.class == Class::Load;
                    block.counts.add(insn, before);
                    before = Some(insn.class);
                }
            }
        }
        block.ends_with_memory = matches!(before, Some(Class::Load | Class::Store));
        for (_, _, counts) in &mut block.markers {
            let mut after = block.counts;
            after.add_times(counts, -1);
            *counts = after;
        }
        block
    }

    /// Takes the number of runs and starts again from zero.
    pub fn take_runs(&self) -> u64 {
        self.runs.swap(0, Relaxed)
    }
}

fn look(isa: Isa, bytes: [u8; 4]) -> (Decoded, u64, Option<Marker>) {
    let [a, b, c, d] = bytes;
    let (first, second) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
    match isa {
        Isa::Thumb => (thumb::decode(first, second), thumb::length(first) as u64, thumb::marker(first)),
        Isa::RiscV => (riscv::decode(first, second), riscv::length(first) as u64, riscv::marker(first, second)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses and bytes of halfwords laid one after the other, each an instruction.
    fn narrow(halfwords: &[u16]) -> Vec<(u64, [u8; 4])> {
        let bytes = |h: &u16| [h.to_le_bytes()[0], h.to_le_bytes()[1], 0, 0];
        halfwords.iter().enumerate().map(|(i, h)| (0x100 + 2 * i as u64, bytes(h))).collect()
    }

    #[test]
    fn counts_between_markers_and_first_loads() {
        // ldr, ldr, marker, adds, ldr, str, ldr, marker, bx
        let block =
            Block::new(Isa::Thumb, narrow(&[0x6801, 0x6801, 0xbfa0, 0x3101, 0x6801, 0x6001, 0x6801, 0xbfb0, 0x4770]));
        assert_eq!((block.start, block.end), (0x100, 0x112));
        assert_eq!(block.counts.instructions(), 7);
        assert_eq!(block.counts.0[Class::Load as usize], 4);
        assert_eq!(block.counts.0[Class::FirstLoad as usize], 2);
        assert!(block.begins_with_load && !block.ends_with_memory);
        assert!(Block::new(Isa::Thumb, narrow(&[0x3101, 0x6001])).ends_with_memory);
        let after: Vec<_> = block.markers.iter().map(|(at, kind, after)| (*at, *kind, after.instructions())).collect();
        assert_eq!(after, [(2, Marker::Start, 5), (7, Marker::Stop, 1)]);
    }

    /// A word of data, a marker (which is not counted), a multiplication, and a branch of 16 bits.
    #[test]
    fn knows_where_risc_v_instructions_end() {
        let words = [0x0005_2583u32, 0x5a10_2013, 0x02b5_8533, 0x0000_c119];
        let insns = words.iter().enumerate().map(|(i, word)| (0x100 + 4 * i as u64, word.to_le_bytes()));
        let block = Block::new(Isa::RiscV, insns);
        assert_eq!((block.start, block.end), (0x100, 0x10e));
        let count = |class: Class| block.counts.0[class as usize];
        assert_eq!((count(Class::Load), count(Class::Multiply), count(Class::Branch)), (1, 1, 1));
        assert_eq!(block.counts.instructions(), 3);
        assert_eq!(block.markers.iter().map(|(at, kind, _)| (*at, *kind)).collect::<Vec<_>>(), [(1, Marker::Start)]);
    }
}
