//! Tensors as they lie in the weights section.

use super::layout::{NONE, Role, TensorEntry};
use crate::kernel::{Packing, ROWS, padded_len};
use bytemuck::{AnyBitPattern, try_cast_slice};

/// Element types, as stored in [`TensorEntry::dtype`].
pub mod dtype {
    /// Signed 8-bit weights with a scale for each row.
    pub const I8: u8 = 0;
    /// IEEE 754 binary16 weights.
    pub const F16: u8 = 1;
    /// Layer-norm parameters.
    pub const NORM: u8 = 2;
    /// Position steps.
    pub const STEPS: u8 = 3;
    /// Signed 4-bit weights in groups of columns, a scale for each row and group, and one for each row.
    pub const I4: u8 = 4;
    /// Signed 8-bit weights in groups of columns, a 4-bit scale for each row and group, and one for each row.
    pub const I8_GROUPS: u8 = 5;
    /// Signed 8-bit weights with a scale for each row, in pairs, for inputs of 8 bits.
    pub const I8_PAIRS: u8 = 6;
}

/// One tensor: its entry, and the section that holds its elements.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    pub(crate) entry: TensorEntry,
    weights: &'a [u8],
}

impl<'a> Tensor<'a> {
    pub(crate) const fn new(entry: TensorEntry, weights: &'a [u8]) -> Self {
        Tensor { entry, weights }
    }

    /// The tensor's record.
    pub const fn entry(&self) -> &TensorEntry {
        &self.entry
    }

    /// Output features or vocabulary rows.
    pub const fn rows(&self) -> usize {
        self.entry.rows as usize
    }

    /// Input features.
    pub const fn cols(&self) -> usize {
        self.entry.cols as usize
    }

