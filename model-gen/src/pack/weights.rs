//! The weights section: parts appended one after the other, each at a multiple of four.

use bytemuck::NoUninit;
use latimer::blob::layout::NONE;
use latimer::kernel::{ROWS, block_bytes, block_columns, pack_order};

/// Bytes of the section so far.
#[derive(Debug, Default)]
pub struct Weights {
    bytes: Vec<u8>,
}

impl Weights {
    /// Appends values and returns their offset.
    pub fn push<T: NoUninit>(&mut self, values: &[T]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        offset
    }

    /// Appends values unless all are zero, which the format says with an absent offset.
    pub fn push_unless_zero<T: NoUninit + PartialEq + Default>(&mut self, values: &[T]) -> u32 {
        if values.iter().all(|v| *v == T::default()) { NONE } else { self.push(values) }
    }

    /// Appends a row-major matrix in the kernel's layout.
    pub fn push_matrix<T: NoUninit + Default>(&mut self, rows: usize, cols: usize, values: &[T]) -> u32 {
        let mut packed = Vec::with_capacity(values.len());
        pack_order(rows, cols, |at| packed.push(at.map_or(T::default(), |(row, col)| values[row * cols + col])));
        self.push(&packed)
    }

    /// Appends 8-bit weights, row-major, and their groups' scales in the kernel's layout.
    pub fn push_groups_of_bytes(&mut self, rows: usize, cols: usize, group: usize, codes: &[i8], scales: &[u8]) -> u32 {
        let groups = cols.div_ceil(group);
        let mut packed: Vec<i8> = Vec::new();
        for block in (0..rows).step_by(ROWS) {
            for col in 0..cols {
                let lanes = (block..block + ROWS).map(|row| (row < rows).then_some(row));
                if col % group == 0 {
                    packed
                        .extend(lanes.clone().map(|row| row.map_or(0, |row| scales[row * groups + col / group] as i8)));
                }
                packed.extend(lanes.map(|row| row.map_or(0, |row| codes[row * cols + col])));
            }
        }
        debug_assert_eq!(Some(packed.len() / ROWS), block_columns(cols, group).map(|n| n * rows.div_ceil(ROWS)));
        self.push(&packed)
    }

    /// Appends 4-bit weights, row-major, and their groups' scales in the kernel's layout.
    pub fn push_groups(&mut self, rows: usize, cols: usize, group: usize, codes: &[i8], scales: &[u8]) -> u32 {
        let groups = cols.div_ceil(group);
        let mut packed = Vec::new();
        for block in (0..rows).step_by(ROWS) {
            let row_of = |i: usize| Some(block + i).filter(|row| *row < rows);
            for first in (0..cols).step_by(group) {
                packed.extend((0..ROWS).map(|i| row_of(i).map_or(0, |row| scales[row * groups + first / group])));
                for col in first..cols.min(first + group) {
                    let nibble = |i: usize| row_of(i).map_or(0, |row| codes[row * cols + col] as u8 & 15);
                    packed.extend([nibble(0) | nibble(1) << 4, nibble(2) | nibble(3) << 4]);
                }
            }
            packed.resize(packed.len().next_multiple_of(4), 0);
        }
        debug_assert_eq!(Some(packed.len()), block_bytes(cols, group).map(|bytes| bytes * rows.div_ceil(ROWS)));
        self.push(&packed)
    }

    /// The section.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
