//! f16 storage of the f16 engine.
//!
//! [`half::f16`] is the type; widening is written out here without branches that depend on the processor, so that
//! loops over weights vectorise on the host and stay a few integer instructions on cores without f16 hardware.

use half::f16;

/// The exact f32 of a finite f16.
///
/// Infinities and NaN, which neither a checked blob nor a cache filled by [`narrow`] holds, come out as large finite
/// numbers.
#[inline(always)]
pub fn widen(x: f16) -> f32 {
    let bits = x.to_bits() as u32;
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7fff;
    if magnitude < 0x0400 {
        // Subnormal: an integer times 2^-24, exact in f32.
        return f32::from_bits((magnitude as f32 * (1.0 / 16_777_216.0)).to_bits() | sign);
    }
    f32::from_bits(((magnitude << 13) + (112 << 23)) | sign)
}

/// The nearest finite f16, ties to even.
///
/// What f16 cannot hold saturates, and NaN becomes zero: processors make different NaNs, which [`widen`] would turn
/// into different numbers.
#[inline(always)]
pub fn narrow(x: f32) -> f16 {
    if x.is_nan() {
        return f16::ZERO;
    }
    f16::from_f32_const(x.clamp(-65_504.0, 65_504.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_is_finite_and_nearest() {
        for bits in (0..=u32::MAX).step_by(9973).chain([0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0000]) {
            let x = f32::from_bits(bits);
            let half = narrow(x);
            assert!(half.is_finite(), "{x}");
            if x.abs() <= 65_504.0 {
                assert_eq!(half.to_bits(), f16::from_f32(x).to_bits(), "{x}");
            }
        }
        assert_eq!(
            [f32::INFINITY, -1e30, f32::NAN, -f32::NAN].map(narrow).map(f16::to_f32),
            [65504.0, -65504.0, 0.0, 0.0]
        );
    }

    #[test]
    fn equals_half_on_every_finite_value() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            if x.is_finite() {
                assert_eq!(widen(x).to_bits(), x.to_f32().to_bits(), "{bits:#x}");
            }
        }
    }
}
