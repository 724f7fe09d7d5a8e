//! The rows of the output matrix that a step reads: all of them, or the row blocks of a phrase's shortlist.

use crate::blob::shortlist::has;
use crate::kernel::ROWS;
use core::ops::Range;

/// A choice of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'s> {
    /// Every row.
    All,
    /// The row blocks of a set, a bit each.
    Blocks(&'s [u8]),
}

impl<'s> Rows<'s> {
    /// The blocks of `set` where a shortlist is on.
    pub const fn of(set: &'s [u8], on: bool) -> Self {
        if on { Rows::Blocks(set) } else { Rows::All }
    }

    /// The rows of a matrix of `count` in runs of `most` at most, in ascending order; `most` is whole blocks, and each
    /// run begins with a block.
    pub fn runs(self, count: usize, most: usize) -> impl Iterator<Item = Range<usize>> + 's {
        let mut first = 0;
        core::iter::from_fn(move || {
            if let Rows::Blocks(set) = self {
                first = ROWS * next_block(set, first / ROWS)?;
            }
            let limit = count.min(first.saturating_add(most));
            let end = match self {
                Rows::All => limit,
                Rows::Blocks(set) => {
                    let mut end = first;
                    while end < limit && has(set, end / ROWS) {
                        end += ROWS;
                    }
                    end.min(limit)
                }
            };
            let run = first..end;
            first = end.next_multiple_of(ROWS);
            (!run.is_empty()).then_some(run)
        })
    }
}

/// The first block of a set from `block` on.
fn next_block(set: &[u8], block: usize) -> Option<usize> {
    let bits = set.get(block / 8)? >> (block % 8);
    if bits != 0 {
        return Some(block + bits.trailing_zeros() as usize);
    }
    let (place, bits) = set.iter().enumerate().skip(block / 8 + 1).find(|(_, bits)| **bits != 0)?;
    Some(8 * place + bits.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn runs(rows: Rows, count: usize, most: usize) -> Vec<Range<usize>> {
        rows.runs(count, most).collect()
    }

    #[test]
    fn neighbours_are_read_together() {
        assert_eq!(runs(Rows::All, 21, 8), [0..8, 8..16, 16..21]);
        assert_eq!(runs(Rows::All, 0, 8), []);
        let set = [0b0110_1110, 0b1100];
        assert_eq!(runs(Rows::Blocks(&set), 47, 8), [4..12, 12..16, 20..28, 40..47]);
        assert_eq!(runs(Rows::Blocks(&set), 47, 64), [4..16, 20..28, 40..47]);
        assert_eq!(runs(Rows::Blocks(&[0; 9]), 47, 64), []);
    }

    proptest! {
        #[test]
        fn each_chosen_row_is_read_once(set: [u8; 6], count in 1usize..=192, blocks in 1usize..9) {
            let found: Vec<usize> = Rows::Blocks(&set).runs(count, ROWS * blocks).flatten().collect();
            let wanted: Vec<usize> = (0..count).filter(|row| has(&set, row / ROWS)).collect();
            prop_assert_eq!(found, wanted);
            let all: Vec<_> = runs(Rows::All, count, ROWS * blocks);
            prop_assert_eq!(runs(Rows::Blocks(&[0xff; 6]), count, ROWS * blocks), all);
        }
    }
}
