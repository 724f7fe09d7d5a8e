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

/// `x * Phi(x)`, whichever functions the blob chose: `micromath` has no error function.
#[inline]
pub(crate) fn gelu(x: f32) -> f32 {
    (x * 0.5) * (1.0 + libm::erff(x * core::f32::consts::FRAC_1_SQRT_2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1 + erf` has an error of half a unit in the last place of 1: 2^-24 of `|x| / 2` and as much again for the rest.
    #[test]
    fn gelu_is_as_good_as_its_order_allows() {
        for i in -100_000..100_000 {
            let x = i as f32 * 1e-4;
            let want = f64::from(x) * 0.5 * libm::erfc(-f64::from(x) * core::f64::consts::FRAC_1_SQRT_2);
            let error = (f64::from(gelu(x)) - want).abs();
            assert!(error <= f64::from(x.abs()) * 2f64.powi(-22), "{x}: {error:e}");
        }
        assert!(gelu(f32::NAN).is_nan() && gelu(f32::MAX) == f32::MAX && gelu(f32::MIN) == 0.0);
    }

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