    /// `len` elements at `offset`; `None` where the section is shorter or the offset misaligned.
    fn elements<T: AnyBitPattern>(&self, offset: u32, len: usize) -> Option<&'a [T]> {
        if !offset.is_multiple_of(4) {
            return None;
        }
        let start = offset as usize;
        let end = start.checked_add(len.checked_mul(size_of::<T>())?)?;
        try_cast_slice(self.weights.get(start..end)?).ok()
    }

    /// The matrix in row blocks: `cols` groups a block, four rows a group.
    pub(crate) fn blocks<T: AnyBitPattern>(&self) -> &'a [[T; ROWS]]
    where
        [T; ROWS]: AnyBitPattern,
    {
        padded_len(self.rows(), self.cols())
            .and_then(|len| self.elements(self.entry.data, len / ROWS))
            .unwrap_or_default()
    }

    /// How the weights of a quantized matrix lie; `None` for other tensors, and where the feature `packings` is off and
    /// needed.
    pub const fn packing(&self) -> Option<Packing> {
        Some(match self.entry.dtype {
            dtype::I8 => Packing::Int8,
            dtype::I8_PAIRS if cfg!(feature = "packings") => Packing::Int8Pairs,
            dtype::I8_GROUPS if cfg!(feature = "packings") => Packing::Int8Groups(self.entry.group as usize),
            dtype::I4 if cfg!(feature = "packings") => Packing::Int4(self.entry.group as usize),
            _ => return None,
        })
    }

    /// Bytes of a quantized matrix; `None` where they do not fit the address space.
    fn packed_len(&self) -> Option<usize> {
        self.packing()?.matrix_len(self.rows(), self.cols())
    }

    /// A quantized matrix as it lies; empty for other tensors.
    pub fn packed(&self) -> &'a [u8] {
        self.packed_len().and_then(|len| self.elements(self.entry.data, len)).unwrap_or_default()
    }

    /// A quantized weight in units of its row's scale; zero where the indices are outside the matrix.
    #[cfg(feature = "int8")]
    #[inline(never)]
    pub fn weight(&self, row: usize, col: usize) -> i32 {
        self.packing().and_then(|packing| packing.weight(self.packed(), self.cols(), row, col)).unwrap_or(0)
    }

    /// A row of quantized weights in units of its scale, which 16 bits hold; zeros where the index is outside the matrix.
    #[cfg(feature = "int8")]
    pub(crate) fn row(&self, row: usize, out: &mut [i16]) {
        out.fill(0);
        if let Some(packing) = self.packing() {
            packing.row(self.packed(), self.cols(), row, out);
        }
    }

    #[cfg(feature = "f16")]
    /// One element of a matrix; the default where the indices are outside it.
    pub(crate) fn at<T: AnyBitPattern + Default>(&self, blocks: &[[T; ROWS]], row: usize, col: usize) -> T {
        blocks.get(row / ROWS * self.cols() + col).and_then(|group| group.get(row % ROWS)).copied().unwrap_or_default()
    }

    /// A vector of `rows` elements: gamma, or position steps.
    pub(crate) fn vector<T: AnyBitPattern>(&self) -> &'a [T] {
        self.elements(self.entry.data, self.rows()).unwrap_or_default()
    }

    /// Row scales; empty where there are none.
    #[cfg(feature = "int8")]
    pub(crate) fn scales(&self) -> &'a [u16] {
        self.optional(self.entry.scales)
    }

    /// Bias or beta; empty where all are zero.
    pub(crate) fn bias<T: AnyBitPattern>(&self) -> &'a [T] {
        self.optional(self.entry.bias)
    }

    fn optional<T: AnyBitPattern>(&self, offset: u32) -> &'a [T] {
        if offset == NONE { &[] } else { self.elements(offset, self.rows()).unwrap_or_default() }
    }

    /// Bytes of flash the tensor takes: elements, scales and bias.
    pub fn flash_bytes(&self) -> usize {
        let rows = self.rows();
        let elements = padded_len(rows, self.cols()).unwrap_or(0);
        let optional = |offset: u32, size: usize| if offset == NONE { 0 } else { rows * size };
        match self.entry.dtype {
            dtype::I8 | dtype::I4 | dtype::I8_GROUPS | dtype::I8_PAIRS => {
                self.packed_len().unwrap_or(0) + optional(self.entry.scales, 2) + optional(self.entry.bias, 4)
            }
            dtype::F16 => elements * 2 + optional(self.entry.bias, 4),
            // Gamma is i16 in the int8 engine, which alone records fraction bits, and f32 in the other.
            dtype::NORM => rows * (if self.entry.in_bits == 16 { 2 } else { 4 }) + optional(self.entry.bias, 4),
            _ => rows * 4,
        }
    }

    /// Whether the entry's parts lie inside the weights section and can be read in place.
    pub(crate) fn parts_exist(&self) -> bool {
        let (rows, e) = (self.rows(), &self.entry);
        let Some(len) = padded_len(rows, self.cols()) else { return false };
        let data = match e.dtype {
            dtype::I8 | dtype::I4 | dtype::I8_GROUPS | dtype::I8_PAIRS => {
                let len = self.packed_len();
                let grouped = matches!(e.dtype, dtype::I4 | dtype::I8_GROUPS);
                len.is_some_and(|len| self.elements::<u8>(e.data, len).is_some())
                    && e.scales != NONE
                    && (e.group != 0) == grouped
            }
            dtype::F16 => self.elements::<[u16; ROWS]>(e.data, len / ROWS).is_some(),
            dtype::NORM if e.in_bits == 16 => self.elements::<i16>(e.data, rows).is_some(),
            dtype::NORM | dtype::STEPS => self.elements::<u32>(e.data, rows).is_some(),
            _ => false,
        };
        data && (e.scales == NONE || self.elements::<u16>(e.scales, rows).is_some())
            && (e.bias == NONE || self.elements::<u32>(e.bias, rows).is_some())
    }
}

impl Role {
    /// Rows and columns a tensor of this role must have.
    pub(crate) const fn shape(self, d_model: u32, ffn: u32, vocab: u32) -> (u32, u32) {
        match self {
            Role::Embedding | Role::Output => (vocab, d_model),
            Role::Positions => (d_model.div_ceil(2), 1),
            Role::SelfNorm | Role::CrossNorm | Role::FinalNorm => (d_model, 1),
            Role::Fc1 => (ffn, d_model),
            Role::Fc2 => (d_model, ffn),
            _ => (d_model, d_model),
        }
    }

    /// Whether the tensor is a matrix that multiplies activations.
    pub const fn is_linear(self) -> bool {
        !matches!(self, Role::Positions | Role::SelfNorm | Role::CrossNorm | Role::FinalNorm)
    }
}
