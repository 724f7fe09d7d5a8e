//! Residual addition and layer normalization (Ba et al. 2016) in integers.
//!
//! The usual case takes two passes of 32-bit steps, products of 64 bits aside. What could leave their ranges, in
//! formats or numbers that no trained model has, takes the general way, which is slower and bounded by nothing.

use crate::blob::Tensor;
use crate::kernel;
use crate::kernel::norm::{Affine, GUARD, Sums};
use crate::num::{requantize, round_shift, rsqrt, saturate_i16, saturate_i32};

/// Fraction bits of a normalized value on the general way: `|x| <= sqrt(d) <= 64` leaves one bit of i32 to spare.
const UNIT_FRAC: i32 = 24;
/// Fraction bits of beta.
const BETA_FRAC: i32 = 16;
/// Bits of a centred value on the general way: its square, 4096 times, stays below 2^62.
const CENTRED_BITS: i32 = 24;

/// `hidden = gamma * (r - mean(r)) / sqrt(var(r) + eps) + beta` with `r = hidden + wide`; `wide` is overwritten.
///
/// `r` is taken in the format of `wide` (`wide_frac`), gamma is i16 with `scale_shift` fraction bits, beta i32 in
/// Q16, epsilon Q32; the result has `out_frac` fraction bits. The product is cut at [`GUARD`] bits below the
/// output's last, then the sum is rounded.
#[inline(always)]
pub(super) fn add_norm(norm: &Tensor, eps_q32: u32, hidden: &mut [i16], frac: i8, wide: &mut [i32], wide_frac: i8) {
    let align = wide_frac as i32 - frac as i32;
    // A sum that wraps around i32 has a magnitude of nearly 2^31, as `hidden << align` is below 2^24: no plan takes it.
    if let 0..=8 = align {
        let sums = kernel::norm::add(hidden, wide, 1 << align);
        if let Some(affine) = plan(norm, eps_q32, wide_frac as i32, wide.len(), &sums) {
            return kernel::norm::apply(&affine, wide, norm.vector(), norm.bias(), hidden);
        }
        // Wrapping subtraction takes back wrapping addition.
        wide.iter_mut().zip(&*hidden).for_each(|(r, &h)| *r = r.wrapping_sub((h as i32) << align));
    }
    general(norm, eps_q32, hidden, frac, wide, wide_frac);
}

/// The mean, rounded.
#[inline(always)]
fn mean(sum: i64, len: usize) -> i64 {
    let sum = sum + (len / 2) as i64;
    // No division where a shift does.
    if len.is_power_of_two() {
        return sum >> len.ilog2();
    }
    // Rounded down on either side of zero, by the quotient of what is not negative.
    let below = sum >> 63;
    divide((sum ^ below) as u64, len) as i64 ^ below
}

/// The mean of squares, rounded down.
#[inline(always)]
fn mean_square(squares: u64, len: usize) -> u64 {
    if len.is_power_of_two() { squares >> len.ilog2() } else { divide(squares, len) }
}

/// A quotient, rounded down, of at most 2^16 - 1, as no model is wider: four divisions of 32 bits where one of 64 would be a
/// call of more code than all of a norm. By zero it is zero.
fn divide(number: u64, by: usize) -> u64 {
    let by = by.min(u16::MAX as usize) as u32;
    let (mut quotient, mut rest) = (0, 0);
    for shift in [48, 32, 16, 0] {
        let part = rest << 16 | (number >> shift) as u32 & 0xffff;
        let digit = part.checked_div(by).unwrap_or(0);
        rest = part.wrapping_sub(digit.wrapping_mul(by));
        quotient = quotient << 16 | digit as u64;
    }
    quotient
}

/// Epsilon with `frac` fraction bits.
#[inline(always)]
fn epsilon(eps_q32: u32, frac: i32) -> u64 {
    // The usual format needs no shift.
    if frac == 32 { eps_q32 as u64 } else { shifted_epsilon(eps_q32, frac) }
}

/// Apart, for the registers of what calls it.
#[cold]
#[inline(never)]
fn shifted_epsilon(eps_q32: u32, frac: i32) -> u64 {
    round_shift(eps_q32 as i64, 32 - frac).max(0) as u64
}

/// What the second pass does, if nothing in it can leave its range.
#[inline(always)]
fn plan(norm: &Tensor, eps_q32: u32, wide_frac: i32, len: usize, sums: &Sums) -> Option<Affine> {
    // Bits together say no more than a power of two. With the squares' sum below `2^61 / n`, no part of it has wrapped,
    // and the sum, at most `sqrt(n * squares)`, is below 2^31.
    let limit = 1 << ((1u32 << 29) / len.clamp(1, 1 << 30) as u32).checked_ilog2()?;
    if sums.seen >= limit {
        return None;
    }
    let mean = mean(sums.sum as i64, len) as i32;
    // Sum of (r - mean)^2; the parts may wrap, the result is below 2^61.
    let (sum, m) = (sums.sum as i64, mean as i64);
    let squares = sums.squares.wrapping_sub(m.wrapping_mul(2 * sum - m * len as i64) as u64);
    let variance = mean_square(squares, len).saturating_add(epsilon(eps_q32, 2 * wide_frac));
    let inverse = rsqrt(variance);
    // In the output's format with guard bits, once two products have been cut, by 16 bits and by 32.
    let (gamma_frac, out_frac) = (norm.entry.scale_shift as i32, norm.entry.out_frac as i32);
    let up = 48 + GUARD + out_frac - gamma_frac - inverse.shift;
    // No centred value exceeds the root of the squares' sum.
    let bits = (65 - squares.leading_zeros() as i32) / 2;
    let beta = GUARD + out_frac - BETA_FRAC;
    let fits = up >= 0 && bits + up <= 31 && (0..=6).contains(&beta);
    fits.then(|| Affine {
        up: 1 << up,
        // Bits may leave at the top: the centred value has them no more.
        offset: (mean << up).wrapping_neg(),
        inverse: inverse.mantissa as i32,
        beta_up: 1 << beta,
    })
}

