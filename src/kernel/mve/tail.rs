//! Accumulators of a matrix to outputs: ten instructions for four rows, eight without a bias.

use super::order::function;
use crate::kernel::portable;
use core::arch::global_asm;
pub use portable::tail::Requantize;

/// The loop over four rows, the last ones perhaps fewer: r0 mantissa, r12 bits up, r4 bits down as a negative number, r1
/// scales, r2 bias, r3 accumulators and outputs.
macro_rules! rows {
    ($bias:literal) => {
        concat!(
            "
            2:
            vldrh.u32 q0, [r1], #8
            vmul.i32 q0, q0, r0
            vldrw.u32 q1, [r3]
            vshl.s32 q1, r12
            vmulh.s32 q1, q1, q0
            vrshl.s32 q1, r4
            ",
            $bias,
            "
            vstrw.32 q1, [r3], #16
            letp lr, 2b
            3:
            pop {{r4, pc}}
            "
        )
    };
}

function!(
    "latimer_mve_tail",
    "
    push {{r4, lr}}
    ldr lr, [sp, #8]
    ldr r4, [r0, #12]
    ldrd r0, r12, [r0]
    rsb r4, r4, #0
    cbz r2, 4f
    wlstp.32 lr, lr, 3f
    ",
    rows!(
        "
        vldrw.u32 q0, [r2], #16
        vqadd.s32 q1, q1, q0
        "
    ),
    "
    4:
    wlstp.32 lr, lr, 3f
    ",
    rows!("")
);

unsafe extern "C" {
    /// `len` rows. No bias where its address is zero.
    fn latimer_mve_tail(all: &Requantize, scales: *const u16, bias: *const i32, out: *mut i32, len: usize);
}

/// [`portable::tail::finish`].
pub fn finish(all: &Requantize, scales: &[u16], bias: &[i32], out: &mut [i32]) {
    let len = out.len().min(scales.len()).min(if bias.is_empty() { usize::MAX } else { bias.len() });
    let bias = if bias.is_empty() { core::ptr::null() } else { bias.as_ptr() };
    // SAFETY: all have so many elements, bias if it is there at all; `out` alone is written.
    unsafe { latimer_mve_tail(all, scales.as_ptr(), bias, out.as_mut_ptr(), len) }
}
