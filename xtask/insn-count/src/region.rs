//! What ran between two markers.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::block::Block;
use crate::class::{Class, Counts, NAMES};

/// Bytes of a line of the buffer below.
const LINE: u64 = 16;
/// Lines of a buffer between the memory and the processor that holds the last lines fetched, 4 KiB of them: what a kernel
/// reads once more while it is at hand costs no second fetch.
const BUFFER: u64 = 256;

/// Reads from one range of addresses.
#[derive(Debug, Default)]
pub struct Reads {
    start: u64,
    total: u64,
    seen: Vec<bool>,
    /// Lines fetched so far.
    fetches: u64,
    /// For each line, the number of its last fetch; none before the first.
    fetched: Vec<Option<u64>>,
}

impl Reads {
    /// Of the addresses from `start` up to `end`.
    pub fn of(start: u64, end: u64) -> Self {
        let len = end.saturating_sub(start) as usize;
        let lines = len.div_ceil(LINE as usize);
        Reads { start, total: 0, seen: vec![false; len], fetches: 0, fetched: vec![None; lines] }
    }

    /// Notes a load of `len` bytes.
    pub fn note(&mut self, address: u64, len: u64) {
        let Some(at) = address.checked_sub(self.start) else { return };
        if let Some(seen) = self.seen.get_mut(at as usize..(at + len) as usize) {
            self.total += len;
            seen.fill(true);
            for line in at / LINE..=(at + len - 1) / LINE {
                let last = &mut self.fetched[line as usize];
                if last.is_none_or(|last| self.fetches - last > BUFFER) {
                    *last = Some(self.fetches);
                    self.fetches += 1;
                }
            }
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.total = 0;
        self.seen.fill(false);
        self.fetches = 0;
        self.fetched.fill(None);
    }

    fn distinct(&self) -> usize {
        self.seen.iter().filter(|&&seen| seen).count()
    }
}

/// What happened between blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// Blocks that lay elsewhere than right behind the one before.
    pub taken: u64,
    /// Blocks right behind the one before that began with a load, after a load or store.
    pub overlaps: u64,
}

/// A region's lines. `head` are the counts after the marker that began it, `tail` those after the one that ended it,
/// which have been counted with their block. Blocks start again from zero.
pub fn lines(
    index: u64,
    blocks: &[&'static Block],
    (start, head): (u64, Counts),
    (stop, tail): (u64, Counts),
    flow: Flow,
    reads: Option<&Reads>,
    profile: bool,
) -> String {
    let mut sum = head;
    let mut places = BTreeMap::from([(start, head.instructions())]);
    for block in blocks {
        let runs = block.take_runs() as i64;
        if runs > 0 {
            sum.add_times(&block.counts, runs);
            *places.entry(block.start).or_default() += block.counts.instructions() * runs;
        }
    }
    sum.add_times(&tail, -1);
    *places.entry(stop).or_default() -= tail.instructions();
    sum.0[Class::FirstLoad as usize] -= flow.overlaps as i64;

    let mut text = String::new();
    if profile {
        for (address, instructions) in places {
            let _ = writeln!(text, "at {address:#x} instructions={instructions}");
        }
    }
    let _ = write!(text, "region {index}");
    for (name, count) in NAMES.iter().zip(sum.0).filter(|(_, count)| *count != 0) {
        let _ = write!(text, " {name}={count}");
    }
    let _ = write!(text, " taken={}", flow.taken);
    if let Some(reads) = reads {
        let fetched = reads.fetches * LINE;
        let _ = write!(text, " read={} fetched={fetched} distinct={}", reads.total, reads.distinct());
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Isa;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn fetches_lines_again_once_the_buffer_has_others() {
        let mut reads = Reads::of(0, 0x10000);
        let line = |i: u64| i * LINE;
        for _ in 0..3 {
            (0..BUFFER).for_each(|i| reads.note(line(i), 4));
        }
        assert_eq!(reads.fetches, BUFFER, "all of it fits");
        reads.note(line(BUFFER) - 2, 4);
        assert_eq!(reads.fetches, BUFFER + 1, "the second of two lines is new");
        reads.note(line(0), 4);
        assert_eq!(reads.fetches, BUFFER + 2, "the first had to go");
        reads.clear();
        reads.note(line(0), 4);
        assert_eq!(reads.fetches, 1);
    }

    #[test]
    fn sums_blocks_and_corrects_for_both_ends() {
        let insns = |halfwords: &[u16]| {
            let bytes = |h: &u16| [h.to_le_bytes()[0], h.to_le_bytes()[1], 0, 0];
            let placed = halfwords.iter().enumerate().map(|(i, h)| (2 * i as u64, bytes(h)));
            Box::leak(Box::new(Block::new(Isa::Thumb, placed)))
        };
        let first: &'static Block = insns(&[0x3101, 0xbfa0, 0x3101, 0xe000]);
        let second: &'static Block = insns(&[0x6801, 0xbfb0, 0x4770]);
        // The first block was entered before the region began, so that its runs have been dropped.
        second.runs.store(1, Relaxed);
        let mut reads = Reads::of(0x1000, 0x1010);
        for (address, len) in [(0x1000, 4), (0x1002, 4), (0x100e, 4), (0xfff, 4), (0x100f, 1)] {
            reads.note(address, len);
        }
        let (head, tail) = (first.markers[0].2, second.markers[0].2);
        let text =
            lines(3, &[first, second], (0x10, head), (0x20, tail), Flow { taken: 1, overlaps: 1 }, Some(&reads), true);
        let wanted = "at 0x0 instructions=2\nat 0x10 instructions=2\nat 0x20 instructions=-1\n\
                      region 3 load=1 alu=1 branch=1 taken=1 read=9 fetched=16 distinct=7\n";
        assert_eq!(text, wanted);
        let again = lines(4, &[first, second], (0x10, head), (0x20, Counts::default()), Flow::default(), None, false);
        assert_eq!(again, "region 4 alu=1 branch=1 taken=0\n");
    }
}
