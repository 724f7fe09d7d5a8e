//! The tensor table against the spec: every tensor there, of the right role, shape and place, with numbers that keep
//! the arithmetic inside its proofs. After this the step loop checks nothing.

use super::layout::{Block, DECODER_ROLES, ENCODER_ROLES, NONE, Role, SectionKind, TensorEntry};
use super::spec::Spec;
use super::tensor::{Tensor, dtype};
use crate::engine::EngineKind;
use crate::error::BlobError;
use crate::kernel::Packing;
use core::ops::RangeInclusive;

/// Marks a tensor that belongs to no block.
const NO_BLOCK: u16 = u16::MAX;
/// Magnitude that no integer beta reaches: 256 in Q16. With six more bits it fits 31.
const BETA_END: u32 = 1 << 24;
/// Fraction bits a format may have.
const FRAC: RangeInclusive<i8> = -16..=30;

fn malformed(index: u32) -> BlobError {
    BlobError::Malformed { section: SectionKind::Tensors as u32, index }
}

fn unsupported(index: u32) -> BlobError {
    BlobError::Unsupported { section: SectionKind::Tensors as u32, index }
}

/// The tensor table and the weights it points into.
#[derive(Clone, Copy)]
pub(crate) struct Tensors<'a> {
    table: &'a [u8],
    weights: &'a [u8],
    /// Entries before those of the blocks.
    globals: usize,
}

/// Whether sums of `cols` products of the largest weights and inputs of `in_bits` bits stay inside an i32.
pub const fn sums_fit(packing: Packing, cols: u32, in_bits: u8) -> bool {
    // Below 2^32 * 2^11 * 2^15.
    (8 <= in_bits && in_bits <= 16) && (cols as u64) * packing.largest() as u64 * ((1 << (in_bits - 1)) - 1) < 1 << 31
}

impl<'a> Tensors<'a> {
    /// Checks the table against the spec.
    pub fn parse(spec: &Spec<'a>, engine: EngineKind, table: &'a [u8], weights: &'a [u8]) -> Result<Self, BlobError> {
        let count = spec.header().tensor_count;
        let in_blocks = spec.encoder_blocks() * ENCODER_ROLES.len() + spec.decoder_blocks() * DECODER_ROLES.len();
        let globals = (count as usize).checked_sub(in_blocks).ok_or(malformed(0))?;
        if (count as usize).checked_mul(TensorEntry::SIZE) != Some(table.len()) {
            return Err(malformed(0));
        }
        let h = spec.header();
        let matrices = [h.source_embedding, h.target_embedding, h.output];
        // Each is one of the globals, which are checked by these very indices: another tensor has another shape.
        if matrices.iter().chain([&h.positions]).any(|&i| i as usize >= globals) || matrices.contains(&h.positions) {
            return Err(malformed(0));
        }
        let (tensors, engine) = (Tensors { table, weights, globals }, engine.built());
        for i in 0..globals as u32 {
            tensors.check_global(spec, engine, i)?;
        }
        let mut index = globals as u32;
        for i in 0..spec.block_count() {
            let block = spec.block(i).ok_or(malformed(0))?;
            let roles: &[Role] = if i < spec.encoder_blocks() { &ENCODER_ROLES } else { &DECODER_ROLES };
            for &role in roles {
                tensors.check_tensor(spec, engine, index, role, i as u16, Some(block), 0)?;
                index += 1;
            }
        }
        Ok(tensors)
    }

    fn check_global(&self, spec: &Spec<'_>, engine: EngineKind, index: u32) -> Result<(), BlobError> {
        let h = spec.header();
        if index == h.positions {
            return self.check_tensor(spec, engine, index, Role::Positions, NO_BLOCK, None, 0);
        }
        let (source, target, output) = (index == h.source_embedding, index == h.target_embedding, index == h.output);
        if !(source || target || output) || (source && h.source_vocab != h.target_vocab && (target || output)) {
            return Err(malformed(index));
        }
        let role = if source || target { Role::Embedding } else { Role::Output };
        let vocab = if source { h.source_vocab } else { h.target_vocab };
        self.check_tensor(spec, engine, index, role, NO_BLOCK, None, vocab)
    }

