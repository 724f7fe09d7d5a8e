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
            // micromath's range reduction does not saturate: keep to where f32 has an exponential.
            Math::Micromath => F32Ext::exp(x.clamp(-87.0, 88.0)),
        }
    }

    /// `1 / sqrt(x)`.
    #[inline]
    pub fn inverse_sqrt(self, x: f32) -> f32 {
        match self {
            Math::Libm => 1.0 / libm::sqrtf(x),
            Math::Micromath => F32Ext::invsqrt(x),
        }
    }
}
