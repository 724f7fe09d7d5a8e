//! What attention does to the sums of its products on Arm cores with the DSP extension: sums to scores, 15 instructions
//! a position, and sums to contexts, three an element; each loop's end takes two for four more.

use crate::kernel::portable;
use crate::num::Scale;
use core::arch::global_asm;
pub use portable::attention::Begun;

/// Exponents of scales are above the negative of this, but for a zero's, which multiplies a sum of zero.
const SMALLEST: i32 = 150;

unsafe extern "C" {
    /// `quads` times four, one at least.
    fn latimer_dsp_upper(sums: *const i32, out: *mut i32, quads: usize, mantissa: i32, half: i32, shift: i32);
    /// `pairs` times two positions, one at least, until a shift is negative; returns the pairs that are left.
    fn latimer_dsp_scores(
        scores: *mut i32,
        keys: *const Scale,
        values: *const Scale,
        pairs: usize,
        mantissa: u32,
        shift: i32,
        begun: &mut Begun,
    ) -> usize;
}

/// [`portable::attention::begin_scores`].
#[inline(always)]
pub fn begin_scores(mantissa: u32, shift: i32, keys: &[Scale], values: &[Scale], scores: &mut [i32]) -> Begun {
    let pairs = scores.len().min(keys.len()).min(values.len()) / 2;
    let mut begun = Begun::NONE;
    // An ASR takes the shift's lowest byte.
    let fits = shift < 255 - SMALLEST && (keys.as_ptr().addr() | values.as_ptr().addr()).is_multiple_of(4);
    if fits && pairs > 0 {
        // SAFETY: each of the three has two times `pairs` elements, at a multiple of four bytes; the code reads them and
        // writes to `scores` and `begun` only.
        let left = unsafe {
            let (keys, values) = (keys.as_ptr(), values.as_ptr());
            latimer_dsp_scores(scores.as_mut_ptr(), keys, values, pairs, mantissa, shift, &mut begun)
        };
        begun.done = 2 * (pairs - left);
    }
    begun
}

/// [`portable::attention::upper`].
#[inline(always)]
pub fn upper(sums: &[i32], mantissa: i32, half: i32, shift: i32, out: &mut [i32]) {
    let quads = sums.len().min(out.len()) / 4;
    if quads > 0 {
        // SAFETY: both have four times `quads` elements; the code reads the first and writes to the second.
        unsafe { latimer_dsp_upper(sums.as_ptr(), out.as_mut_ptr(), quads, mantissa, half, shift) };
    }
    if let (Some(sums @ [_, ..]), Some(out)) = (sums.get(4 * quads..), out.get_mut(4 * quads..)) {
        portable::attention::upper(sums, mantissa, half, shift, out);
    }
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    .section .text.latimer_dsp_upper, "ax", %progbits
    .balign 4
    .global latimer_dsp_upper
    .type latimer_dsp_upper, %function
    .thumb_func
latimer_dsp_upper:
    push    {{r4-r8, lr}}
    ldrd    r12, lr, [sp, #24]      // half, shift
    // r4-r7 four sums.
1:  ldm     r0!, {{r4-r7}}
    smmla   r4, r4, r3, r12
    smmla   r5, r5, r3, r12
    smmla   r6, r6, r3, r12
    smmla   r7, r7, r3, r12
    asr     r4, r4, lr
    asr     r5, r5, lr
    asr     r6, r6, lr
    asr     r7, r7, lr
    stm     r1!, {{r4-r7}}
    subs    r2, r2, #1
    bne     1b
    pop     {{r4-r8, pc}}
    .size latimer_dsp_upper, . - latimer_dsp_upper

    // r0 scores, r1 scales of keys, r2 of values, r3 pairs left, r4 mantissa, r5 shift, r6 largest score, r7 largest
    // product; r8 r9 two sums, then scores, r10 r11 scales; r12 scratch, lr three.
    .macro LATIMER_DSP_SCORE score, scale
        uxth    r12, \scale
        mul     r12, r12, r4
        subs    \scale, r5, \scale, asr #16
        blt     9f
        smmul   \score, \score, r12
        asr     \score, \score, \scale
    .endm
    // The logarithm of a scale but for a constant: exponent and four times the mantissa. A new largest is rare.
    .macro LATIMER_DSP_PEAK score, scale
        uxth    r12, \scale
        mla     \scale, r12, lr, \scale
        add     \scale, \scale, \score
        cmp     \score, r6
        bgt     91f
92:     cmp     \scale, r7
        bgt     93f
94:
        .subsection 1
91:     mov     r6, \score
        b       92b
93:     mov     r7, \scale
        b       94b
        .previous
    .endm
    .macro LATIMER_DSP_SCORES
        ldrd    r8, r9, [r0]
        ldrd    r10, r11, [r1], #8
        LATIMER_DSP_SCORE r8, r10
        LATIMER_DSP_SCORE r9, r11
        ldrd    r10, r11, [r2], #8
        strd    r8, r9, [r0], #8
        LATIMER_DSP_PEAK r8, r10
        LATIMER_DSP_PEAK r9, r11
    .endm

    .section .text.latimer_dsp_scores, "ax", %progbits
    .balign 4
    .global latimer_dsp_scores
    .type latimer_dsp_scores, %function
    .thumb_func
latimer_dsp_scores:
    push    {{r4-r11, lr}}
    ldrd    r4, r5, [sp, #36]
    mov     r6, #0x80000000
    mov     r7, #0x80000000
    mov     lr, #3
    tst     r3, #1
    beq     1f
    LATIMER_DSP_SCORES
    subs    r3, r3, #1
    beq     9f
1:  LATIMER_DSP_SCORES
    sub     r3, r3, #1
    LATIMER_DSP_SCORES
    subs    r3, r3, #1
    bne     1b
9:  ldr     r4, [sp, #44]
    strd    r6, r7, [r4]
    mov     r0, r3
    pop     {{r4-r11, pc}}
    .size latimer_dsp_scores, . - latimer_dsp_scores

    .purgem LATIMER_DSP_SCORE
    .purgem LATIMER_DSP_PEAK
    .purgem LATIMER_DSP_SCORES
    .text
"#
);
