//! Powers of two in fixed point, for softmax and swish.

use super::high_product;

/// Coefficients of 2^f on [0, 1], Q30: a weighted least-squares fit on Chebyshev nodes that is exact at both ends,
/// so that the function has no step where the integer part changes.
const C: [i64; 6] = [1 << 30, 744_267_336, 257_856_477, 59_972_082, 9_610_588, 2_035_341];

/// `2^x` for `x <= 0`: argument in Q16, result in Q30 (at most 2^30). Positive arguments count as zero.
///
/// Absolute error at most 2e-7; exact at integers.
///
/// ```
/// assert_eq!(latimer::num::exp2_neg(0), 1 << 30);
/// assert_eq!(latimer::num::exp2_neg(-3 << 16), 1 << 27);
/// ```
#[inline]
pub const fn exp2_neg(x: i32) -> u32 {
    if x >= 0 {
        return 1 << 30;
    }
    let whole = -(x >> 16);
    if whole > 30 {
        return 0;
    }
    // Horner's rule; every step stays below 2^31 * 2^16.
    let f = (x & 0xffff) as i64;
    let mut y = C[5];
    y = C[4] + ((y * f) >> 16);
    y = C[3] + ((y * f) >> 16);
    y = C[2] + ((y * f) >> 16);
    y = C[1] + ((y * f) >> 16);
    y = C[0] + ((y * f) >> 16);
    super::round_shift(y, whole) as u32
}

/// Coefficients of 2^-s on [-1/2, 1/2], Q30: exact at zero and with the same value on both sides of the end; between, the
/// largest relative error is the least.
pub(crate) const PARTS: [i32; 5] = [1 << 30, -744_227_564, 257_946_754, -60_090_246, 10_346_798];

/// `2^-x` for `x` in Q16 as a mantissa in Q30, from `sqrt(1/2)` to `sqrt(2)`, and the right shift that it needs. Negative
/// arguments give nothing of use.
///
/// Relative error at most 4e-6. Only products of 32 bits whose upper halves count, which most cores have an instruction for.
///
/// ```
/// assert_eq!(latimer::num::exp2_parts(3 << 16), (1 << 30, 3));
/// ```
#[inline(always)]
pub const fn exp2_parts(x: i32) -> (u32, u32) {
    // The nearest whole number, and a signed rest in Q32.
    let whole = (x as u32).wrapping_add(0x8000) >> 16;
    let s = x << 16;
    let mut y = PARTS[4];
    y = PARTS[3] + high_product(y, s);
    y = PARTS[2] + high_product(y, s);
    y = PARTS[1] + high_product(y, s);
    y = PARTS[0] + high_product(y, s);
    (y as u32, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_within_the_stated_bound() {
        let mut worst = 0f64;
        for x in (-20 << 16)..=0 {
            let got = exp2_neg(x) as f64 / (1u64 << 30) as f64;
            worst = worst.max((got - (x as f64 / 65536.0).exp2()).abs());
        }
        assert!(worst < 2e-7, "{worst}");
    }

    #[test]
    fn parts_are_within_the_stated_bound() {
        let mut worst = 0f64;
        let value = |x| {
            let (mantissa, whole) = exp2_parts(x);
            f64::from(mantissa) * 2f64.powi(-30 - whole as i32)
        };
        for x in 0..3 << 16 {
            worst = worst.max((value(x) * (f64::from(x) / 65536.0).exp2() - 1.0).abs());
            assert!(value(x + 1) <= value(x), "{x}");
        }
        assert!(worst < 4e-6, "{worst}");
    }

    #[test]
    fn never_decreases_and_ends_at_zero() {
        assert_eq!(exp2_neg(i32::MIN), 0);
        assert_eq!(exp2_neg(5), 1 << 30);
        for x in (-3 << 16)..0 {
            assert!(exp2_neg(x) <= exp2_neg(x + 1), "{x}");
        }
    }
}
