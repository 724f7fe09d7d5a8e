//! What attention does to the sums of its products.

use crate::kernel::specialized;
use crate::num::{Scale, high_product};

/// The first positions of a head, whose scores are made.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Begun {
    /// Their largest score, Q16.
    pub score: i32,
    /// The largest sum of a score and `(exponent << 16) + 4 * mantissa` of its value's scale.
    pub product: i32,
    /// How many they are.
    pub done: usize,
}

impl Begun {
    /// No position.
    pub const NONE: Self = Begun { score: i32::MIN, product: i32::MIN, done: 0 };
}

/// Makes scores of as many sums as the kernel likes, here none: `sum * mantissa * key.mantissa * 2^-32` shifted right by
/// `shift - key.exponent`, both rounded down. It stops before a shift that is negative; the caller makes the others.
///
/// Exponents of scales are above -150, but for those of zeros: formats have -16 to 30 fraction bits.
#[inline(always)]
pub const fn begin_scores(_: u32, _: i32, _: &[Scale], _: &[Scale], _: &mut [i32]) -> Begun {
    Begun::NONE
}

/// The upper words of `sum * mantissa`, plus `half`, shifted right by 1 ..= 30.
// Not inlined: a compiler that sees where the mantissa comes from multiplies 64 bits.
#[inline(never)]
pub fn upper(sums: &[i32], mantissa: i32, half: i32, shift: i32, out: &mut [i32]) {
    specialized(
        #[inline(always)]
        || {
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out = high_product(sum, mantissa).wrapping_add(half) >> shift;
            }
        },
    );
}
