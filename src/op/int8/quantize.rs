//! Dynamic quantization: the largest magnitude of a vector sets its scale, found and applied in integers.

use crate::num::{Scale, round_shift};

/// Quantizes `x` (`frac` fraction bits) to `bits` bits, symmetric: element `i` of `out` times the scale, over
/// `2^(bits-1) - 1`, is `x[i]` within half a step.
#[inline(always)]
pub(super) fn dynamic(x: impl Iterator<Item = i32> + Clone, frac: i8, bits: u8, out: &mut [i16]) -> Scale {
    quantize(x, frac, bits, out.iter_mut(), |q| q as i16)
}

/// A hidden state as the input of a linear. At 16 bits it already is one.
#[inline(always)]
pub(super) fn hidden(x: &[i16], frac: i8, bits: u8, out: &mut [i16]) -> Scale {
    if bits == 16 {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = x);
        return Scale { mantissa: i16::MAX as u16, exponent: -(frac as i16) };
    }
    dynamic(x.iter().map(|&x| x as i32), frac, bits, out)
}

/// One head of a key or value to 8 bits.
#[inline(always)]
pub(super) fn bytes<'o>(wide: &[i32], frac: i8, out: impl Iterator<Item = &'o mut u8>) -> Scale {
    quantize(wide.iter().copied(), frac, 8, out, |q| q as u8)
}

#[inline(always)]
fn quantize<'o, T: 'o>(
    x: impl Iterator<Item = i32> + Clone,
    frac: i8,
    bits: u8,
    out: impl Iterator<Item = &'o mut T>,
    narrow: impl Fn(i32) -> T,
) -> Scale {
    let largest = x.clone().fold(0, |m: u32, x| m.max(x.unsigned_abs()));
    let (scale, shift) = Scale::of_largest(largest, frac as i32);
    // 2^(bits-1) - 1 over the mantissa, in Q(32 - bits): at least 16 significant bits, below 2^17.
    let headroom = 32 - bits as i32;
    let steps = (1u32 << (bits - 1)) - 1;
    let inverse = (steps << headroom).checked_div(scale.mantissa as u32).unwrap_or(0);
    let shift = headroom + shift;
    if let 1..=32 = shift {
        // The usual case: the result is the low word, for which a logical shift does.
        let half = 1 << (shift - 1);
        for (out, x) in out.zip(x) {
            *out = narrow(((x as i64 * inverse as i64 + half) as u64 >> shift) as i32);
        }
    } else {
        for (out, x) in out.zip(x) {
            *out = narrow(round_shift(x as i64 * inverse as i64, shift) as i32);
        }
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    proptest! {
        #[test]
        fn stays_in_range_and_within_half_a_step(
            x in proptest::collection::vec(any::<i32>(), 1..40), drop in 0u32..31, bits in 8u8..=16, frac in -16i8..=30,
        ) {
            let x: vec::Vec<i32> = x.iter().map(|x| x >> drop).collect();
            let mut q = vec![0i16; x.len()];
            let scale = dynamic(x.iter().copied(), frac, bits, &mut q);
            let steps = ((1i32 << (bits - 1)) - 1) as f64;
            let unit = scale.mantissa as f64 * 2f64.powi(scale.exponent as i32) / steps;
            for (&q, &x) in q.iter().zip(&x) {
                prop_assert!((q as i32).abs() <= steps as i32);
                let x = x as f64 * 2f64.powi(-(frac as i32));
                prop_assert!((q as f64 * unit - x).abs() <= unit * (0.5 + steps * 2f64.powi(-15)), "{} {} {}", q, x, unit);
            }
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        let mut q = [7i16; 3];
        assert_eq!(dynamic([0, 0, 0].into_iter(), 16, 8, &mut q), Scale::default());
        assert_eq!(q, [0; 3]);
    }
}