/// [`add_norm`] for every format and every number.
#[inline(never)]
fn general(norm: &Tensor, eps_q32: u32, hidden: &mut [i16], frac: i8, wide: &mut [i32], wide_frac: i8) {
    let align = frac as i32 - wide_frac as i32;
    for (wide, &hidden) in wide.iter_mut().zip(hidden.iter()) {
        *wide = saturate_i32((*wide as i64).saturating_add(round_shift(hidden as i64, align)));
    }
    let mean = mean(wide.iter().map(|&wide| wide as i64).sum(), wide.len());
    // A centred value may need 33 bits; narrowed to CENTRED_BITS it fits again.
    let largest = wide.iter().fold(0u64, |largest, &wide| largest.max((wide as i64 - mean).unsigned_abs()));
    let drop = (64 - largest.leading_zeros() as i32 - CENTRED_BITS).max(0);
    let mut squares = 0u64;
    for wide in wide.iter_mut() {
        *wide = round_shift(*wide as i64 - mean, drop) as i32;
        squares += (*wide as i64 * *wide as i64) as u64;
    }
    // Variance has twice the fraction bits of a centred value; epsilon is brought there.
    let variance = mean_square(squares, wide.len()).saturating_add(epsilon(eps_q32, 2 * (wide_frac as i32 - drop)));
    let inverse = rsqrt(variance);

    let (gamma_frac, out_frac) = (norm.entry.scale_shift as i32, norm.entry.out_frac as i32);
    let (gamma, beta) = (norm.vector::<i16>(), norm.bias::<i32>());
    for ((out, &centred), (&gamma, &beta)) in hidden.iter_mut().zip(wide.iter()).zip(gamma.iter().zip(beta)) {
        let unit = requantize(centred, inverse.mantissa, inverse.shift - UNIT_FRAC);
        let beta = (beta as i64) << (UNIT_FRAC + gamma_frac - BETA_FRAC);
        *out = saturate_i16(saturate_i32(round_shift(
            unit as i64 * gamma as i64 + beta,
            UNIT_FRAC + gamma_frac - out_frac,
        )));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::made::{Made, Noise};
    use std::vec::Vec;

    /// Ordinary formats and numbers take the two passes, and the general way comes to the same but for the last bit.
    #[test]
    fn both_ways_agree() {
        for (seed, len) in [(1, 128), (2, 128), (3, 127), (4, 512), (5, 3), (6, 1024)] {
            let mut noise = Noise(seed);
            let hidden: Vec<i16> = (0..len).map(|_| noise.within(1 << 13) as i16).collect();
            let wide: Vec<i32> = (0..len).map(|_| 40_000 + noise.within(1 << 18) as i32).collect();
            let gamma: Vec<i16> = (0..len).map(|_| noise.within(32767) as i16).collect();
            let beta: Vec<i32> = (0..len).map(|_| noise.within(1 << 17) as i32).collect();
            let mut norm = Made::vector(&gamma).bias(&beta);
            (norm.entry.scale_shift, norm.entry.out_frac, norm.entry.in_bits) = (14, 10, 16);
            let norm = norm.tensor();
            let sums = kernel::norm::add(&hidden, &mut wide.clone(), 1 << 4);
            assert!(plan(&norm, 42_950, 16, len, &sums).is_some(), "{len}");
            let (mut fast, mut slow) = (hidden.clone(), hidden);
            add_norm(&norm, 42_950, &mut fast, 12, &mut wide.clone(), 16);
            general(&norm, 42_950, &mut slow, 12, &mut wide.clone(), 16);
            assert!(fast.iter().zip(&slow).all(|(fast, slow)| fast.abs_diff(*slow) <= 1), "{len}: {fast:?} {slow:?}");
        }
    }

    #[test]
    fn quotients_are_those_of_64_bits() {
        let mut noise = Noise(7);
        for by in [1usize, 3, 5, 127, 384, 4095, 4096, 65_535] {
            for number in [0, 1, by as u64 - 1, by as u64, u64::MAX, i64::MAX as u64, noise.bits(), noise.bits() >> 20]
            {
                assert_eq!(divide(number, by), number / by as u64, "{number} by {by}");
                for sum in [number as i64 >> 2, -(number as i64 >> 2)] {
                    assert_eq!(mean(sum, by), (sum + by as i64 / 2).div_euclid(by as i64), "mean of {sum} over {by}");
                }
            }
        }
        assert_eq!((divide(5, 0), mean(-1, 0)), (0, -1));
    }

    /// What a plan must not take: sums that leave 32 bits.
    #[test]
    fn large_numbers_are_left_to_the_general_way() {
        let norm = Made::vector(&[1i16; 4]).bias(&[0i32; 4]);
        for wide in [[i32::MIN; 4], [i32::MAX; 4], [1 << 28, -1 << 28, 1 << 28, 0], [i32::MAX, i32::MIN, 0, 0]] {
            let sums = kernel::norm::add(&[32767; 4], &mut wide.clone(), 256);
            assert!(plan(&norm.tensor(), 42_950, 16, 4, &sums).is_none(), "{wide:?}");
        }
    }
}
