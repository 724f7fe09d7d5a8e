//! The core's cycle counter, extended to 64 bits.

/// Cycles since the start.
///
/// The counter of 32 bits comes round after some seconds (11 at 400 MHz): [`Cycles::count`] must be called more often.
#[derive(Debug)]
pub(crate) struct Cycles {
    last: u32,
    rounds: u32,
}

impl Cycles {
    /// Starts the counter.
    pub fn start() -> Self {
        start();
        Self { last: now(), rounds: 0 }
    }

    /// Cycles so far.
    pub fn count(&mut self) -> u64 {
        self.extend(now())
    }

    fn extend(&mut self, now: u32) -> u64 {
        self.rounds += u32::from(now < self.last);
        self.last = now;
        u64::from(self.rounds) << 32 | u64::from(now)
    }
}

/// The counter of the data watchpoint and trace unit (Armv7-M and Armv8-M reference manuals, chapter on debug).
#[cfg(target_arch = "arm")]
fn start() {
    // SAFETY: the units of debug and trace, which nothing else in a firmware uses.
    let mut core = unsafe { cortex_m::Peripherals::steal() };
    core.DCB.enable_trace();
    // Some Cortex-M7 lock it until told.
    cortex_m::peripheral::DWT::unlock();
    core.DWT.enable_cycle_counter();
}

/// The counter as it is.
#[cfg(target_arch = "arm")]
pub(crate) fn now() -> u32 {
    cortex_m::peripheral::DWT::cycle_count()
}

/// `mcycle`, which a core may have stopped at reset to save power: bit 0 of `mcountinhibit`, CSR 0x320 (RISC-V privileged
/// architecture, chapter on the machine level).
#[cfg(target_arch = "riscv32")]
fn start() {
    // SAFETY: lets a counter run, which touches no memory.
    unsafe { core::arch::asm!("csrci 0x320, 1", options(nomem, nostack)) };
}

/// The counter as it is.
#[cfg(target_arch = "riscv32")]
pub(crate) fn now() -> u32 {
    let count;
    // SAFETY: reads the counter, which changes nothing.
    unsafe { core::arch::asm!("csrr {}, mcycle", out(reg) count, options(nomem, nostack)) };
    count
}

/// On a host nothing is counted; there are only the tests.
#[cfg(not(target_os = "none"))]
fn start() {}

#[cfg(not(target_os = "none"))]
pub(crate) fn now() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_on_when_the_counter_comes_round() {
        let mut cycles = Cycles { last: 0, rounds: 0 };
        assert_eq!(cycles.extend(u32::MAX), u64::from(u32::MAX));
        assert_eq!(cycles.extend(5), (1 << 32) + 5);
        assert_eq!(cycles.extend(5), (1 << 32) + 5);
        assert_eq!(cycles.extend(4), (2 << 32) + 4);
    }
}
