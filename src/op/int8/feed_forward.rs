//! Activations of the feed-forward layers.

use crate::blob::spec::Activation;
use crate::num::{exp2_neg, round_shift, saturate_i32};

/// log2(e) in Q30.
const LOG2_E: i64 = 1_549_082_005;

/// The activation, in place; `frac` are the fraction bits.
pub(super) fn activate(x: &mut [i32], frac: i8, activation: Activation) {
    match activation {
        Activation::Relu => x.iter_mut().for_each(|x| *x = (*x).max(0)),
        Activation::Swish => x.iter_mut().for_each(|x| *x = swish(*x, frac)),
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
    fn swish_is_total() {
        for frac in [-16, 0, 30] {
            for x in [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX] {
                assert!(swish(x, frac).unsigned_abs() <= x.unsigned_abs());
            }
        }
    }
}
