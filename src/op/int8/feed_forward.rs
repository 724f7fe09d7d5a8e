//! Activations of the feed-forward layers.

use crate::blob::spec::Activation;
use crate::num::{exp2_neg, round_shift, saturate_i32};

/// log2(e) in Q30.
const LOG2_E: i64 = crate::num::log2::LOG2_E as i64;

/// The activation, in place; `frac` are the fraction bits.
pub(super) fn activate(x: &mut [i32], frac: i8, activation: Activation) {
    match activation {
        Activation::Relu => x.iter_mut().for_each(|x| *x = (*x).max(0)),
        Activation::Swish => x.iter_mut().for_each(|x| *x = swish(*x, frac)),
        Activation::Gelu => x.iter_mut().for_each(|x| *x = gelu(*x, frac)),
    }
}

/// `x * sigmoid(x)`; absolute error at most `|x| * 2^-15`.
fn swish(x: i32, frac: i8) -> i32 {
    let magnitude = x.unsigned_abs() as i64;
    // |x| log2(e) in Q16.
    let t = saturate_i32(round_shift(magnitude * LOG2_E, 30 + frac as i32 - 16));
    let e = exp2_neg(t.saturating_neg());
    // sigmoid(|x|) = 1 / (1 + e), sigmoid(-|x|) = e / (1 + e): numerator in Q31, denominator in Q15.
    let numerator = if x < 0 { e << 1 } else { 1 << 31 };
    let denominator = ((1u32 << 30) + e) >> 15;
    let sigmoid = numerator.checked_div(denominator).unwrap_or(0);
    round_shift(x as i64 * sigmoid as i64, 16) as i32
}

/// Where the normal distribution ends: beyond, `|x| * Phi(-|x|)` is below 2^-31. In Q20.
const TAIL_END: i64 = 8 << 20;
/// `0.3275911 / sqrt(2)` in Q28.
const P: i64 = 62_180_896;
/// Halves of `a1` to `a5` in Q30.
const A: [i64; 5] = [136_810_595, -152_738_022, 763_115_691, -780_155_054, 569_837_701];

/// `x * Phi(x)`; absolute error at most 2^-19 and half a unit of `x`'s format.
///
/// It is `max(x, 0) - |x| * Phi(-|x|)`, so that the error is that of a term which never exceeds 0.17.
fn gelu(x: i32, frac: i8) -> i32 {
    let magnitude = x.unsigned_abs() as i64;
    let tail = normal_tail(round_shift(magnitude, frac as i32 - 20).min(TAIL_END));
    (x.max(0) as i64 - round_shift(magnitude * tail, 30)) as i32
}

/// `Phi(-u)`, the normal distribution's upper tail, for `u` from 0 to 8 in Q20; the result is in Q30.
///
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26: `erfc(z)` is `(a1 t + ... + a5 t^5) e^(-z^2)`
/// with `t = 1 / (1 + p z)`, to 1.5e-7; here `z = u / sqrt(2)`.
fn normal_tail(u: i64) -> i64 {
    if u >= TAIL_END {
        return 0;
    }
    let denominator = (1 << 28) + ((u * P) >> 20);
    // A quotient of 16 bits in Q16, then one step of Newton's: t is in Q30.
    let rough = (1u32 << 31).checked_div((denominator >> 13) as u32).unwrap_or(0) as i64;
    let t = (rough << 14) + ((((1 << 44) - denominator * rough) * rough) >> 30);
    let polynomial = A.iter().rev().fold(0, |sum, a| ((sum + a) * t) >> 30);
    // u^2 / 2 log2(e) in Q16.
    let exponent = round_shift(((u * u) >> 20) * LOG2_E, 35);
    (polynomial * exp2_neg(-(exponent as i32)) as i64) >> 30
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swish_is_within_the_stated_bound() {
        for i in -200_000i32..200_000 {
            let x = i as f64 * 8.0 / 65536.0;
            let want = x / (1.0 + (-x).exp());
            let got = swish(i * 8, 16) as f64 / 65536.0;
            assert!((got - want).abs() <= x.abs() * 2f64.powi(-15) + 2f64.powi(-16), "{x}: {got} {want}");
        }
    }

    #[test]
    fn gelu_is_within_the_stated_bound() {
        let mut worst = 0f64;
        for frac in [10, 16, 24] {
            let unit = (frac as f64).exp2();
            for i in -400_000i32..400_000 {
                // From -10 to 10, every bit of the finer formats among them.
                let x = (i as f64 * unit / 40_000.0) as i32;
                let real = x as f64 / unit;
                let want = real * 0.5 * libm::erfc(-real * core::f64::consts::FRAC_1_SQRT_2);
                let error = (gelu(x, frac) as f64 / unit - want).abs() - 0.5 / unit;
                worst = worst.max(error);
            }
        }
        std::println!("{worst:.2e}");
        assert!(worst <= 2f64.powi(-19), "{worst:e}");
    }

    #[test]
    fn gelu_is_total_and_never_enlarges() {
        for frac in [i8::MIN, -16, 0, 16, 20, 30, i8::MAX] {
            for x in [i32::MIN, i32::MIN + 1, -1 << 20, -1, 0, 1, 1 << 20, i32::MAX] {
                assert!(gelu(x, frac).unsigned_abs() <= x.unsigned_abs(), "{x} {frac}");
            }
        }
        let far = [i32::MIN, -8 << 16, 8 << 16, i32::MAX].map(|x| gelu(x, 16));
        assert_eq!(far, [0, 0, 8 << 16, i32::MAX]);
    }

    #[test]
    fn swish_is_total() {
        for frac in [-16, 0, 30] {
            for x in [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX] {
                assert!(swish(x, frac).unsigned_abs() <= x.unsigned_abs());
            }
        }
    }
}
