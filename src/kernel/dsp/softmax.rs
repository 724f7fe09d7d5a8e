//! The inner loop of softmax: 23 instructions a position.

use super::portable;
use crate::num::Scale;
use crate::num::exp2::PARTS;
use core::arch::global_asm;

/// [`portable::softmax`].
pub fn softmax(one: i32, align: i32, scores: &[i32], scales: &[Scale], weights: &mut [i16]) -> u64 {
    let count = scores.len().min(scales.len()).min(weights.len());
    if count == 0 || scales.as_ptr().addr() % 4 != 0 {
        return portable::softmax(one, align, scores, scales, weights);
    }
    let job = Job {
        scores: scores.as_ptr(),
        scales: scales.as_ptr(),
        weights: weights.as_mut_ptr(),
        count,
        one,
        coefficients: [PARTS[4], PARTS[3], PARTS[2], PARTS[1]],
        align,
    };
    // SAFETY: each of the three has `count` elements, one at least; scores and scales are at multiples of four bytes.
    unsafe { latimer_dsp_softmax(&job) }
}

#[repr(C)]
struct Job {
    scores: *const i32,
    scales: *const Scale,
    weights: *mut i16,
    count: usize,
    one: i32,
    /// Of `exp2_parts`, the highest power first; the last is one.
    coefficients: [i32; 4],
    align: i32,
}

unsafe extern "C" {
    /// Writes the weights and returns the sum of the numerators.
    fn latimer_dsp_softmax(job: &Job) -> u64;
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    // r0 scores, r1 scales, r2 weights, r3 pairs, r4 one, r5-r8 coefficients, r9 r10 sum, on the stack the alignment;
    // r11 power of two, then shift; r12 fraction, then scale; lr mantissa, then product.
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
    push    {{r3-r11, lr}}
    ldr     r1, [r0, #36]
    str     r1, [sp]
    ldm     r0, {{r0-r8}}
    mov     r9, #0
    mov     r10, #0
    tst     r3, #1
    add     r3, r3, #1
    lsr     r3, r3, #1
    bne     2f
1:  LATIMER_DSP_WEIGHT
2:  LATIMER_DSP_WEIGHT
    subs    r3, r3, #1
    bne     1b
    mov     r0, r9
    mov     r1, r10
    pop     {{r3-r11, pc}}

    .purgem LATIMER_DSP_WEIGHT
    .text
"#
);
