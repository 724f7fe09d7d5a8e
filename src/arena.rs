//! The arena: every buffer of a translation, laid out before the run from the spec and the limits.
//!
//! ```text
//! | source ids | target ids | cross        | state        | work            |
//!                           | encoder K, V | hidden       | block of tokens |   while encoding
//!                           | cross K, V   | hidden       | block of tokens |   then
//!                           | cross K, V   | self K, V    | one token       |   while decoding
//!                           | text and Viterbi nodes                        |   while tokenizing
//! ```
//!
//! Buffers that never live at the same time share bytes; within a phase they are carved off in order.

use crate::blob::container::Container;
use crate::blob::layout::{ALIGN, SectionKind};
use crate::blob::spec::Spec;
use crate::engine::{Engine, EngineKind};
use crate::error::Error;
use bytemuck::Pod;

/// Tokens whose activations are in flight at once in the encoder: each weight is read once for so many tokens.
pub(crate) const BLOCK_TOKENS: usize = 8;
/// Bytes of Viterbi work for each byte of normalized text.
pub(crate) const NODE_BYTES: usize = 8;

/// How large a phrase may be; sizes the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Source tokens, end of sentence included.
    pub source_tokens: u16,
    /// Decoder steps: target tokens, end of sentence included.
    pub target_tokens: u16,
    /// Bytes of normalized source text.
    pub text_bytes: u16,
}

impl Limits {
    /// 64 source tokens, 64 target tokens, 512 bytes of text.
    pub const DEFAULT: Limits = Limits { source_tokens: 64, target_tokens: 64, text_bytes: 512 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Memory for one translator, aligned as buffers and casts need it.
///
/// ```
/// # const BLOB_ARENA: usize = 1024;
/// static mut ARENA: latimer::Arena<BLOB_ARENA> = latimer::Arena::new();
/// ```
#[repr(C, align(16))]
pub struct Arena<const N: usize>([u8; N]);

impl<const N: usize> Arena<N> {
    /// An arena of zeros: lies in `.bss`, costs no flash.
    pub const fn new() -> Self {
        Arena([0; N])
    }

    /// The bytes, for [`Model::translator`](crate::Model::translator).
    pub const fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl<const N: usize> Default for Arena<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of each region, in order of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaPlan {
    /// Source ids.
    pub source_ids: usize,
    /// Target ids.
    pub target_ids: usize,
    /// Keys and values of the encoder, then those of every cross-attention.
    pub cross: usize,
    /// Hidden states of the encoder, then keys and values of every decoder self-attention.
    pub state: usize,
    /// Activations of a block of tokens and attention scratch.
    pub work: usize,
    /// Normalized text and Viterbi nodes, over the three regions before.
    pub text: usize,
}

/// Element sizes of an engine, for sizing in `const`.
#[derive(Clone, Copy)]
struct Sizes {
    hidden: usize,
    input: usize,
    wide: usize,
    cache: usize,
    scale: usize,
}

impl Sizes {
    const fn of(engine: EngineKind) -> Self {
        match engine {
            EngineKind::Int8 => Sizes { hidden: 2, input: 2, wide: 4, cache: 1, scale: 4 },
            EngineKind::F16 => Sizes { hidden: 4, input: 4, wide: 4, cache: 2, scale: 0 },
        }
    }
}

const fn round_up(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN)
}

const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// Bytes of the keys and values of `tokens` positions.
const fn kv_bytes(sizes: Sizes, tokens: usize, d_model: usize, heads: usize) -> usize {
    2 * (round_up(tokens * d_model * sizes.cache) + round_up(tokens * heads * sizes.scale))
}

impl ArenaPlan {
    /// The plan of a spec under limits.
    pub const fn new(spec: &Spec<'_>, engine: EngineKind, limits: Limits) -> Result<Self, Error> {
        let (source, target) = (limits.source_tokens as usize, limits.target_tokens as usize);
        let most = spec.most_positions() as usize;
        if source == 0 || target == 0 || source > most || target > most || limits.text_bytes == 0 {
            return Err(Error::Limits);
        }
        let (sizes, d) = (Sizes::of(engine), spec.d_model());
        let (mut encoder, mut cross, mut own, mut ffn, mut head_dim) = (0usize, 0usize, 0usize, d, 1);
        let mut i = 0;
        while let Some(block) = spec.block(i) {
            let heads = block.heads as usize;
            ffn = larger(ffn, block.ffn as usize);
            head_dim = larger(head_dim, d / larger(heads, 1));
            if i < spec.encoder_blocks() {
                encoder = larger(encoder, kv_bytes(sizes, source, d, heads));
            } else {
                // Saturating: a blob of many wide blocks may ask for more than a 32-bit address space has.
                cross = cross.saturating_add(kv_bytes(sizes, source, d, heads));
                own = own.saturating_add(kv_bytes(sizes, target, d, heads));
            }
            i += 1;
        }
        let longest = larger(source, target);
        let block = if longest < BLOCK_TOKENS { longest } else { BLOCK_TOKENS };
        Ok(ArenaPlan {
            source_ids: round_up(source * 2),
            target_ids: round_up(target * 2),
            cross: larger(encoder, cross),
            state: larger(round_up(source * d * sizes.hidden), own),
            work: round_up(d * sizes.hidden)
                + round_up(block * ffn * sizes.input)
                + round_up(block * ffn * sizes.wide)
                + round_up(block * sizes.scale)
                + round_up(longest * sizes.wide)
                + round_up((longest + head_dim) * sizes.input),
            text: round_up(limits.text_bytes as usize) + round_up(limits.text_bytes as usize * NODE_BYTES),
        })
    }

    /// Bytes of the whole arena.
    pub const fn total(&self) -> usize {
        let phases = larger(self.cross.saturating_add(self.state).saturating_add(self.work), self.text);
        phases.saturating_add(self.source_ids + self.target_ids)
    }
}

/// Bytes of arena that `blob` needs under `limits`, at compile time: `Arena<{ arena_len(BLOB, LIMITS) }>`.
///
/// # Panics
///
/// Where the bytes are no blob of this version or the limits exceed the model's positions: in a `const`, a compile
/// error. At run time call [`Model::arena_len`](crate::Model::arena_len), which returns the error.
pub const fn arena_len(blob: &[u8], limits: Limits) -> usize {
    match try_arena_len(blob, limits) {
        Ok(len) => len,
        Err(Error::Limits) => panic!("limits are zero, or exceed the model's positions"),
        Err(_) => panic!("not a latimer blob of this format version, or its engine's feature is off"),
    }
}

const fn try_arena_len(blob: &[u8], limits: Limits) -> Result<usize, Error> {
    // `?` and `From` are not const yet.
    macro_rules! get {
        ($e:expr) => {
            match $e {
                Ok(value) => value,
                Err(error) => return Err(Error::Blob(error)),
            }
        };
    }
    let container = get!(Container::open(blob));
    let engine = get!(EngineKind::from_header(container.header().engine));
    let spec = get!(Spec::parse(get!(container.required(SectionKind::Spec))));
    match ArenaPlan::new(&spec, engine, limits) {
        Ok(plan) => Ok(plan.total()),
        Err(error) => Err(error),
    }
}

/// Cuts typed buffers off the front of a region. Nothing here can panic: a region too small is an error, which the
/// plan rules out.
pub(crate) struct Carver<'a> {
    rest: &'a mut [u8],
    whole: usize,
}

impl<'a> Carver<'a> {
    pub fn new(region: &'a mut [u8]) -> Self {
        Carver { whole: region.len(), rest: region }
    }

