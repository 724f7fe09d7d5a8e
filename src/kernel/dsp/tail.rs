//! Accumulators of a matrix to outputs on Arm cores with the DSP extension: the product's upper word and its rounding in
//! one step, the bias added with saturation. 16 instructions for two rows, 13 without a bias, and two to end a loop of four
//! rows, or of two without a bias.

use super::aligned;
use crate::kernel::portable;
use core::arch::global_asm;
pub use portable::tail::Requantize;

unsafe extern "C" {
    /// `pairs` times two rows (one at least); scales lie at a multiple of four bytes. No bias where its address is zero.
    fn latimer_dsp_tail(all: &Requantize, scales: *const u16, bias: *const i32, out: *mut i32, pairs: usize);
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    // r1 scales, r2 bias, r3 accumulators and outputs, r0 pairs left (with a bias: twos of them), r4 mantissa, r5 up, r6 half,
    // r7 shift; r8 r9 the two rows.
    .macro LATIMER_DSP_TAIL_PAIR
        ldr     r10, [r1], #4
        ldrd    r8, r9, [r3]
        uxth    r11, r10
        lsr     r10, r10, #16
        mul     r11, r11, r4
        mul     r10, r10, r4
        lsl     r8, r8, r5
        lsl     r9, r9, r5
        smmla   r8, r8, r11, r6
        smmla   r9, r9, r10, r6
        asr     r8, r8, r7
        asr     r9, r9, r7
    .endm
    .macro LATIMER_DSP_TAIL_BIAS
        LATIMER_DSP_TAIL_PAIR
        ldrd    r10, r11, [r2], #8
        qadd    r8, r8, r10
        qadd    r9, r9, r11
        strd    r8, r9, [r3], #8
    .endm

    .section .text.latimer_dsp_tail, "ax", %progbits
    .balign 4
    .global latimer_dsp_tail
    .type latimer_dsp_tail, %function
    .thumb_func
latimer_dsp_tail:
    push    {{r4-r11, lr}}
    ldm     r0, {{r4-r7}}
    ldr     r0, [sp, #36]
    cmp     r2, #0
    beq     4f
    lsrs    r0, r0, #1
    bcc     1f
    LATIMER_DSP_TAIL_BIAS
1:  cmp     r0, #0
    beq     3f
2:  LATIMER_DSP_TAIL_BIAS
    LATIMER_DSP_TAIL_BIAS
    subs    r0, r0, #1
    bne     2b
3:  pop     {{r4-r11, pc}}
4:  LATIMER_DSP_TAIL_PAIR
    strd    r8, r9, [r3], #8
    subs    r0, r0, #1
    bne     4b
    pop     {{r4-r11, pc}}
    .size latimer_dsp_tail, . - latimer_dsp_tail

    .purgem LATIMER_DSP_TAIL_BIAS
    .purgem LATIMER_DSP_TAIL_PAIR
    .text
"#
);

/// [`portable::tail::finish`].
pub fn finish(all: &Requantize, scales: &[u16], bias: &[i32], out: &mut [i32]) {
    let len = out.len().min(scales.len()).min(if bias.is_empty() { usize::MAX } else { bias.len() });
    let pairs = if aligned(scales) { len / 2 } else { 0 };
    let address = if bias.is_empty() { core::ptr::null() } else { bias.as_ptr() };
    if pairs > 0 {
        // SAFETY: all have two times `pairs` elements, bias if it is there at all, and lie at multiples of four bytes; the
        // code reads these and writes to `out` only.
        unsafe { latimer_dsp_tail(all, scales.as_ptr(), address, out.as_mut_ptr(), pairs) };
    }
    let done = 2 * pairs;
    if done < len {
        let (scales, out) = (scales.get(done..).unwrap_or_default(), out.get_mut(done..).unwrap_or_default());
        portable::tail::finish(all, scales, bias.get(done..).unwrap_or_default(), out);
    }
}
