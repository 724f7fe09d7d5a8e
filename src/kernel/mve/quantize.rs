//! Dynamic quantization: three instructions for the largest of four elements, four or five for their codes.

use super::order::function;
use crate::kernel::portable;
use core::arch::global_asm;
pub use portable::quantize::{Code, Element, Step};

/// The largest of r1 elements from r0 on, which \load puts in `q0`, or of what negative ones lack to -1.
macro_rules! largest {
    ($name:literal, $load:literal) => {
        function!(
            $name,
            "
            push {{r7, lr}}
            mov r2, #0
            mov r3, #0
            wlstp.32 lr, r1, 3f
            2:
            ",
            $load,
            "
            vmaxv.s32 r2, q0
            vminv.s32 r3, q0
            letp lr, 2b
            3:
            mvn r3, r3
            cmp r2, r3
            ite gt
            movgt r0, r2
            movle r0, r3
            pop {{r7, pc}}
            "
        );
    };
}

largest!("latimer_mve_largest_i32", "vldrw.u32 q0, [r0], #16");
largest!("latimer_mve_largest_i16", "vldrh.s32 q0, [r0], #8");

/// r0 the step, r3 elements from r1 on to codes from r2 on; `q1` the inverse, r4 the inverse, r5 bits up, r12 bits down as a
/// negative number.
macro_rules! codes {
    ($name:literal, $load:literal, $product:literal, $store:literal) => {
        function!(
            $name,
            "
            push {{r4, r5, r7, lr}}
            ldm r0, {{r4, r5, r12}}
            rsb r12, r12, #0
            vdup.32 q1, r4
            wlstp.32 lr, r3, 3f
            2:
            ",
            $load,
            $product,
            "vrshl.s32 q0, r12",
            $store,
            "
            letp lr, 2b
            3:
            pop {{r4, r5, r7, pc}}
            "
        );
    };
}

macro_rules! codes_of {
    ($low:literal, $high:literal, $load:literal, $store:literal) => {
        codes!($low, $load, "vmul.i32 q0, q0, r4", $store);
        codes!(
            $high,
            $load,
            "
            vshl.s32 q0, r5
            vmulh.s32 q0, q0, q1
            ",
            $store
        );
    };
}

codes_of!("latimer_mve_low_16_16", "latimer_mve_high_16_16", "vldrh.s32 q0, [r1], #8", "vstrh.32 q0, [r2], #8");
codes_of!("latimer_mve_low_32_16", "latimer_mve_high_32_16", "vldrw.u32 q0, [r1], #16", "vstrh.32 q0, [r2], #8");
codes_of!("latimer_mve_low_32_8", "latimer_mve_high_32_8", "vldrw.u32 q0, [r1], #16", "vstrb.32 q0, [r2], #4");

unsafe extern "C" {
    /// Of `len` i32.
    fn latimer_mve_largest_i32(x: *const u8, len: usize) -> i32;
    /// Of `len` i16.
    fn latimer_mve_largest_i16(x: *const u8, len: usize) -> i32;
}

/// Codes of `len` elements.
type Codes = unsafe extern "C" fn(step: &Step, x: *const u8, out: *mut u8, len: usize);

unsafe extern "C" {
    // From products; i16 to i16, i32 to i16, i32 to bytes.
    fn latimer_mve_low_16_16(step: &Step, x: *const u8, out: *mut u8, len: usize);
    fn latimer_mve_low_32_16(step: &Step, x: *const u8, out: *mut u8, len: usize);
    fn latimer_mve_low_32_8(step: &Step, x: *const u8, out: *mut u8, len: usize);
    // From their upper words.
    fn latimer_mve_high_16_16(step: &Step, x: *const u8, out: *mut u8, len: usize);
    fn latimer_mve_high_32_16(step: &Step, x: *const u8, out: *mut u8, len: usize);
    fn latimer_mve_high_32_8(step: &Step, x: *const u8, out: *mut u8, len: usize);
}

/// [`portable::quantize::largest`].
#[inline(always)]
pub fn largest<E: Element>(x: &[E]) -> i32 {
    // SAFETY: there are as many elements, of two bytes or of four.
    unsafe {
        match size_of::<E>() {
            2 => latimer_mve_largest_i16(x.as_ptr().cast(), x.len()),
            _ => latimer_mve_largest_i32(x.as_ptr().cast(), x.len()),
        }
    }
}

/// [`portable::quantize::from_products`].
#[inline(always)]
pub fn from_products<E: Element, C: Code>(step: Step, x: &[E], out: &mut [C]) {
    let codes: Codes = match (size_of::<E>(), size_of::<C>()) {
        (2, 2) => latimer_mve_low_16_16,
        (4, 2) => latimer_mve_low_32_16,
        (4, 1) => latimer_mve_low_32_8,
        _ => return portable::quantize::from_products(step, x, out),
    };
    // SAFETY: both have as many, of the sizes that the code is for; the second is written.
    unsafe { codes(&step, x.as_ptr().cast(), out.as_mut_ptr().cast(), x.len().min(out.len())) }
}

/// [`portable::quantize::from_upper_words`].
#[inline(always)]
pub fn from_upper_words<E: Element, C: Code>(step: Step, x: &[E], out: &mut [C]) {
    let codes: Codes = match (size_of::<E>(), size_of::<C>()) {
        (2, 2) => latimer_mve_high_16_16,
        (4, 2) => latimer_mve_high_32_16,
        (4, 1) => latimer_mve_high_32_8,
        _ => return portable::quantize::from_upper_words(step, x, out),
    };
    // SAFETY: both have as many, of the sizes that the code is for; the second is written.
    unsafe { codes(&step, x.as_ptr().cast(), out.as_mut_ptr().cast(), x.len().min(out.len())) }
}
