//! The spec section: what the model is made of, readable in `const` so that arenas can be sized at compile time.

use super::layout::{Block, SpecHeader};
use crate::error::BlobError;

use super::layout::SectionKind;

/// Widest model: keeps every byte count of an arena inside 32 bits.
pub const MAX_D_MODEL: u16 = 4096;
/// Most heads in a block.
pub const MAX_HEADS: u8 = 64;
/// Most positions a run may use, and the widest head. Attention sums products of at most 127 and 32767 over either,
/// in i32: `512 * 127 * 32767 < 2^31`.
pub const MAX_SUM: u16 = 512;

/// Dimensions, ids and the list of blocks.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    header: SpecHeader,
    blocks: &'a [u8],
}

/// Feed-forward activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x * sigmoid(x)`, also called SiLU.
    Swish,
    /// `x * Phi(x)`, `Phi` being the standard normal distribution: transformers' `gelu`, without its approximations.
    Gelu,
}

const fn malformed(index: u32) -> BlobError {
    BlobError::Malformed { section: SectionKind::Spec as u32, index }
}

const fn unsupported(index: u32) -> BlobError {
    BlobError::Unsupported { section: SectionKind::Spec as u32, index }
}

impl<'a> Spec<'a> {
    /// Reads and checks a spec section.
    pub const fn parse(section: &'a [u8]) -> Result<Self, BlobError> {
        let Some(header) = SpecHeader::read(section, 0) else {
            return Err(malformed(0));
        };
        let Some((_, blocks)) = section.split_at_checked(SpecHeader::SIZE) else {
            return Err(malformed(0));
        };
        let spec = Spec { header, blocks };
        if let Err(error) = spec.check_header() {
            return Err(error);
        }
        let mut i = 0;
        while i < spec.block_count() {
            if let Err(error) = spec.check_block(i) {
                return Err(error);
            }
            i += 1;
        }
        Ok(spec)
    }

    const fn check_header(&self) -> Result<(), BlobError> {
        let h = &self.header;
        let (source, target) = (h.source_vocab, h.target_vocab);
        let sizes = h.d_model >= 1
            && h.d_model <= MAX_D_MODEL
            && h.max_positions >= 1
            && h.encoder_blocks >= 1
            && h.decoder_blocks >= 1
            && self.blocks.len() == self.block_count() * Block::SIZE
            && source >= 1
            && source <= 1 << 16
            && target >= 1
            && target <= 1 << 16
            && h.norm_eps_q32 >= 1
            && h.reserved == 0;
        let ids = (h.eos_id as u32) < source
            && (h.eos_id as u32) < target
            && (h.unk_id as u32) < source
            && (h.pad_id as u32) < target
            && (h.start_id as u32) < target
            && h.eos_id != h.pad_id;
        let tensors = h.source_embedding < h.tensor_count
            && h.target_embedding < h.tensor_count
            && h.output < h.tensor_count
            && h.positions < h.tensor_count;
        if !(sizes && ids && tensors) {
            return Err(malformed(0));
        }
        if h.math > 1 { Err(unsupported(0)) } else { Ok(()) }
    }

    const fn check_block(&self, i: usize) -> Result<(), BlobError> {
        let index = i as u32 + 1;
        let Some(b) = self.block(i) else {
            return Err(malformed(index));
        };
        let encoder = i < self.header.encoder_blocks as usize;
        // Cross-attention to other than the last encoder block is a later issue's.
        let last = encoder || b.cross_source == self.header.encoder_blocks - 1;
        let known = b.attention == 0 && b.activation <= 2 && b.norm == 0 && b.window == 0 && last;
        if !known {
            return Err(unsupported(index));
        }
        let ok = b.kind == !encoder as u8
            && b.reserved == 0
            && b.heads >= 1
            && b.heads <= MAX_HEADS
            && self.header.d_model.is_multiple_of(b.heads as u16)
            && self.header.d_model / (b.heads as u16) <= MAX_SUM
            && b.ffn >= 1
            && b.ffn <= u16::MAX as u32
            && (!encoder || b.cross_source == 0);
        if ok { Ok(()) } else { Err(malformed(index)) }
    }

    /// The header record.
    pub const fn header(&self) -> &SpecHeader {
        &self.header
    }

    /// Model width; at least one, which the optimizer can see.
    pub const fn d_model(&self) -> usize {
        if self.header.d_model == 0 { 1 } else { self.header.d_model as usize }
    }

    /// Most positions a run may use: the model's own, and no more than [`MAX_SUM`].
    pub const fn most_positions(&self) -> u16 {
        if self.header.max_positions < MAX_SUM { self.header.max_positions } else { MAX_SUM }
    }

    /// Encoder and decoder blocks together.
    pub const fn block_count(&self) -> usize {
        self.header.encoder_blocks as usize + self.header.decoder_blocks as usize
    }

    /// Number of encoder blocks.
    pub const fn encoder_blocks(&self) -> usize {
        self.header.encoder_blocks as usize
    }

    /// Number of decoder blocks.
    pub const fn decoder_blocks(&self) -> usize {
        self.header.decoder_blocks as usize
    }

    /// Block `i`, encoder blocks first.
    pub const fn block(&self, i: usize) -> Option<Block> {
        Block::read(self.blocks, i.saturating_mul(Block::SIZE))
    }

    /// Encoder block `i`.
    pub const fn encoder_block(&self, i: usize) -> Option<Block> {
        if i < self.encoder_blocks() { self.block(i) } else { None }
    }

    /// Decoder block `i`.
    pub const fn decoder_block(&self, i: usize) -> Option<Block> {
        self.block(i.saturating_add(self.encoder_blocks()))
    }

    /// Writes a spec section: the header, then the blocks. `None` where `out` is too short.
    pub fn emit(header: &SpecHeader, blocks: &[Block], out: &mut [u8]) -> Option<usize> {
        header.write(out, 0)?;
        let mut at = SpecHeader::SIZE;
        for block in blocks {
            block.write(out, at)?;
            at += Block::SIZE;
        }
        Some(at)
    }
}

impl Block {
    /// The feed-forward activation.
    pub const fn activation(&self) -> Activation {
        match self.activation {
            1 => Activation::Swish,
            2 => Activation::Gelu,
            _ => Activation::Relu,
        }
    }
}
