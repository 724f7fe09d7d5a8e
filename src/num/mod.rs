//! Fixed-point arithmetic of the int8 engine: one rounding rule, and functions with stated error bounds.
//!
//! A value in *Qn* is an integer `v` that stands for `v * 2^-n`; the documentation of each function gives the
//! formats. Every function here is total: any argument gives a result, no argument panics, in debug builds too.

pub mod exp2;
#[cfg(feature = "f16")]
pub mod half_float;
pub mod log2;
pub mod rsqrt;
pub mod scale;
pub mod sine;
pub mod soft_float;

pub use exp2::{exp2_neg, exp2_parts};
pub use log2::{ln, log2, pow};
pub use rsqrt::{Rsqrt, rsqrt};
pub use scale::{Multiplier, Scale};
pub use sine::{quarter_turn, sine, sine_cosine};

/// `x / 2^shift`, rounded half up: the one rounding rule of the int8 engine.
///
/// A negative shift multiplies, saturating at the ends of `i64`.
#[inline(always)]
pub const fn round_shift(x: i64, shift: i32) -> i64 {
    match shift {
        // The half is the last bit shifted out; adding it afterwards cannot overflow.
        1..=62 => (x >> shift) + ((x >> (shift - 1)) & 1),
        _ => shift_far(x, shift),
    }
}

/// What is left of [`round_shift`]: once in a firmware and not in each of the places that it is inlined into.
#[cold]
#[inline(never)]
const fn shift_far(x: i64, shift: i32) -> i64 {
    if shift > 0 { 0 } else { shift_left(x, shift.unsigned_abs()) }
}

/// `x * 2^shift`, saturating.
#[inline]
const fn shift_left(x: i64, shift: u32) -> i64 {
    if x == 0 || shift == 0 {
        return x;
    }
    if shift > 62 || (x.unsigned_abs().leading_zeros() <= shift) {
        return if x < 0 { i64::MIN } else { i64::MAX };
    }
    x << shift
}

/// The nearest `i32`.
#[inline(always)]
pub const fn saturate_i32(x: i64) -> i32 {
    if x > i32::MAX as i64 {
        i32::MAX
    } else if x < i32::MIN as i64 {
        i32::MIN
    } else {
        x as i32
    }
}

/// The nearest `i16`.
#[inline(always)]
pub const fn saturate_i16(x: i32) -> i16 {
    if x > i16::MAX as i32 {
        i16::MAX
    } else if x < i16::MIN as i32 {
        i16::MIN
    } else {
        x as i16
    }
}

/// The upper word of a product, `floor(a * b / 2^32)`: one instruction on most cores.
#[inline(always)]
pub const fn high_product(a: i32, b: i32) -> i32 {
    ((a as i64 * b as i64) >> 32) as i32
}

/// `acc * mantissa * 2^-shift`, rounded once and saturated.
///
/// `acc` is an i32 accumulator, `mantissa` is below 2^31: the product stays inside i64.
#[inline(always)]
pub const fn requantize(acc: i32, mantissa: u32, shift: i32) -> i32 {
    let product = acc as i64 * (mantissa & 0x7fff_ffff) as i64;
    match shift {
        // The product is below 2^62, so that half can be added before the shift.
        1..=62 => saturate_i32((product + (1 << (shift - 1))) >> shift),
        _ => saturate_i32(round_shift(product, shift)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounds_half_up() {
        assert_eq!([5, 6, 7, -5, -6, -7].map(|x| round_shift(x, 2)), [1, 2, 2, -1, -1, -2]);
        assert_eq!(round_shift(-2, 2), 0);
        assert_eq!(round_shift(i64::MAX, 1), 1 << 62);
        assert_eq!(round_shift(i64::MIN, 62), -2);
        assert_eq!(round_shift(i64::MAX, 63), 0);
        assert_eq!(round_shift(3, -4), 48);
        assert_eq!(round_shift(-3, -70), i64::MIN);
        assert_eq!(round_shift(1, -63), i64::MAX);
        assert_eq!(round_shift(i64::MIN, -1), i64::MIN);
    }

    proptest! {
        #[test]
        fn round_shift_equals_the_definition(x in any::<i64>(), shift in 1i32..62) {
            let wide = (x as i128 + (1i128 << (shift - 1))) >> shift;
            prop_assert_eq!(round_shift(x, shift) as i128, wide);
        }

        #[test]
        fn left_shift_equals_saturation(x in any::<i64>(), shift in 0i32..62) {
            let wide = (x as i128) << shift;
            let want = wide.clamp(i64::MIN as i128, i64::MAX as i128);
            let got = round_shift(x, -shift) as i128;
            // The last representable power of two may saturate one step early.
            prop_assert!(got == want || (got == i64::MIN as i128 && want < i64::MIN as i128 / 2 + 1), "{} {}", got, want);
        }

        #[test]
        fn requantize_is_total(acc in any::<i32>(), mantissa in any::<u32>(), shift in any::<i32>()) {
            requantize(acc, mantissa, shift.clamp(-300, 300));
        }

        #[test]
        fn requantize_equals_the_rounding_rule(acc in any::<i32>(), mantissa in 0u32..1 << 31, shift in -3i32..70) {
            let want = saturate_i32(round_shift(acc as i64 * mantissa as i64, shift));
            prop_assert_eq!(requantize(acc, mantissa, shift), want);
        }
    }
}