    #[expect(clippy::too_many_arguments, reason = "one call site a kind of tensor; a struct would only rename them")]
    fn check_tensor(
        &self,
        spec: &Spec<'_>,
        engine: EngineKind,
        index: u32,
        role: Role,
        block: u16,
        within: Option<Block>,
        vocab: u32,
    ) -> Result<(), BlobError> {
        let e = TensorEntry::read(self.table, index as usize * TensorEntry::SIZE).ok_or(malformed(index))?;
        let tensor = Tensor::new(e, self.weights);
        let shape = role.shape(spec.d_model() as u32, within.map_or(0, |b| b.ffn), vocab);
        let known = match (role, engine) {
            (Role::Positions, _) => e.dtype == dtype::STEPS,
            _ if !role.is_linear() => e.dtype == dtype::NORM,
            (_, EngineKind::Int8) => matches!(e.dtype, dtype::I8 | dtype::I4 | dtype::I8_GROUPS | dtype::I8_PAIRS),
            (_, EngineKind::F16) => e.dtype == dtype::F16,
        };
        if !known {
            return Err(unsupported(index));
        }
        if e.dtype != dtype::I8 && engine == EngineKind::Int8 && role.is_linear() && !cfg!(feature = "packings") {
            return Err(BlobError::Feature { name: "packings" });
        }
        let reserved =
            (matches!(e.dtype, dtype::I4 | dtype::I8_GROUPS) || e.group == 0) && (e.reserved1, e.reserved2) == (0, 0);
        let placed =
            reserved && e.role == role as u8 && e.block == block && (e.rows, e.cols) == shape && tensor.parts_exist();
        // A norm always has a beta, so that the loop over its elements needs no second form.
        let numbers = match engine {
            _ if role == Role::Positions => true,
            EngineKind::Int8 if role.is_linear() => {
                // In pairs the activations must fit 8 bits.
                tensor.packing().is_some_and(|packing| sums_fit(packing, e.cols, e.in_bits))
                    && (e.dtype != dtype::I8_PAIRS || e.in_bits == 8)
                    && FRAC.contains(&e.out_frac)
                    && FRAC.contains(&e.embed_frac)
                    && e.embed_scale < 1 << 31
            }
            EngineKind::Int8 => {
                e.in_bits == 16
                    && e.bias != NONE
                    && (0..=15).contains(&e.scale_shift)
                    && FRAC.contains(&e.out_frac)
                    && tensor.bias::<i32>().iter().all(|beta| beta.unsigned_abs() < BETA_END)
            }
            EngineKind::F16 if role.is_linear() => {
                tensor.blocks::<u16>().iter().flatten().all(|&w| w & 0x7c00 != 0x7c00)
                    && tensor.bias::<f32>().iter().all(|b| b.is_finite())
                    && f32::from_bits(e.embed_scale).is_finite()
            }
            EngineKind::F16 => {
                e.in_bits == 32
                    && e.bias != NONE
                    && tensor.vector::<f32>().iter().chain(tensor.bias::<f32>()).all(|v| v.is_finite())
            }
        };
        if placed && numbers { Ok(()) } else { Err(malformed(index)) }
    }

    /// Tensor `index` of the table.
    pub fn get(&self, index: u32) -> Result<Tensor<'a>, BlobError> {
        let entry = TensorEntry::read(self.table, (index as usize).saturating_mul(TensorEntry::SIZE));
        Ok(Tensor::new(entry.ok_or(malformed(index))?, self.weights))
    }

    /// The tensors of encoder block `block`.
    pub const fn encoder(&self, block: usize) -> BlockTensors<'_, 'a> {
        BlockTensors { tensors: self, roles: &ENCODER_ROLES, first: self.globals + block * ENCODER_ROLES.len() }
    }

    /// The tensors of decoder block `block` of a model with `encoder_blocks` encoder blocks.
    pub const fn decoder(&self, encoder_blocks: usize, block: usize) -> BlockTensors<'_, 'a> {
        let first = self.globals + encoder_blocks * ENCODER_ROLES.len() + block * DECODER_ROLES.len();
        BlockTensors { tensors: self, roles: &DECODER_ROLES, first }
    }

    /// Every tensor of the table.
    pub fn iter(self) -> impl Iterator<Item = Tensor<'a>> {
        (0..(self.table.len() / TensorEntry::SIZE) as u32).filter_map(move |i| self.get(i).ok())
    }
}

/// The tensors of a block, read when they are needed: a tensor is 48 bytes of stack, and a block has up to thirteen.
#[derive(Clone, Copy)]
pub(crate) struct BlockTensors<'t, 'a> {
    tensors: &'t Tensors<'a>,
    roles: &'static [Role],
    first: usize,
}

impl<'a> BlockTensors<'_, 'a> {
    /// The tensor of `role`.
    pub fn get(&self, role: Role) -> Result<Tensor<'a>, BlobError> {
        let offset = self.roles.iter().position(|&r| r == role).ok_or(malformed(self.first as u32))?;
        self.tensors.get((self.first + offset) as u32)
    }

    /// Fraction bits of what `role` puts out.
    #[inline(never)]
    pub fn out_frac(&self, role: Role) -> Result<i8, BlobError> {
        Ok(self.get(role)?.entry.out_frac)
    }
}
