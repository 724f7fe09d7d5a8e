//! The records of format version 1 and the names of their enumerated values. Everything is little-endian.

use super::record::record;

/// First eight bytes of every blob.
pub const MAGIC: u64 = u64::from_le_bytes(*b"LATIMER\n");
/// The format version this crate reads and writes.
pub const VERSION: u16 = 1;
/// Sections start on multiples of this, and a blob must lie at one in memory.
pub const ALIGN: usize = 16;
/// Marks an absent tensor part or index.
pub const NONE: u32 = u32::MAX;

record! {
    /// Start of the blob.
    pub struct Header[32] {
        /// `LATIMER\n`.
        magic: u64 @ 0,
        /// Format version; a reader refuses any other than its own.
        version: u16 @ 8,
        /// Engine: 0 int8, 1 f16.
        engine: u8 @ 10,
        /// Weight layout: 1 tiles of four rows.
        layout: u8 @ 11,
        /// Length of the whole blob in bytes; bytes past it are not looked at.
        total_len: u32 @ 12,
        /// Number of entries in the section table that follows.
        section_count: u16 @ 16,
        /// Zero.
        reserved: u16 @ 18,
        /// Model version, for those who update models in the field.
        model_version: u32 @ 20,
        /// CRC-32 (ISO-HDLC) of the section table.
        table_crc: u32 @ 24,
        /// CRC-32 (ISO-HDLC) of the 28 bytes before.
        header_crc: u32 @ 28,
    }
}

record! {
    /// One entry of the section table; entries are in order of offset.
    pub struct SectionEntry[16] {
        /// Section kind.
        kind: u32 @ 0,
        /// Offset from the start of the blob, a multiple of 16.
        offset: u32 @ 4,
        /// Length in bytes, without the zero padding after it.
        len: u32 @ 8,
        /// CRC-32 (ISO-HDLC) of the section's bytes.
        crc: u32 @ 12,
    }
}

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SectionKind {
    /// [`SpecHeader`], then one [`Block`] a layer, encoder first.
    Spec = 1,
    /// One [`TensorEntry`] a tensor, in the order the spec gives.
    Tensors = 2,
    /// Bytes that tensor entries point into.
    Weights = 3,
    /// Tokenizer options and the normalizer's character map.
    Tokenizer = 4,
    /// Pieces of the vocabulary (of the source side where there are two).
    SourceVocab = 5,
    /// Pieces of the target side where it differs.
    TargetVocab = 6,
    /// Golden vectors.
    SelfTest = 7,
    /// `key=value` lines in UTF-8: name, languages, licence, source, recipe.
    Meta = 8,
    /// Row blocks of the output matrix by source ids: a lexical shortlist.
    Shortlist = 9,
    /// Reserved: Ed25519 signature over everything before it.
    Signature = 10,
    /// What was learned about the model: confidence, alignment, lengths, stand-ins.
    Guide = 11,
    /// Phrases and terms whose translations are given.
    Glossary = 12,
}

impl SectionKind {
    /// Every kind with its number, for readers and for the generated table.
    pub const ALL: [SectionKind; 12] = [
        SectionKind::Spec,
        SectionKind::Tensors,
        SectionKind::Weights,
        SectionKind::Tokenizer,
        SectionKind::SourceVocab,
        SectionKind::TargetVocab,
        SectionKind::SelfTest,
        SectionKind::Meta,
        SectionKind::Shortlist,
        SectionKind::Signature,
        SectionKind::Guide,
        SectionKind::Glossary,
    ];
}

record! {
    /// Dimensions and ids that hold for the whole model.
    pub struct SpecHeader[48] {
        /// Model width.
        d_model: u16 @ 0,
        /// Positions the model was made for; limits may not exceed it.
        max_positions: u16 @ 2,
        /// Number of encoder blocks.
        encoder_blocks: u8 @ 4,
        /// Number of decoder blocks.
        decoder_blocks: u8 @ 5,
        /// f16 engine's exp and inverse square root: 0 libm, 1 micromath.
        math: u8 @ 6,
        /// Zero.
        reserved: u8 @ 7,
        /// Rows of the source embedding.
        source_vocab: u32 @ 8,
        /// Rows of the target embedding and of the output matrix.
        target_vocab: u32 @ 12,
        /// End of sentence, on both sides.
        eos_id: u16 @ 16,
        /// Unknown piece.
        unk_id: u16 @ 18,
        /// Padding; never produced.
        pad_id: u16 @ 20,
        /// First decoder input.
        start_id: u16 @ 22,
        /// Layer norm epsilon in Q32.
        norm_eps_q32: u32 @ 24,
        /// Index of the source embedding in the tensor table.
        source_embedding: u32 @ 28,
        /// Index of the target embedding in the tensor table.
        target_embedding: u32 @ 32,
        /// Index of the output matrix in the tensor table.
        output: u32 @ 36,
        /// Index of the position frequencies in the tensor table.
        positions: u32 @ 40,
        /// Number of entries in the tensor table.
        tensor_count: u32 @ 44,
    }
}

