//! The last words of a firmware that can't go on.

use core::fmt::Display;

use embedded_io::Write;

use crate::Port;

/// Reports `what` over the serial line in one line and ends with a failing status: for panic and fault handlers.
pub fn fail<P: Port>(port: &mut P, what: impl Display) -> ! {
    last_words(port, what);
    P::exit(101)
}

/// Reports `what` in one line: for a board that has more to do before it ends.
pub fn last_words(line: &mut impl Write, what: impl Display) {
    // If even this line can't be written, nothing is left to tell it to.
    let _ = write!(line, "\r\nfatal: {what}\r\n");
    let _ = line.flush();
}
