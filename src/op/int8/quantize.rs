//! Dynamic quantization: the largest magnitude of a vector sets its scale, found and applied in integers.

use crate::kernel::quantize::{Code, Element, Step, from_products, from_upper_words, largest};
use crate::num::Scale;

/// Quantizes `x` (`frac` fraction bits) to `bits` bits, symmetric: element `i` of `out` times the scale, over
/// `2^(bits-1) - 1`, is `x[i]` within half a step.
#[inline(always)]
pub(super) fn dynamic<E: Element, C: Code>(x: &[E], frac: i8, bits: u8, out: &mut [C]) -> Scale {
    // The largest magnitude, or one more: `-x - 1` stands for a negative `x`, and does not overflow.
    let largest = match largest(x) {
        // All are 0 or -1.
        0 => x.iter().any(|x| x.wide() != 0) as u32,
        largest => largest as u32 + 1,
    };
    let (scale, shift) = Scale::of_largest(largest, frac as i32);
    // 2^(bits-1) - 1 over the mantissa, in Q(32 - bits): at least 16 significant bits, below 2^17.
    let headroom = 32 - bits as i32;
    let steps = (1u32 << (bits - 1)) - 1;
    let inverse = (steps << headroom).checked_div(scale.mantissa as u32).unwrap_or(0) as i32;
    let shift = headroom + shift;
    if largest < 1 << 15 {
        // `shift` has become smaller by the bits that the mantissa is longer than `largest`: products stay below
        // steps * 2^headroom, an i32.
        from_products(Step { inverse, up: 0, shift }, x, out);
    } else {
        // The upper word of the product holds the result and at least a bit to round by: the inverse goes up to its 31
        // bits, and where the result is near the end of the lower word, `x` goes up, which then has bits to spare.
        let up = (33 - INVERSE_UP - shift).max(0);
        from_upper_words(Step { inverse: inverse << INVERSE_UP, up, shift: shift + INVERSE_UP + up - 32 }, x, out);
    }
    scale
}

/// A hidden state as the input of a linear. At 16 bits it already is one, but for -2^15.
#[inline(always)]
pub(super) fn hidden(x: &[i16], frac: i8, bits: u8, out: &mut [i16]) -> Scale {
    if bits == 16 {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = x.max(-i16::MAX));
        return Scale { mantissa: i16::MAX as u16, exponent: -(frac as i16) };
    }
    dynamic(x, frac, bits, out)
}

/// What brings an inverse, below 2^17, below 2^31.
const INVERSE_UP: i32 = 14;

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
            let scale = dynamic(&x, frac, bits, &mut q);
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
        assert_eq!(dynamic(&[0, 0, 0], 16, 8, &mut q), Scale::default());
        assert_eq!(q, [0; 3]);
    }
}
