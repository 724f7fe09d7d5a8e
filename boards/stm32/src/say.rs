//! Bytes out of a USART by its registers, for the last words of a firmware.

use hardware::app::Register;

/// Writes bytes to a USART with registers as on the STM32F7 and STM32H7, at `base`. A transmitter that is off is left alone:
/// then nothing can be said.
///
/// RM0385 and RM0433, chapters on the USART: control register 1 at 0x00 (bit 0 enables the unit, bit 3 the transmitter), status
/// at 0x1C (bit 6: all sent, bit 7: room for a byte), data to send at 0x28.
///
/// # Safety
/// A USART of this kind with its clock on must be there, and no one may write to it meanwhile.
pub unsafe fn say(base: usize, bytes: &[u8]) {
    // SAFETY: by the caller's promise these are its registers, nothing but them.
    let [control, status, data] = unsafe { [0x00, 0x1C, 0x28].map(|offset| Register::<u32>::at(base + offset)) };
    if control.read() & 0b1001 != 0b1001 {
        return;
    }
    for &byte in bytes {
        wait(&status, 1 << 7);
        data.write(byte.into());
    }
    wait(&status, 1 << 6);
}

/// Waits for a bit, some milliseconds at most.
fn wait(status: &Register<u32>, bit: u32) {
    let _ = (0..1_000_000).find(|_| status.read() & bit != 0);
}
