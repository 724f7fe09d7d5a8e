//! Readers of checkpoints.

pub mod spm;
pub mod tokenizer;
