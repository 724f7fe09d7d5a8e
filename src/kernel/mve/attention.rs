//! What attention does to the sums of its products: four positions' scores take twenty instructions, four elements of a
//! context five.

use super::order::function;
use crate::kernel::portable;
use crate::num::Scale;
use core::arch::global_asm;
pub use portable::attention::Begun;

// r0 scores, r1 scales of keys, r2 of values, r3 positions; r4 mantissa, r5 shift, r6 largest score, r7 largest product, r10
// three; `q4` the most that is shifted right.
function!(
    "latimer_mve_scores",
    "
    push {{r4-r10, lr}}
    ldrd r4, r5, [sp, #32]
    vpush {{d8, d9}}
    mov r6, #0x80000000
    mov r7, #0x80000000
    mvn r8, #30
    vdup.32 q4, r8
    mov r10, #3
    wlstp.32 lr, r3, 3f
    2:
    vldrw.u32 q0, [r1], #16
    mov r9, #0
    vshr.s32 q1, q0, #16
    vsub.i32 q1, q1, r5
    vmaxv.s32 r9, q1
    cmp r9, #0
    bgt 4f
    vmovlb.u16 q0, q0
    vldrw.u32 q2, [r0]
    vmul.i32 q0, q0, r4
    vmax.s32 q1, q1, q4
    vmulh.s32 q2, q2, q0
    vldrw.u32 q3, [r2], #16
    vshl.s32 q2, q2, q1
    vmovlb.u16 q0, q3
    vstrw.32 q2, [r0], #16
    vmla.s32 q3, q0, r10
    vmaxv.s32 r6, q2
    vadd.i32 q3, q3, q2
    vmaxv.s32 r7, q3
    letp lr, 2b
    3:
    vpop {{d8, d9}}
    ldr r4, [sp, #40]
    strd r6, r7, [r4]
    pop {{r4-r10, pc}}
    4:
    lctp
    b 3b
    "
);

unsafe extern "C" {
    /// `len` positions, until a shift of four is negative; returns the first score that is not made, or the end.
    fn latimer_mve_scores(
        scores: *mut i32,
        keys: *const Scale,
        values: *const Scale,
        len: usize,
        mantissa: u32,
        shift: i32,
        begun: &mut Begun,
    ) -> *const i32;
}

/// [`portable::attention::begin_scores`].
#[inline(always)]
pub fn begin_scores(mantissa: u32, shift: i32, keys: &[Scale], values: &[Scale], scores: &mut [i32]) -> Begun {
    let len = scores.len().min(keys.len()).min(values.len());
    let mut begun = Begun::NONE;
    // Vectors of words are loaded from multiples of four bytes.
    if (keys.as_ptr().addr() | values.as_ptr().addr()).is_multiple_of(4) {
        let start = scores.as_ptr();
        // SAFETY: each of the three has `len` elements, at a multiple of four bytes; the code reads them and writes to
        // `scores` and `begun` only.
        let end = unsafe {
            let (keys, values) = (keys.as_ptr(), values.as_ptr());
            latimer_mve_scores(scores.as_mut_ptr(), keys, values, len, mantissa, shift, &mut begun)
        };
        // Fours are counted whole, the last one too.
        begun.done = len.min((end.addr() - start.addr()) / size_of::<i32>());
    }
    begun
}

function!(
    "latimer_mve_upper",
    "
    push {{r4, lr}}
    ldrd r12, r4, [sp, #8]
    rsb r4, r4, #0
    vdup.32 q1, r3
    wlstp.32 lr, r2, 3f
    2:
    vldrw.u32 q0, [r0], #16
    vmulh.s32 q0, q0, q1
    vadd.i32 q0, q0, r12
    vshl.s32 q0, r4
    vstrw.32 q0, [r1], #16
    letp lr, 2b
    3:
    pop {{r4, pc}}
    "
);

unsafe extern "C" {
    /// `len` elements.
    fn latimer_mve_upper(sums: *const i32, out: *mut i32, len: usize, mantissa: i32, half: i32, shift: i32);
}

/// [`portable::attention::upper`](crate::kernel::portable::attention::upper).
#[inline(always)]
pub fn upper(sums: &[i32], mantissa: i32, half: i32, shift: i32, out: &mut [i32]) {
    let len = sums.len().min(out.len());
    // SAFETY: both have as many elements; the second is written.
    unsafe { latimer_mve_upper(sums.as_ptr(), out.as_mut_ptr(), len, mantissa, half, shift) }
}
