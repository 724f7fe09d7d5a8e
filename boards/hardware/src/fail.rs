//! The end of a firmware that can't go on.

use core::convert::Infallible;
use core::fmt::Display;
use core::marker::PhantomData;

use embedded_io::{ErrorType, Write};

use crate::{Machine, cycles};

/// Reports `what` over the console and over `defmt`, and resets the chip: for panic and fault handlers.
pub fn fail<M: Machine>(what: impl Display) -> ! {
    // What interrupts would write comes in between else.
    #[cfg(target_arch = "arm")]
    cortex_m::interrupt::disable();
    #[cfg(feature = "defmt")]
    defmt::error!("fatal: {}", defmt::Display2Format(&what));
    app::last_words(&mut Voice::<M>(PhantomData), what);
    // For a probe that reads, and so that a fault at every start doesn't fill a terminal.
    pause(M::CLOCK_HZ);
    M::reset()
}

/// Waits for so many cycles.
pub fn pause(cycles: u32) {
    let start = cycles::now();
    while cycles::now().wrapping_sub(start) < cycles {}
}

/// What a hard fault is: the Configurable Fault Status Register (Armv7-M Architecture Reference Manual, B3.2.15).
#[cfg(target_arch = "arm")]
pub fn fault_status() -> u32 {
    // SAFETY: a register of the system control block, which may be read at any time.
    unsafe { app::Register::<u32>::at(0xE000_ED28) }.read()
}

/// What an exception is: `mcause`, `mepc` and `mtval`.
#[cfg(target_arch = "riscv32")]
pub fn fault_status() -> [usize; 3] {
    let (cause, pc, value);
    // SAFETY: reads registers, which changes nothing.
    unsafe {
        core::arch::asm!("csrr {}, mcause", "csrr {}, mepc", "csrr {}, mtval", out(reg) cause, out(reg) pc, out(reg) value,
            options(nomem, nostack));
    }
    [cause, pc, value]
}

/// What a [`Machine`] says when nothing can be relied on.
struct Voice<M>(PhantomData<M>);

impl<M> ErrorType for Voice<M> {
    type Error = Infallible;
}

impl<M: Machine> Write for Voice<M> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        M::say(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
