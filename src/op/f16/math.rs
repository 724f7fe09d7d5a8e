//! exp and inverse square root: the blob says which, so that host and board agree.

use micromath::F32Ext;

/// Elementary functions. `docs/numerics.md` has the two measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Math {
    /// `libm`: below one unit in the last place.
    Libm,
    /// `micromath`: shorter code, relative error of exp up to 0.3 % and of the inverse square root up to 3.5 %.
    Micromath,
}

impl Math {
    /// From the spec's number, which has been checked.
    pub fn from_spec(math: u8) -> Self {
        if math == 1 { Math::Micromath } else { Math::Libm }
    }

    /// `e^x`.
    #[inline]
    pub fn exp(self, x: f32) -> f32 {
        match self {
            Math::Libm => libm::expf(x),
            // micromath makes a number of a NaN's payload, which differs from processor to processor.
            Math::Micromath if x.is_nan() => f32::NAN,
            // micromath's range reduction does not saturate: keep to where f32 has an exponential.
            Math::Micromath => F32Ext::exp(x.clamp(-87.0, 88.0)),
        }
    }

    /// `1 / sqrt(x)`.
    #[inline]
    pub fn inverse_sqrt(self, x: f32) -> f32 {
        match self {
            // micromath subtracts the bits, which overflows for what has no square root (a NaN with its sign set too).
            Math::Micromath if x > 0.0 => F32Ext::invsqrt(x),
            Math::Libm | Math::Micromath => 1.0 / libm::sqrtf(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_micromath_are_as_stated() {
        let (mut exp, mut inverse) = (0f64, 0f64);
        for i in 1..100_000 {
            let x = i as f32 * 1e-3;
            let away = |found: f32, wanted: f64| (f64::from(found) / wanted - 1.0).abs();
            if x < 80.0 {
                exp = exp.max(away(Math::Micromath.exp(-x), f64::from(-x).exp()));
            }
            inverse = inverse.max(away(Math::Micromath.inverse_sqrt(x), 1.0 / f64::from(x).sqrt()));
        }
        std::println!("exp {exp:.1e}, inverse square root {inverse:.1e}");
        assert!(exp < 0.003 && inverse < 0.035, "{exp} {inverse}");
    }

    #[test]
    fn total_for_every_kind_of_float() {
        for math in [Math::Libm, Math::Micromath] {
            for bits in (0..=u32::MAX).step_by(65_521).chain([1, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffff_ffff]) {
                let x = f32::from_bits(bits);
                let (exp, inverse) = (math.exp(x), math.inverse_sqrt(x));
                assert_eq!(x.is_nan(), exp.is_nan(), "exp({x})");
                assert_eq!(x.is_nan() || x < 0.0, inverse.is_nan(), "inverse_sqrt({x})");
            }
        }
    }
}
