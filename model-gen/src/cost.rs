//! Costs that hold for every model.

/// Bytes of stack that one call of the runtime needs at most: nothing in it recurses and no buffer on the stack depends
/// on the model. Checked against painted runs on the emulated boards by `cargo xtask test`.
pub const STACK_BOUND: usize = 4096;
