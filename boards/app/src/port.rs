//! What a board gives the application.

use embedded_io::{Read, Write};

use crate::StackUse;

/// A board: its serial line, a counter, its stack and a way out.
///
/// `read` blocks until there is a byte; 0 bytes mean that the line was closed and end the session.
pub trait Port: Read + Write {
    /// The board's name, as `cargo xtask board` calls it.
    const NAME: &'static str;

    /// Guest instructions executed since some fixed moment; never goes back.
    fn instructions(&mut self) -> u64;

    /// Size and deepest use of the stack, in bytes.
    fn stack(&self) -> StackUse;

    /// Ends the program; 0 tells success.
    fn exit(code: u8) -> !;
}