record! {
    /// One encoder or decoder block.
    pub struct Block[16] {
        /// 0 encoder, 1 decoder.
        kind: u8 @ 0,
        /// Self-attention: 0 global.
        attention: u8 @ 1,
        /// Window of a windowed attention; zero.
        window: u16 @ 2,
        /// Attention heads (self and cross).
        heads: u8 @ 4,
        /// Feed-forward activation: 0 ReLU, 1 swish, 2 GELU (with the error function).
        activation: u8 @ 5,
        /// Norm placement: 0 after the residual.
        norm: u8 @ 6,
        /// Encoder block whose output a decoder block's cross-attention reads; zero in encoder blocks.
        cross_source: u8 @ 7,
        /// Feed-forward width.
        ffn: u32 @ 8,
        /// Zero.
        reserved: u32 @ 12,
    }
}

record! {
    /// One tensor. Offsets are from the start of the weights section and are multiples of 4.
    pub struct TensorEntry[40] {
        /// Role, see [`Role`].
        role: u8 @ 0,
        /// Element type: 0 i8, 1 f16, 2 layer-norm parameters, 3 position frequencies, 4 i4
        /// in groups, 5 i8 in groups, 6 i8 in pairs.
        dtype: u8 @ 1,
        /// Block the tensor belongs to, or 65535.
        block: u16 @ 2,
        /// Output features, vocabulary rows, or elements of a vector.
        rows: u32 @ 4,
        /// Input features; 1 for vectors.
        cols: u32 @ 8,
        /// Elements: weights in the header's layout, those in groups with the groups' scales; gamma (i16, or f32); position steps (u32).
        data: u32 @ 12,
        /// Row scales, u16 each; 4294967295 where there are none.
        scales: u32 @ 16,
        /// Bias or beta: i32, or f32; 4294967295 where all are zero.
        bias: u32 @ 20,
        /// Scale of an embedding row as hidden state: a Q31 mantissa, or the bits of an f32.
        embed_scale: u32 @ 24,
        /// Right shift that goes with the Q31 mantissa above.
        embed_shift: i8 @ 28,
        /// Fraction bits of an embedded hidden state.
        embed_frac: i8 @ 29,
        /// Bits of the quantized input of a linear (8 to 16); in a norm, bits of gamma: 16, or 32 for f32.
        in_bits: u8 @ 30,
        /// Row scale `i` is `scales[i] * 2^-scale_shift`; gamma's fraction bits in a norm.
        scale_shift: i8 @ 31,
        /// Fraction bits of the output: of a linear's i32, of a norm's i16.
        out_frac: i8 @ 32,
        /// Columns of a group of weights; zero where there are no groups.
        group: u8 @ 33,
        /// Zero.
        reserved1: u16 @ 34,
        /// Zero.
        reserved2: u32 @ 36,
    }
}

/// What a tensor is for; the discriminant is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Role {
    Embedding = 0,
    Output = 1,
    Positions = 2,
    SelfQ = 3,
    SelfK = 4,
    SelfV = 5,
    SelfOut = 6,
    SelfNorm = 7,
    CrossQ = 8,
    CrossK = 9,
    CrossV = 10,
    CrossOut = 11,
    CrossNorm = 12,
    Fc1 = 13,
    Fc2 = 14,
    FinalNorm = 15,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 16] = [
        Role::Embedding,
        Role::Output,
        Role::Positions,
        Role::SelfQ,
        Role::SelfK,
        Role::SelfV,
        Role::SelfOut,
        Role::SelfNorm,
        Role::CrossQ,
        Role::CrossK,
        Role::CrossV,
        Role::CrossOut,
        Role::CrossNorm,
        Role::Fc1,
        Role::Fc2,
        Role::FinalNorm,
    ];
}

/// Tensors of an encoder block, in the order of the table.
pub const ENCODER_ROLES: [Role; 8] =
    [Role::SelfQ, Role::SelfK, Role::SelfV, Role::SelfOut, Role::SelfNorm, Role::Fc1, Role::Fc2, Role::FinalNorm];

/// Tensors of a decoder block, in the order of the table.
pub const DECODER_ROLES: [Role; 13] = [
    Role::SelfQ,
    Role::SelfK,
    Role::SelfV,
    Role::SelfOut,
    Role::SelfNorm,
    Role::CrossQ,
    Role::CrossK,
    Role::CrossV,
    Role::CrossOut,
    Role::CrossNorm,
    Role::Fc1,
    Role::Fc2,
    Role::FinalNorm,
];

record! {
    /// One golden vector. After it: checksums of the stages (u32), source ids (u16), target ids (u16), the phrase.
    pub struct SelfTestCase[16] {
        /// Stages with a checksum: embedding and blocks of the encoder, then of the decoder.
        stages: u16 @ 0,
        /// Number of source ids.
        source_len: u16 @ 2,
        /// Number of target ids.
        target_len: u16 @ 4,
        /// Bytes of the phrase.
        phrase_len: u16 @ 6,
        /// CRC-32 over every logit of every step.
        logits_crc: u32 @ 8,
        /// Zero.
        reserved: u32 @ 12,
    }
}
