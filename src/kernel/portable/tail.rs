//! Accumulators of a matrix to outputs.

use crate::num::high_product;

/// What all rows of a matrix share.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Requantize {
    /// Mantissa of the token's scale, at most 2^15.
    pub mantissa: u32,
    /// Bits that an accumulator goes up, below 32; it has them to spare.
    pub up: u32,
    /// Half of what is shifted out of the product's upper word.
    pub half: i32,
    /// Bits that are shifted out of the product's upper word, 1 to 31.
    pub shift: u32,
}

/// `out = out * scale * mantissa`, up and down again and rounded, plus the bias, which may be missing for all.
#[inline(always)]
pub fn finish(all: &Requantize, scales: &[u16], bias: &[i32], out: &mut [i32]) {
    let Requantize { mantissa, up, half, shift } = *all;
    let requantize = |acc: i32, scale: u16| {
        let factor = (scale as u32).wrapping_mul(mantissa) as i32;
        high_product(acc.wrapping_shl(up), factor).wrapping_add(half).wrapping_shr(shift)
    };
    if bias.is_empty() {
        out.iter_mut().zip(scales).for_each(|(out, &scale)| *out = requantize(*out, scale));
    } else {
        let rows = out.iter_mut().zip(scales).zip(bias);
        rows.for_each(|((out, &scale), &bias)| *out = requantize(*out, scale).saturating_add(bias));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::requantize;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_rounding_rule(
            rows in proptest::collection::vec((-(1i32 << 24)..1 << 24, any::<u16>(), any::<i32>()), 0..20),
            mantissa in 0u32..=1 << 15, up in 0u32..8, shift in 1u32..31, with_bias: bool,
        ) {
            let mut out: std::vec::Vec<i32> = rows.iter().map(|row| row.0).collect();
            let scales: std::vec::Vec<u16> = rows.iter().map(|row| row.1).collect();
            let bias: std::vec::Vec<i32> = rows.iter().filter(|_| with_bias).map(|row| row.2).collect();
            finish(&Requantize { mantissa, up, half: 1 << (shift - 1), shift }, &scales, &bias, &mut out);
            for (out, (acc, scale, bias)) in out.into_iter().zip(rows) {
                let rounded = requantize(acc, scale as u32 * mantissa, (32 + shift - up) as i32);
                prop_assert_eq!(out, if with_bias { rounded.saturating_add(bias) } else { rounded });
            }
        }
    }
}
