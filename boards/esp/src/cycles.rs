//! The cycle counter.
//!
//! These cores have no `mcycle`. They have one counter of their own, of 32 bits, that counts what it is told to (ESP32-C3
//! Technical Reference Manual, chapter 1, and the ESP32-C6's, chapter on the high-performance CPU): CSR 0x7e0 `mpcer` chooses
//! the event, where bit 0 is a clock cycle; 0x7e1 `mpcmr` turns it on by bit 0; 0x7e2 `mpccr` is the count.

use core::arch::asm;

/// Cycles since the start, in 64 bits.
///
/// At 160 MHz the counter comes round every 26 seconds: [`Cycles::count`] must be called more often.
#[derive(Debug)]
pub struct Cycles {
    last: u32,
    rounds: u32,
}

impl Cycles {
    /// Starts the counter.
    pub fn start() -> Self {
        // SAFETY: writes the two registers that say what the counter counts; they touch no memory, and nothing else uses the
        // counter.
        unsafe { asm!("csrwi 0x7e0, 1", "csrwi 0x7e1, 1", options(nomem, nostack)) };
        Self { last: read(), rounds: 0 }
    }

    /// Cycles so far.
    pub fn count(&mut self) -> u64 {
        let now = read();
        self.rounds += u32::from(now < self.last);
        self.last = now;
        u64::from(self.rounds) << 32 | u64::from(now)
    }
}

fn read() -> u32 {
    let count;
    // SAFETY: reads the counter, which changes nothing.
    unsafe { asm!("csrr {}, 0x7e2", out(reg) count, options(nomem, nostack)) };
    count
}
