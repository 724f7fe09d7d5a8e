//! The weights section: parts appended one after the other, each at a multiple of four.

use bytemuck::NoUninit;
use latimer::blob::layout::NONE;
use latimer::kernel::{Packing, pack_order};

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

    /// Appends quantized weights, row-major, and their groups' scales, as `packing` has them lie.
    pub fn push_packed(&mut self, packing: Packing, rows: usize, cols: usize, codes: &[i8], scales: &[u8]) -> u32 {
        let group = packing.group(cols);
        let groups = cols.div_ceil(group);
        let mut packed = vec![0u8; packing.matrix_len(rows, cols).expect("the matrix is in memory")];
        let scale = |row: usize, col: usize| scales[row * groups + col / group];
        packing.store((rows, cols), |row, col| codes[row * cols + col], scale, &mut packed);
        self.push(&packed)
    }

    /// The section.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
