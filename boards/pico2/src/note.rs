//! A note that outlasts a reset: what the firmware said when it came to its end.

use core::mem::take as swap_out;
use core::ptr::with_exposed_provenance_mut;

/// SRAM8, which the program's memory map leaves alone (RP2350 datasheet, chapter on memory).
const ADDRESS: usize = 0x2008_0000;

/// Tells a note from what RAM holds when power comes.
const MARK: u32 = 0x6E6F_7465;

/// Integers only, for which any content of RAM is valid.
struct Note {
    mark: u32,
    len: usize,
    bytes: [u8; 256],
}

/// Adds bytes, as far as there is room.
pub fn add(bytes: &[u8]) {
    // SAFETY: the program is at its end; no other reference is in use.
    let note = unsafe { note() };
    if note.mark != MARK {
        (note.mark, note.len) = (MARK, 0);
    }
    for (to, &from) in note.bytes.iter_mut().skip(note.len).zip(bytes) {
        *to = from;
        note.len += 1;
    }
}

/// Takes the note, if there is one. Is called once, at the start.
pub fn take() -> Option<&'static [u8]> {
    // SAFETY: the program has just started; no other reference is in use.
    let note = unsafe { note() };
    let is_one = swap_out(&mut note.mark) == MARK;
    note.bytes.get(..note.len).filter(|_| is_one)
}

/// # Safety
/// No other reference to the note may be in use.
unsafe fn note() -> &'static mut Note {
    // SAFETY: RAM of the chip, aligned, that neither the linker nor anything else uses.
    unsafe { &mut *with_exposed_provenance_mut(ADDRESS) }
}
