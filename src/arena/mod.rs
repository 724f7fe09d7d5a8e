//! The arena: every buffer of a translation, laid out before the run from the spec and the limits.
//!
//! ```text
//! | source ids | target ids | texts and Viterbi nodes                               |   while tokenizing
//!                           | encoder K, V | hidden       | work of many tokens     |   while encoding
//!                           | cross K, V   | hidden       | work of many tokens     |   then
//!                           | cross K, V   | book | self K, V     | work of one token |  while decoding
//!                           |              | book | texts, nodes, tokens, draft     |  while writing
//! ```
//!
//! A beam search has keys and values of its own for each beam, and work of as many tokens. A blob with a shortlist has the
//! phrase's set of row blocks before all of these.
//!
//! Buffers that never live at the same time share bytes; within a phase they are carved off in order, those of the source
//! for the phrase's own number of tokens, those of a search for the tokens it may have. What is left is work buffers: the
//! more, the more tokens share a pass over the weights.

mod carve;
#[cfg(feature = "alloc")]
mod heap;
mod loan;
mod plan;

pub(crate) use carve::{Carver, Kv, Slots, Work};
#[cfg(feature = "alloc")]
pub use heap::HeapArena;
pub(crate) use loan::Loan;
pub use plan::ArenaPlan;
pub(crate) use plan::{STRIP, Sizes};

use crate::blob::container::Container;
use crate::blob::layout::SectionKind;
use crate::blob::spec::Spec;
use crate::engine::EngineKind;
use crate::error::Error;

/// How large a phrase may be; sizes the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Source tokens, end of sentence included.
    pub source_tokens: u16,
    /// Decoder steps: target tokens, end of sentence included.
    pub target_tokens: u16,
    /// Bytes of normalized source text.
    pub text_bytes: u16,
    /// Hypotheses that a beam search follows at a time, 1 to [`MAX_BEAMS`]; 1 has room for greedy search alone.
    pub beams: u16,
}

/// Most hypotheses that a beam search can follow; 1 without the feature `beam`.
pub const MAX_BEAMS: usize = if cfg!(feature = "beam") { 8 } else { 1 };

impl Limits {
    /// 64 source tokens, 64 target tokens, 512 bytes of text, greedy.
    pub const DEFAULT: Limits = Limits { source_tokens: 64, target_tokens: 64, text_bytes: 512, beams: 1 };
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

/// Bytes of arena that `blob` needs under `limits`, at compile time: `Arena<{ arena_len(BLOB, LIMITS) }>`.
///
/// # Panics
///
/// Where the bytes are no blob of this version, the limits exceed the model's positions or the beams [`MAX_BEAMS`]: in a
/// `const`, a compile error. At run time call [`Model::arena_len`](crate::Model::arena_len), which returns the error.
pub const fn arena_len(blob: &[u8], limits: Limits) -> usize {
    match try_arena_len(blob, limits) {
        Ok(len) => len,
        Err(Error::Limits) => panic!("limits are zero, or exceed the model's positions or MAX_BEAMS"),
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
        Ok(plan) => {
            let shortlist = container.section(SectionKind::Shortlist).is_some();
            Ok(plan.with_shortlist(&spec, shortlist).total())
        }
        Err(error) => Err(error),
    }
}
