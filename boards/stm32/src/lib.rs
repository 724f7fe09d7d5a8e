//! What the STM32 boards have in common, whatever the chip. Built, not run on hardware.
#![no_std]

mod devices;
mod say;

pub use devices::{Queues, Stm32};
pub use embassy_stm32;
pub use hardware;
pub use say::say;

/// Turns the core's caches on: without them a Cortex-M7 waits for flash at every turn.
pub fn enable_caches() {
    // SAFETY: the system control block and the registers of the caches and CPUID, which no one else uses this early.
    let mut core = unsafe { cortex_m::Peripherals::steal() };
    core.SCB.enable_icache();
    core.SCB.enable_dcache(&mut core.CPUID);
}

/// Resets the chip.
pub fn reset() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
