//! Offline translation of short phrases on microcontrollers: a quantized encoder-decoder Transformer with its
//! tokenizer and its decoder, `no_std`, without a heap, weights read where they lie in flash.
//!
//! A *blob*, packed by `model-gen` from a trained checkpoint, holds everything about a model. [`Model::from_bytes`]
//! checks it once, [`Model::translator`] runs it in an [`Arena`] that [`arena_len`] sizes at compile time, and
//! [`Translator::translate`] takes text to text:
//!
//! ```
//! use latimer::{Arena, Limits, Model, arena_len, include_blob};
//!
//! static BLOB: &[u8] = include_blob!("example.blob");
//! const LIMITS: Limits = Limits::DEFAULT; // 64 source tokens, 64 target tokens, 512 bytes of text
//!
//! let mut arena = Arena::<{ arena_len(BLOB, LIMITS) }>::new();
//! let model = Model::from_bytes(BLOB)?;
//! let mut translator = model.translator(arena.as_mut(), LIMITS)?;
//! let mut spanish = heapless::String::<256>::new();
//! translator.translate("Where is the train station?", &mut spanish)?;
//! # Ok::<(), latimer::Error>(())
//! ```
//!
//! The same blob gives the same logits, bit for bit, on every target: see [`num`] for the integer engine's one
//! rounding rule and `docs/numerics.md` for the formats. [`Observer`] shows ids, logits, layer outputs and tokens as
//! they come.
//!
//! # Features
//!
//! - `int8` (default): the integer-only engine.
//! - `f16` (default): f16 weights, f32 arithmetic in one written order.
//! - `bpe` (default): tokenizers that are SentencePiece BPE models; unigram models need no feature.
//! - `packings` (default): weights of the int8 engine other than 8 bits with a scale a row: 4 bits, groups of columns, pairs.
//! - `beam` (default): searches that follow more than one hypothesis, and room for up to eight.
//! - `guide` (default): the guide and the glossary of a blob, which [`Translator::translate`] asks; without it they are passed
//!   over, and phrases are translated as with a blob that has neither.
//! - `std`: kernels for the host's own instruction set, chosen at run time; the bits stay the same.
//! - `alloc`: `HeapArena`, for those who have a heap and choose models at run time.
//! - `json`: the report that boards and `model-gen translate --json` write.
//! - `portable`: the portable kernels alone, on every target; the bits stay the same.
//! - `dsp`, `mve`: the core, of Armv8-M Mainline, has that extension, where the build's flags don't say so (next
//!   section).
//!
//! # Instruction sets
//!
//! Kernels are chosen when the crate is compiled, by the target and, on `thumbv8m.main`, by the core that
//! `-C target-cpu` names: `cortex-m33`, `cortex-m35p` and `star-mc1` have DSP instructions, `cortex-m52`, `cortex-m55`,
//! `cortex-m85` and `star-mc3` have MVE too. `thumbv7em` always has DSP instructions, `thumbv7m` never. Where such flags
//! can't be set, the features `dsp` and `mve` say the same of `thumbv8m.main` and nothing of other targets; a firmware
//! that claims an extension its core has not ends in a fault. MVE needs the coprocessors 10 and 11 enabled (CPACR)
//! before the first call.
#![no_std]

#[cfg(target_endian = "big")]
compile_error!("latimer reads little-endian blobs in place and runs on little-endian targets only");

#[cfg(not(any(feature = "int8", feature = "f16")))]
compile_error!("enable at least one engine: feature `int8` or `f16`");

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(any(test, feature = "std"))]
extern crate std;

mod arena;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench;
pub mod blob;
mod cross_kv;
mod decoder;
mod encoder;
mod engine;
pub mod error;
pub mod kernel;
mod layer;
mod model;
pub mod num;
pub mod observe;
mod op;
pub mod passage;
mod phrase;
#[cfg(feature = "json")]
pub mod report;
mod rows;
mod search;
pub mod self_test;
pub mod text;
mod translate;
mod translator;

#[cfg(feature = "alloc")]
pub use arena::HeapArena;
pub use arena::{Arena, ArenaPlan, Limits, MAX_BEAMS, arena_len};
pub use blob::Blob;
pub use engine::EngineKind;
pub use error::{BlobError, Error};
pub use model::Model;
pub use observe::{AlignmentCrc, LogitsCrc, Observer};
pub use passage::{Outcome, Passage, TextOptions, Warnings};
pub use search::Token;
pub use self_test::SelfTestError;
pub use translate::Stats;
pub use translator::Translator;

/// Includes a blob's bytes at the alignment that reading in place needs.
///
/// They lie among the program's constants, or in a section of the linker script's, for flash that the program is not in:
/// `include_blob!("example.blob", section = ".qspi")`.
#[macro_export]
macro_rules! include_blob {
    ($path:expr $(, section = $section:literal)? $(,)?) => {{
        #[repr(C, align(16))]
        struct Aligned<T: ?Sized>(T);
        $(#[unsafe(link_section = $section)])?
        static ALIGNED: Aligned<[u8; include_bytes!($path).len()]> = Aligned(*include_bytes!($path));
        &ALIGNED.0
    }};
}
