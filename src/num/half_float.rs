//! f16 storage of the f16 engine.
//!
//! [`half::f16`] is the type; widening is written out here without branches that depend on the processor, so that
//! loops over weights vectorise on the host and stay a few integer instructions on cores without f16 hardware.

use half::f16;

/// The exact f32 of a finite f16.
///
/// Infinities and NaN, which a checked blob does not hold, come out as large finite numbers.
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

#[cfg(test)]
mod tests {
    use super::*;

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
