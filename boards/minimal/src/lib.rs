//! What both of the smallest firmwares need beside the runtime: a model, a UART, an end for panics.
#![no_std]

use core::hint::spin_loop;
use core::ptr::without_provenance_mut;

use latimer::Limits;

/// 64 tokens either way.
pub const LIMITS: Limits = Limits::DEFAULT;

/// What is translated.
pub static PHRASE: &str = "Where is the train station?";

/// UART0 of the MPS2 boards (Arm DDI 0479, section 4.3): data, state and control.
const UART: usize = 0x4000_4000;

/// Puts one byte out and waits for it.
fn send(byte: u8) {
    let register = |offset| without_provenance_mut::<u32>(UART + offset);
    // SAFETY: the registers of the board's UART, which nothing else uses.
    unsafe {
        register(0x8).write_volatile(0b1);
        register(0x10).write_volatile(16);
        register(0).write_volatile(byte.into());
        while register(4).read_volatile() & 1 != 0 {}
    }
}

/// Writes a line.
pub fn say(parts: &[&str]) {
    parts.iter().flat_map(|part| part.bytes()).chain([b'\n']).for_each(send);
}

/// There is nothing more to do.
pub fn end() -> ! {
    loop {
        spin_loop();
    }
}
