//! The last words of a firmware that can't go on.

use core::fmt::Display;

use crate::Port;

/// Reports `what` over the serial line in one line and ends with a failing status: for panic and fault handlers.
pub fn fail<P: Port>(port: &mut P, what: impl Display) -> ! {
    // If even this line can't be written, the status is what is left to tell.
    let _ = write!(port, "\r\nfatal: {what}\r\n");
    let _ = port.flush();
    P::exit(101)
}
