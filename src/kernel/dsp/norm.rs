//! Layer norm's two passes on Arm cores with the DSP extension: products of halves with additions in one step.
//!
//! Without overhead, the first pass takes 19 instructions for four elements, the second 16 for two.

use super::aligned;
use crate::kernel::portable;
use core::arch::global_asm;
pub use portable::norm::{Affine, GUARD, Sums};

unsafe extern "C" {
    /// First pass over `quads` times four elements (one at least): adds to `sums`. `hidden` and `wide` lie at multiples of
    /// four bytes.
    fn latimer_dsp_norm_add(sums: &mut Sums, hidden: *const i16, wide: *mut i32, quads: usize, factor: i32);
    /// Second pass over `pairs` times two elements (one at least), all at multiples of four bytes.
    fn latimer_dsp_norm_apply(
        affine: &Affine,
        wide: *const i32,
        gamma: *const i16,
        beta: *const i32,
        out: *mut i16,
        pairs: usize,
    );
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    .section .text.latimer_dsp_norm_add, "ax", %progbits
    .balign 4
    .global latimer_dsp_norm_add
    .type latimer_dsp_norm_add, %function
    .thumb_func
    // r1 hidden, r2 wide, r3 fours left, r4 sum, r5 seen, r6 r7 squares, r8 factor, r9 r10 hidden, r0 r11 r12 lr wide.
latimer_dsp_norm_add:
    push    {{r0, r4-r11, lr}}
    ldr     r8, [sp, #40]
    ldm     r0, {{r4-r7}}
1:  ldrd    r9, r10, [r1], #8
    ldm     r2, {{r0, r11, r12, lr}}
    smlabb  r0, r9, r8, r0
    smlatb  r11, r9, r8, r11
    smlabb  r12, r10, r8, r12
    smlatb  lr, r10, r8, lr
    add     r4, r4, r0
    smlal   r6, r7, r0, r0
    add     r4, r4, r11
    smlal   r6, r7, r11, r11
    orr     r5, r5, r7
    add     r4, r4, r12
    smlal   r6, r7, r12, r12
    add     r4, r4, lr
    smlal   r6, r7, lr, lr
    orr     r5, r5, r7
    stm     r2!, {{r0, r11, r12, lr}}
    subs    r3, r3, #1
    bne     1b
    pop     {{r0}}
    stm     r0, {{r4-r7}}
    pop     {{r4-r11, pc}}
    .size latimer_dsp_norm_add, . - latimer_dsp_norm_add

    // r1 wide, r2 gamma, r3 beta, r0 out, lr pairs left, r4 up, r5 offset, r6 inverse, r7 beta's factor.
    .macro LATIMER_DSP_NORM_PAIR
        ldrd    r8, r9, [r1], #8
        ldr     r11, [r2], #4
        mla     r8, r8, r4, r5
        mla     r9, r9, r4, r5
        smulwb  r10, r6, r11
        smulwt  r11, r6, r11
        smmul   r8, r8, r10
        smmul   r9, r9, r11
        ldrd    r10, r11, [r3], #8
        mla     r8, r10, r7, r8
        mla     r9, r11, r7, r9
        add     r8, r8, #128
        add     r9, r9, #128
        ssat    r8, #16, r8, asr #8
        ssat    r9, #16, r9, asr #8
        pkhbt   r8, r8, r9, lsl #16
        str     r8, [r0], #4
    .endm

    .section .text.latimer_dsp_norm_apply, "ax", %progbits
    .balign 4
    .global latimer_dsp_norm_apply
    .type latimer_dsp_norm_apply, %function
    .thumb_func
latimer_dsp_norm_apply:
    push    {{r4-r11, lr}}
    ldm     r0, {{r4-r7}}
    ldrd    r0, lr, [sp, #36]
    lsrs    lr, lr, #1
    bcc     2f
    LATIMER_DSP_NORM_PAIR
2:  cmp     lr, #0
    beq     4f
3:  LATIMER_DSP_NORM_PAIR
    LATIMER_DSP_NORM_PAIR
    subs    lr, lr, #1
    bne     3b
4:  pop     {{r4-r11, pc}}
    .size latimer_dsp_norm_apply, . - latimer_dsp_norm_apply

    .purgem LATIMER_DSP_NORM_PAIR
    .text
"#
);

/// [`portable::norm::add`].
pub fn add(hidden: &[i16], wide: &mut [i32], factor: i32) -> Sums {
    let quads = (hidden.len() / 4).min(wide.len() / 4);
    if quads == 0 || !aligned(hidden) || !(0..=256).contains(&factor) {
        return portable::norm::add(hidden, wide, factor);
    }
    let mut sums = Sums::default();
    // SAFETY: both have four times `quads` elements and lie at multiples of four bytes, an i32 always; the code reads and
    // writes nothing else.
    unsafe { latimer_dsp_norm_add(&mut sums, hidden.as_ptr(), wide.as_mut_ptr(), quads, factor) };
    let rest = wide.iter_mut().zip(hidden).skip(4 * quads);
    for (r, &h) in rest {
        sums.seen |= sums.take(r, h, factor);
    }
    sums
}

/// [`portable::norm::apply`].
pub fn apply(affine: &Affine, wide: &[i32], gamma: &[i16], beta: &[i32], out: &mut [i16]) {
    let len = wide.len().min(gamma.len()).min(beta.len()).min(out.len());
    let pairs = if aligned(gamma) && aligned(out) { len / 2 } else { 0 };
    if pairs > 0 {
        // SAFETY: all have two times `pairs` elements and lie at multiples of four bytes, an i32 always; the code reads
        // these and writes to `out` only.
        unsafe {
            latimer_dsp_norm_apply(affine, wide.as_ptr(), gamma.as_ptr(), beta.as_ptr(), out.as_mut_ptr(), pairs);
        }
    }
    let done = 2 * pairs;
    if done < len {
        let (wide, gamma) = (wide.get(done..).unwrap_or_default(), gamma.get(done..).unwrap_or_default());
        let (beta, out) = (beta.get(done..).unwrap_or_default(), out.get_mut(done..).unwrap_or_default());
        portable::norm::apply(affine, wide, gamma, beta, out);
    }
}
