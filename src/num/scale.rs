//! Scales: what turns integers back into values.

use bytemuck::{Pod, Zeroable};

/// Scale of a dynamically quantized vector: one unit is `mantissa * 2^exponent`, over the quantizer's largest value.
///
/// The mantissa is the vector's largest magnitude shifted into 2^14 ..= 2^15, or zero for a vector of zeros. The
/// division by the largest quantized value (127 for 8 bits) is left to the packer, which folds it into row scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Scale {
    /// Significand, at most 2^15.
    pub mantissa: u16,
    /// Power of two.
    pub exponent: i16,
}

impl Scale {
    /// The scale of a vector whose largest magnitude is `largest` in a format with `frac` fraction bits, and the
    /// right shift that its elements need so that they lie on the mantissa's grid.
    #[cfg(feature = "int8")]
    pub(crate) const fn of_largest(largest: u32, frac: i32) -> (Scale, i32) {
        if largest == 0 {
            return (Scale { mantissa: 0, exponent: 0 }, 0);
        }
        let shift = 17 - largest.leading_zeros() as i32;
        let mantissa = if shift <= 0 {
            largest << -shift
        } else {
            // Rounded up, so that no element exceeds the mantissa.
            (largest >> shift) + (largest & ((1 << shift) - 1) != 0) as u32
        };
        (Scale { mantissa: mantissa as u16, exponent: (shift - frac) as i16 }, shift)
    }
}

/// A positive real factor `mantissa * 2^-shift`, the mantissa below 2^31.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Multiplier {
    /// Significand.
    pub mantissa: u32,
    /// Right shift.
    pub shift: i32,
}

impl Multiplier {
    /// The product of `mantissa * 2^-shift` and a scale, normalized to 2^14 ..= 2^15 so that it can be
    /// multiplied by another scale's mantissa and stay below 2^31. Relative error at most 2^-15.
    #[cfg(feature = "int8")]
    pub(crate) const fn times_scale(self, scale: Scale) -> Multiplier {
        let product = self.mantissa as u64 * scale.mantissa as u64;
        if product == 0 {
            return Multiplier { mantissa: 0, shift: 0 };
        }
        let drop = 49 - product.leading_zeros() as i32;
        let mantissa = super::round_shift(product as i64, drop) as u32;
        Multiplier { mantissa, shift: self.shift - scale.exponent as i32 - drop }
    }
}

#[cfg(all(test, feature = "int8"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_scale_covers_the_largest(largest in 1u32..=(1 << 31), frac in -20i32..40) {
            let (scale, shift) = Scale::of_largest(largest, frac);
            prop_assert!((1 << 14..=1 << 15).contains(&scale.mantissa));
            let covered = scale.mantissa as f64 * 2f64.powi(shift);
            prop_assert!(covered >= largest as f64 && covered <= largest as f64 * (1.0 + 2f64.powi(-14)));
            prop_assert_eq!(scale.exponent as i32, shift - frac);
        }

        #[test]
        fn products_keep_sixteen_bits(m in 1u32..(1 << 31), s in -40i32..40, mantissa in 1u16..=1 << 15, exponent in -40i16..40) {
            let p = Multiplier { mantissa: m, shift: s }.times_scale(Scale { mantissa, exponent });
            let got = p.mantissa as f64 * 2f64.powi(-p.shift);
            let want = m as f64 * 2f64.powi(-s) * mantissa as f64 * 2f64.powi(exponent as i32);
            prop_assert!((got / want - 1.0).abs() <= 2f64.powi(-15), "{} {}", got, want);
            prop_assert!(p.mantissa <= 1 << 15);
        }
    }
}
