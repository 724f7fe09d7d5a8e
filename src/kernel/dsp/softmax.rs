//! The inner loop of softmax: 22 instructions a position, and two for each four.

use super::aligned;
use super::portable;
use crate::num::Scale;
use crate::num::exp2::PARTS;
use core::arch::global_asm;

/// [`portable::softmax`].
pub fn softmax(one: i32, align: i32, scores: &[i32], scales: &[Scale], weights: &mut [i16]) -> u64 {
    let count = scores.len().min(scales.len()).min(weights.len());
    if count == 0 || !aligned(scales) {
        return portable::softmax(one, align, scores, scales, weights);
    }
    // SAFETY: each of the three has `count` elements, one at least; scores and scales are at multiples of four bytes.
    unsafe { latimer_dsp_softmax(scores.as_ptr(), scales.as_ptr(), weights.as_mut_ptr(), count, one, align) }
}

unsafe extern "C" {
    /// Writes `count` weights, one at least, and returns the sum of the numerators.
    fn latimer_dsp_softmax(
        scores: *const i32,
        scales: *const Scale,
        weights: *mut i16,
        count: usize,
        one: i32,
        align: i32,
    ) -> u64;
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    // r0 scores, r1 scales, r2 weights, r3 positions, then over four, r4 one, r5-r8 coefficients, r9 r10 sum, on the
    // stack the alignment; r11 power of two, then shift; r12 fraction, then scale; lr mantissa, then product.
    .macro LATIMER_DSP_WEIGHT
        ldr     r11, [r0], #4
        sub     r11, r4, r11
        lsl     r12, r11, #16
        add     r11, r11, #0x8000
        usat    r11, #7, r11, asr #16
        smmla   lr, r5, r12, r6
        smmla   lr, lr, r12, r7
        smmla   lr, lr, r12, r8
        smmul   lr, lr, r12
        add     lr, lr, #0x40000000
        lsr     r12, lr, r11
        adds    r9, r9, r12
        adc     r10, r10, #0
        ldr     r12, [r1], #4
        sub     r11, r11, r12, asr #16
        lsl     r12, r12, #16
        umull   r12, lr, lr, r12
        ldr     r12, [sp]
        add     r11, r11, r12
        // The last bit shifted out is the half that rounds up.
        lsrs    lr, lr, r11
        adc     lr, lr, #0
        strh    lr, [r2], #2
    .endm

    .section .text.latimer_dsp_softmax, "ax", %progbits
    .balign 4
    .global latimer_dsp_softmax
    .type latimer_dsp_softmax, %function
    .thumb_func
latimer_dsp_softmax:
    push    {{r3-r11, lr}}          // the lowest is room for the alignment
    ldrd    r4, r5, [sp, #40]
    str     r5, [sp]
    adr     r5, 3f
    ldm     r5, {{r5-r8}}
    mov     r9, #0
    mov     r10, #0
    tst     r3, #1
    beq     1f
    LATIMER_DSP_WEIGHT
1:  tst     r3, #2
    beq     2f
    LATIMER_DSP_WEIGHT
    LATIMER_DSP_WEIGHT
2:  lsrs    r3, r3, #2
    beq     5f
4:  LATIMER_DSP_WEIGHT
    LATIMER_DSP_WEIGHT
    LATIMER_DSP_WEIGHT
    LATIMER_DSP_WEIGHT
    subs    r3, r3, #1
    bne     4b
5:  mov     r0, r9
    mov     r1, r10
    pop     {{r3-r11, pc}}
    .balign 4
    // The last coefficient is one.
3:  .word   {fourth}, {third}, {second}, {first}
    .size latimer_dsp_softmax, . - latimer_dsp_softmax

    .purgem LATIMER_DSP_WEIGHT
    .text
"#,
    fourth = const PARTS[4],
    third = const PARTS[3],
    second = const PARTS[2],
    first = const PARTS[1],
);
