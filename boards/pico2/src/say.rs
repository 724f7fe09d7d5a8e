//! The last words of a firmware: out of UART0 by its registers, and into a note for the next start, as USB is served no longer.

use rp235x_hal::pac::{RESETS, UART0};

use crate::note;

/// Writes bytes, to the UART only if it was started.
pub fn say(bytes: &[u8]) {
    note::add(bytes);
    // SAFETY: the firmware has come to its end, and nothing else uses the devices any more.
    let (resets, uart) = unsafe { (&*RESETS::ptr(), &*UART0::ptr()) };
    if resets.reset_done().read().uart0().bit_is_clear() || uart.uartcr().read().uarten().bit_is_clear() {
        return;
    }
    for &byte in bytes {
        wait(|| uart.uartfr().read().txff().bit_is_clear());
        // SAFETY: all values of the field are data to send.
        uart.uartdr().write(|data| unsafe { data.data().bits(byte) });
    }
    wait(|| uart.uartfr().read().busy().bit_is_clear());
}

/// Waits, a fraction of a second at most.
fn wait(done: impl Fn() -> bool) {
    let _ = (0..1_000_000).find(|_| done());
}
