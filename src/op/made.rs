//! For tests: tensors and numbers made on the spot.

use crate::blob::Tensor;
use crate::blob::layout::{NONE, TensorEntry};
#[cfg(feature = "int8")]
use crate::kernel::Packing;
#[cfg(feature = "f16")]
use crate::kernel::pack_order;
use bytemuck::NoUninit;
use std::vec::Vec;

/// A tensor's entry and the weights section it points into.
pub struct Made {
    pub entry: TensorEntry,
    words: Vec<u32>,
}

impl Made {
    /// A matrix of f16, its elements given by row.
    #[cfg(feature = "f16")]
    pub fn floats(rows: usize, cols: usize, elements: &[half::f16]) -> Self {
        assert_eq!(elements.len(), rows * cols);
        let mut packed = Vec::new();
        pack_order(rows, cols, |at| packed.push(at.map_or(half::f16::ZERO, |(row, col)| elements[row * cols + col])));
        let mut made = Self::blank(rows, cols);
        made.entry.data = made.push(&packed);
        made
    }

    /// A matrix of 8-bit weights, given by row.
    #[cfg(feature = "int8")]
    pub fn matrix(rows: usize, cols: usize, elements: &[i8]) -> Self {
        assert_eq!(elements.len(), rows * cols);
        let mut packed = std::vec![0; Packing::Int8.matrix_len(rows, cols).unwrap()];
        Packing::Int8.store((rows, cols), |row, col| elements[row * cols + col], |_, _| 0, &mut packed);
        let mut made = Self::blank(rows, cols);
        made.entry.data = made.push(&packed);
        made
    }

    /// A vector: gamma, or position steps.
    pub fn vector<T: NoUninit>(elements: &[T]) -> Self {
        let mut made = Self::blank(elements.len(), 1);
        made.entry.data = made.push(elements);
        made
    }

    /// With row scales.
    #[cfg(feature = "int8")]
    pub fn scales(mut self, scales: &[u16]) -> Self {
        assert_eq!(scales.len(), self.entry.rows as usize);
        self.entry.scales = self.push(scales);
        self
    }

    /// With a bias or beta.
    pub fn bias<T: NoUninit>(mut self, bias: &[T]) -> Self {
        assert_eq!(bias.len(), self.entry.rows as usize);
        self.entry.bias = self.push(bias);
        self
    }

    pub fn tensor(&self) -> Tensor<'_> {
        Tensor::new(self.entry, bytemuck::cast_slice(&self.words))
    }

    fn blank(rows: usize, cols: usize) -> Self {
        let (rows, cols) = (rows as u32, cols as u32);
        let entry = TensorEntry { rows, cols, scales: NONE, bias: NONE, ..TensorEntry::default() };
        Made { entry, words: Vec::new() }
    }

    fn push<T: NoUninit>(&mut self, values: &[T]) -> u32 {
        let offset = 4 * self.words.len() as u32;
        for bytes in bytemuck::cast_slice::<T, u8>(values).chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            self.words.push(u32::from_ne_bytes(word));
        }
        offset
    }
}

/// Random bits decided by a seed: the large vectors that proptest need not shrink (SplitMix64).
pub struct Noise(pub u64);

impl Noise {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer of magnitude at most `most`.
    pub fn within(&mut self, most: i64) -> i64 {
        (self.bits() % (2 * most as u64 + 1)) as i64 - most
    }

    /// Uniform in -1 to 1, exact in f32.
    #[cfg(feature = "f16")]
    pub fn unit(&mut self) -> f64 {
        self.within(1 << 23) as f64 / 2f64.powi(23)
    }
}
