//! The blob: a model in one run of bytes, read where it lies.
//!
//! [`layout`] has the records; parse and emit live here, side by side, and `model-gen` uses them.

pub mod layout;
pub(crate) mod record;
pub mod tokenizer;
pub mod vocab;

pub use layout::VERSION;
pub use record::{FieldDoc, RecordDoc};
