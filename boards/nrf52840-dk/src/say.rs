//! Bytes out of UARTE0 by its registers, for the last words of a firmware.

use core::sync::atomic::{Ordering, compiler_fence};

use hardware::app::Register;

/// UARTE0 (nRF52840 Product Specification, chapter on the UARTE).
const UARTE0: usize = 0x4000_2000;

/// Bytes sent at a time: the unit reads from RAM only, so that they are copied there.
const PIECE: usize = 16;

/// Writes bytes, if the unit was started. No interrupt is on any more.
pub fn say(bytes: &[u8]) {
    // SAFETY: registers of UARTE0, nothing but them: start of sending, its end, enable, address and count.
    let [start, end, enable, address, count] =
        unsafe { [0x008, 0x120, 0x500, 0x544, 0x548].map(|offset| Register::<u32>::at(UARTE0 + offset)) };
    if enable.read() == 0 {
        return;
    }
    // What was on its way when interrupts went off.
    wait(&end);
    for piece in bytes.chunks(PIECE) {
        let mut copy = [0; PIECE];
        for (to, &from) in copy.iter_mut().zip(piece) {
            *to = from;
        }
        address.write(copy.as_ptr().expose_provenance() as u32);
        count.write(piece.len() as u32);
        end.write(0);
        // The copy is written before the unit is told to read it.
        compiler_fence(Ordering::SeqCst);
        start.write(1);
        wait(&end);
    }
}

/// Waits until a piece is sent, a fraction of a second at most.
fn wait(end: &Register<u32>) {
    let _ = (0..1_000_000).find(|_| end.read() != 0);
}
