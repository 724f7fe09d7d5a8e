//! Residual addition and layer normalization.

use super::Math;
use super::lanes;
use crate::blob::Tensor;

/// `hidden = gamma * (r - mean(r)) / sqrt(var(r) + eps) + beta` with `r = hidden + wide`; `wide` is overwritten.
pub(super) fn add_norm(math: Math, norm: &Tensor, eps_q32: u32, hidden: &mut [f32], wide: &mut [f32]) {
    for (wide, &hidden) in wide.iter_mut().zip(hidden.iter()) {
        *wide += hidden;
    }
    let count = wide.len() as f32;
    let mean = lanes(wide.iter().copied()) / count;
    wide.iter_mut().for_each(|x| *x -= mean);
    let variance = lanes(wide.iter().map(|x| x * x)) / count;
    let eps = eps_q32 as f32 / 4_294_967_296.0;
    let inverse = math.inverse_sqrt(variance + eps);
    let (gamma, beta) = (norm.vector::<f32>(), norm.bias::<f32>());
    for ((out, &x), (&gamma, &beta)) in hidden.iter_mut().zip(wide.iter()).zip(gamma.iter().zip(beta)) {
        *out = x * inverse * gamma + beta;
    }
}
