//! Costs that hold for every model.

/// Ceiling on the bytes of stack that the firmware of a board uses, its own line handling and JSON included: nothing
/// recurses and no buffer on the stack depends on the model. Measured, not derived from the call graph. `cargo xtask test`
/// holds the painted stacks of the emulated boards to it; `:stats` on a board prints what it used.
pub const STACK_BOUND: usize = 4096;
