//! Attention of one token over cached keys and values.

use super::Int8;
use super::quantize::dynamic;
use crate::engine::{AttendScratch, Cached};
use crate::num::{Multiplier, Scale, exp2_neg, requantize, round_shift, rsqrt};

/// Bits of a quantized query: on cores that multiply 16 by 16 bits they cost what 8 do.
const QUERY_BITS: u8 = 16;
/// Fraction bits of a score in the base-2 logarithm.
const SCORE_FRAC: i32 = 16;
/// log2(e) / (32767 * 127) in Q52: softmax in base 2, and the divisions the two scales leave out.
const SCORE_SCALE: u64 = 1_561_309_843;
/// 1 / 127 in Q21: the division the value scales leave out.
const VALUE_SCALE: u32 = 16_513;

/// `query` becomes the context, in `value_frac` fraction bits.
#[inline(always)]
pub(super) fn attend(
    query: &mut [i32],
    frac: i8,
    keys: Cached<Int8>,
    values: Cached<Int8>,
    value_frac: i8,
    heads: usize,
    scratch: &mut AttendScratch<Int8>,
) {
    let d_model = query.len().max(1);
    let head_dim = (d_model / heads.max(1)).max(1);
    let root = rsqrt(head_dim as u64);
    let constant =
        Multiplier { mantissa: ((SCORE_SCALE * root.mantissa as u64) >> 31) as u32, shift: 52 + root.shift - 31 };
    for (head, query) in query.chunks_exact_mut(head_dim).enumerate() {
        let Some((q, weights)) = scratch.inputs.split_at_mut_checked(head_dim) else { return };
        let query_scale = dynamic(query.iter().copied(), frac, QUERY_BITS, q);
        let multiplier = constant.times_scale(query_scale);
        let view = Head { d_model, head_dim, heads, head };
        let largest = scores(view, q, multiplier, keys, scratch.scores);
        let (sum, exponent) = softmax(view, largest, values.scales, scratch.scores, weights);
        context(view, weights, values.rows, query);
        // 1 / sum as a 16-bit mantissa, times 1 / 127; the sum is at least one in Q15.
        let drop = 16 - sum.leading_zeros() as i32;
        let inverse = (1u32 << 31).checked_div(round_shift(sum as i64, drop) as u32).unwrap_or(0);
        // acc * 2^exponent * inverse * 2^-(31 + drop) * VALUE_SCALE * 2^-21
        let shift = 52 + drop - exponent - value_frac as i32;
        let mantissa = inverse.saturating_mul(VALUE_SCALE);
        query.iter_mut().for_each(|acc| *acc = requantize(*acc, mantissa, shift));
    }
}

/// One head's part of a row of `d_model` values.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub d_model: usize,
    pub head_dim: usize,
    pub heads: usize,
    pub head: usize,
}

impl Head {
    /// The head's part of each row.
    #[inline(always)]
    fn rows(self, rows: &[i8]) -> impl Iterator<Item = &[i8]> {
        let start = self.head * self.head_dim;
        rows.chunks_exact(self.d_model).map(move |row| row.get(start..start + self.head_dim).unwrap_or_default())
    }

    /// The head's scale of each row.
    #[inline(always)]
    fn scales<'r>(self, scales: &'r [Scale]) -> impl Iterator<Item = Scale> + 'r {
        scales.iter().skip(self.head).step_by(self.heads.max(1)).copied()
    }
}

/// Scores in base 2, Q16; returns the largest.
#[inline(always)]
pub(crate) fn scores(head: Head, q: &[i16], multiplier: Multiplier, keys: Cached<Int8>, out: &mut [i32]) -> i32 {
    let mut largest = i32::MIN;
    for ((key, scale), out) in head.rows(keys.rows).zip(head.scales(keys.scales)).zip(out) {
        let acc = q.iter().zip(key).fold(0i32, |acc, (&q, &k)| acc.wrapping_add(q as i32 * k as i32));
        let mantissa = multiplier.mantissa * scale.mantissa as u32;
        *out = requantize(acc, mantissa, multiplier.shift - scale.exponent as i32 - SCORE_FRAC);
        largest = largest.max(*out);
    }
    largest
}

/// Weights of the values: softmax numerators (Q15, the largest being one) times the values' scales, as 15-bit integers
/// in units of `2^exponent`, chosen so that the largest product, not the largest scale, fills them: a position that is
/// not attended to takes no precision from those that are. Returns the sum of the numerators, by which the context is
/// still to be divided, and the exponent. `scores` is overwritten with the numerators.
#[inline(always)]
pub(crate) fn softmax(
    head: Head,
    largest: i32,
    scales: &[Scale],
    scores: &mut [i32],
    weights: &mut [i16],
) -> (u32, i32) {
    let count = scales.len() / head.heads.max(1);
    let (mut sum, mut top) = (0u32, i32::MIN);
    for (score, scale) in scores.iter_mut().take(count).zip(head.scales(scales)) {
        let numerator = round_shift(exp2_neg(score.saturating_sub(largest)) as i64, 15) as u32;
        sum += numerator;
        let product = numerator * scale.mantissa as u32;
        if product != 0 {
            top = top.max(32 - product.leading_zeros() as i32 + scale.exponent as i32);
        }
        *score = numerator as i32;
    }
    let exponent = if top == i32::MIN { 0 } else { top - 15 };
    for ((&numerator, scale), weight) in scores.iter().take(count).zip(head.scales(scales)).zip(weights) {
        let product = numerator as i64 * scale.mantissa as i64;
        *weight = round_shift(product, exponent - scale.exponent as i32).min(i16::MAX as i64) as i16;
    }
    (sum.max(1), exponent)
}

/// Sum of weighted values, exact in i32.
#[inline(always)]
pub(crate) fn context(head: Head, weights: &[i16], values: &[i8], out: &mut [i32]) {
    out.fill(0);
    for (value, &weight) in head.rows(values).zip(weights) {
        for (out, &value) in out.iter_mut().zip(value) {
            *out = out.wrapping_add(weight as i32 * value as i32);
        }
    }
}
