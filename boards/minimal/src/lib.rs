//! What both of the smallest firmwares need beside the runtime: a model, a UART, an end for panics.
//!
//! The binaries depend on `cortex-m-rt`, `heapless` and `latimer`, which [`firmware!`] asks for by name.
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

/// A firmware that has its translator put [`PHRASE`] into a text and says that; `$translate` does it.
#[macro_export]
macro_rules! firmware {
    (|$translator:ident, $text:ident| $translate:expr) => {
        use core::hint::black_box;

        use heapless::String;
        use latimer::{Arena, Error, Model, arena_len, include_blob};
        use $crate::{LIMITS, PHRASE, end, say};

        static BLOB: &[u8] = include_blob!(env!("LATIMER_BLOB"), section = ".rodata.blob");

        #[cortex_m_rt::entry]
        fn main() -> ! {
            static mut ARENA: Arena<{ arena_len(BLOB, LIMITS) }> = Arena::new();
            let mut text = String::new();
            match translate(ARENA.as_mut(), &mut text) {
                Ok(()) => say(&["latimer says ", &text]),
                Err(_) => say(&["no translation"]),
            }
            end()
        }

        fn translate(arena: &'static mut [u8], $text: &mut String<256>) -> Result<(), Error> {
            // As in a firmware that finds its model in flash and its phrases on a line: nothing is worked out by the compiler.
            let model = Model::from_bytes(black_box(BLOB))?;
            let mut $translator = model.translator(arena, LIMITS)?;
            $translate?;
            Ok(())
        }

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            end()
        }
    };
}
