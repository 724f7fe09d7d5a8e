//! The float model forwards and backwards: how the next-token distributions answer to every weight, for the quantizer to
//! know what an error costs.
//!
//! The arithmetic is this crate's own, not a tensor library's: those choose their products by the processor, and a blob
//! must be the same wherever it is packed.

pub(crate) mod algebra;
pub(crate) mod layout;
pub(crate) mod network;

#[cfg(test)]
mod tests;
