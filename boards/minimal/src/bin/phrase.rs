//! A phrase through tokenizer, int8 engine and greedy search: the least that translates.
#![no_std]
#![no_main]

use core::hint::black_box;

use heapless::String;
use latimer::{Arena, Error, Model, arena_len, include_blob};
use minimal::{LIMITS, PHRASE, end, say};

static BLOB: &[u8] = include_blob!(env!("LATIMER_BLOB"), section = ".rodata.blob");

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut ARENA: Arena<{ arena_len(BLOB, LIMITS) }> = Arena::new();
    let mut text = String::new();
    match translate(ARENA, &mut text) {
        Ok(()) => say(&["latimer says ", &text]),
        Err(_) => say(&["no translation"]),
    }
    end()
}

fn translate(arena: &'static mut Arena<{ arena_len(BLOB, LIMITS) }>, text: &mut String<256>) -> Result<(), Error> {
    // As in a firmware that finds its model in flash and its phrases on a line: nothing is worked out by the compiler.
    let model = Model::from_bytes(black_box(BLOB))?;
    let mut translator = model.translator(arena.as_mut(), LIMITS)?;
    translator.translate_phrase(black_box(PHRASE.as_bytes()), &mut (), text)?;
    Ok(())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    end()
}
