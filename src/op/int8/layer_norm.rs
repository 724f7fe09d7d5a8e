//! Residual addition and layer normalization (Ba et al. 2016) in integers.

use crate::blob::Tensor;
use crate::num::{round_shift, rsqrt, saturate_i16, saturate_i32};

/// Fraction bits of a normalized value: `|x| <= sqrt(d) <= 64` leaves one bit of i32 to spare.
const UNIT_FRAC: i32 = 24;
/// Fraction bits of beta.
const BETA_FRAC: i32 = 16;
/// Bits of a centred value: its square, 4096 times, stays below 2^62.
const CENTRED_BITS: i32 = 24;

/// `hidden = gamma * (r - mean(r)) / sqrt(var(r) + eps) + beta` with `r = hidden + wide`; `wide` is overwritten.
///
/// `r` is taken in the format of `wide` (`wide_frac`), gamma is i16 with `scale_shift` fraction bits, beta i32 in
/// Q16, epsilon Q32; the result has `out_frac` fraction bits.
#[inline(always)]
pub(super) fn add_norm(norm: &Tensor, eps_q32: u32, hidden: &mut [i16], frac: i8, wide: &mut [i32], wide_frac: i8) {
    let align = frac as i32 - wide_frac as i32;
    let mut sum = 0i64;
    for (wide, &hidden) in wide.iter_mut().zip(hidden.iter()) {
        *wide = saturate_i32((*wide as i64).saturating_add(round_shift(hidden as i64, align)));
        sum += *wide as i64;
    }
    let count = (wide.len() as i64).max(1);
    let mean = (sum + count / 2).checked_div_euclid(count).unwrap_or(0);
    // A centred value may need 33 bits; narrowed to CENTRED_BITS it fits again.
    let largest = wide.iter().fold(0u64, |largest, &wide| largest.max((wide as i64 - mean).unsigned_abs()));
    let drop = (64 - largest.leading_zeros() as i32 - CENTRED_BITS).max(0);
    let mut squares = 0u64;
    for wide in wide.iter_mut() {
        *wide = round_shift(*wide as i64 - mean, drop) as i32;
        squares += (*wide as i64 * *wide as i64) as u64;
    }
    // Variance has twice the fraction bits of a centred value; epsilon is brought there.
    let eps = round_shift(eps_q32 as i64, 32 - 2 * (wide_frac as i32 - drop)).max(0) as u64;
    let variance = squares.checked_div(count as u64).unwrap_or(0).saturating_add(eps);
    let inverse = rsqrt(variance);

    let (gamma_frac, out_frac) = (norm.entry.scale_shift as i32, norm.entry.out_frac as i32);
    let (gamma, beta) = (norm.vector::<i16>(), norm.bias::<i32>());
    for ((out, &centred), (&gamma, &beta)) in hidden.iter_mut().zip(wide.iter()).zip(gamma.iter().zip(beta)) {
        let unit = saturate_i32(round_shift(centred as i64 * inverse.mantissa as i64, inverse.shift - UNIT_FRAC));
        let beta = (beta as i64) << (UNIT_FRAC + gamma_frac - BETA_FRAC);
        *out = saturate_i16(round_shift(unit as i64 * gamma as i64 + beta, UNIT_FRAC + gamma_frac - out_frac));
    }
}