    /// `len` elements, zeroed or not as the bytes happen to be.
    pub fn take<T: Pod>(&mut self, len: usize) -> Result<&'a mut [T], Error> {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes == 0 {
            return Ok(&mut []);
        }
        let rest = core::mem::take(&mut self.rest);
        let found = rest.len();
        let error = Error::Arena { need: self.whole.saturating_add(bytes).saturating_sub(found), found: self.whole };
        let (head, rest) = rest.split_at_mut_checked(round_up(bytes)).ok_or(error)?;
        self.rest = rest;
        bytemuck::try_cast_slice_mut(head.get_mut(..bytes).unwrap_or_default()).map_err(|_| error)
    }

    /// What is left.
    pub fn rest(self) -> &'a mut [u8] {
        self.rest
    }
}

/// Keys and values of up to `limit` positions.
pub(crate) struct Kv<'a, E: Engine> {
    pub keys: &'a mut [E::Cache],
    pub key_scales: &'a mut [E::Scale],
    pub values: &'a mut [E::Cache],
    pub value_scales: &'a mut [E::Scale],
}

impl<'a, E: Engine> Kv<'a, E> {
    pub fn carve(carver: &mut Carver<'a>, tokens: usize, d_model: usize, heads: usize) -> Result<Self, Error> {
        Ok(Kv {
            keys: carver.take(tokens * d_model)?,
            key_scales: carver.take(tokens * heads * E::SCALES)?,
            values: carver.take(tokens * d_model)?,
            value_scales: carver.take(tokens * heads * E::SCALES)?,
        })
    }
}

/// Buffers for a block of tokens.
pub(crate) struct Work<'a, E: Engine> {
    /// Hidden state of the token being decoded.
    pub hidden: &'a mut [E::Hidden],
    /// Input of a linear.
    pub input: &'a mut [E::Input],
    /// Output of a linear.
    pub wide: &'a mut [E::Wide],
    /// One scale a token.
    pub scales: &'a mut [E::Scale],
    /// One score a position.
    pub scores: &'a mut [E::Wide],
    /// One head of a query, then one weight a position.
    pub attend: &'a mut [E::Input],
}

impl<'a, E: Engine> Work<'a, E> {
    pub fn carve(region: &'a mut [u8], spec: &Spec<'_>, limits: Limits) -> Result<Self, Error> {
        let (mut ffn, mut head_dim) = (spec.d_model(), 1);
        for block in (0..spec.block_count()).filter_map(|i| spec.block(i)) {
            ffn = ffn.max(block.ffn as usize);
            head_dim = head_dim.max(spec.d_model() / (block.heads as usize).max(1));
        }
        let longest = limits.source_tokens.max(limits.target_tokens) as usize;
        let block = longest.min(BLOCK_TOKENS);
        let mut carver = Carver::new(region);
        Ok(Work {
            hidden: carver.take(spec.d_model())?,
            input: carver.take(block * ffn)?,
            wide: carver.take(block * ffn)?,
            scales: carver.take(block * E::SCALES)?,
            scores: carver.take(longest)?,
            attend: carver.take(longest + head_dim)?,
        })
    }
}
