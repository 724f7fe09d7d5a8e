//! Softmax of one head: scores, and the weights of the values.

use crate::kernel::{self, specialized};
use crate::num::{Multiplier, Scale, round_shift};

/// Fraction bits of a score in the base-2 logarithm.
pub(super) const SCORE_FRAC: i32 = 16;
/// The largest magnitude of a score: beyond any that a softmax can tell apart, and far enough from the ends of i32.
const LARGEST: i64 = 1 << 29;
/// More than `log2(x) - (x - 1)` for `x` in 1 ..= 2 (0.08607), and than all that rounding adds to a weight: Q16.
const ABOVE_LINE: i32 = 5_660;
/// What is the same in all logarithms: a mantissa's exponent, the line's start and what it is raised by.
const LOGARITHM: i32 = (14 << 16) - (1 << 16) + ABOVE_LINE;

/// The largest of a head's scores, by which its softmax is scaled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peak {
    /// The largest score, Q16.
    score: i32,
    /// No less than the logarithm of the largest product of a numerator and its value's scale, and less than 0.09 above
    /// it. Q16.
    product: i32,
}

/// Products of a query and its keys become scores in base 2, Q16: times `multiplier` and the keys' scales. They are rounded
/// down, which all have in common; softmax sees only their differences.
#[inline(always)]
pub(crate) fn scores(multiplier: Multiplier, keys: &[Scale], values: &[Scale], scores: &mut [i32]) -> Peak {
    let shift = multiplier.shift.wrapping_sub(SCORE_FRAC + 32);
    let begun = kernel::attention::begin_scores(multiplier.mantissa, shift, keys, values, scores);
    let mut peak = Peak { score: begun.score, product: begun.product };
    if begun.done > 0 {
        peak.product = peak.product.wrapping_add(LOGARITHM);
    }
    match (keys.get(begun.done..), values.get(begun.done..), scores.get_mut(begun.done..)) {
        (Some(keys), Some(values), Some(scores @ [_, ..])) => other_scores(peak, multiplier, keys, values, scores),
        _ => peak,
    }
}

// Not inlined: the loop has the registers for itself.
#[inline(never)]
fn other_scores(peak: Peak, multiplier: Multiplier, keys: &[Scale], values: &[Scale], scores: &mut [i32]) -> Peak {
    specialized(
        #[inline(always)]
        || finish_scores(peak, multiplier, keys, values, scores),
    )
}

#[inline(always)]
fn finish_scores(mut peak: Peak, multiplier: Multiplier, keys: &[Scale], values: &[Scale], scores: &mut [i32]) -> Peak {
    let shift = multiplier.shift.wrapping_sub(SCORE_FRAC + 32);
    for ((score, key), value) in scores.iter_mut().zip(keys).zip(values) {
        let mantissa = multiplier.mantissa.wrapping_mul(key.mantissa as u32);
        *score = times(*score, mantissa, shift.wrapping_sub(key.exponent as i32));
        peak.score = peak.score.max(*score);
        peak.product = peak.product.max(score.wrapping_add(logarithm(*value)));
    }
    peak
}

/// `sum * mantissa * 2^-(32 + shift)`, rounded down, of at most [`LARGEST`]; `mantissa` is at most 2^30.
#[inline(always)]
fn times(sum: i32, mantissa: u32, shift: i32) -> i32 {
    let product = sum as i64 * (mantissa as i32) as i64;
    if shift >= 0 { (product >> 32) as i32 >> shift.min(31) } else { times_large(product, 32 + shift) }
}

/// Scores near the ends of their format, and those of short heads.
#[cold]
#[inline(never)]
fn times_large(product: i64, shift: i32) -> i32 {
    let score = if shift > 0 { product >> shift } else { round_shift(product, shift) };
    score.clamp(-LARGEST, LARGEST) as i32
}

/// No less than the base-2 logarithm of a scale, Q16: on the line from one power of two to the next, raised above the
/// curve.
#[inline(always)]
fn logarithm(scale: Scale) -> i32 {
    ((scale.exponent as i32) << 16).wrapping_add(((scale.mantissa as i32) << 2) + LOGARITHM)
}

/// What the sum of weighted values is still to be multiplied with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Normalizer {
    /// Sum of the numerators, Q30.
    pub sum: u64,
    /// The weights are in units of `2^exponent`, relative to the numerators' one.
    pub exponent: i32,
}

/// Weights of the values, at most 2^15 - 1: softmax numerators times the values' scales, in a unit chosen so that the
/// largest product, not the largest scale, fills them to 94 % at least: a position that is not attended to takes no
/// precision from those that are. The sum of the numerators, by which the context is still to be divided, is exact but
/// for their own error.
#[inline(always)]
pub(crate) fn softmax(peak: Peak, values: &[Scale], scores: &[i32], weights: &mut [i16]) -> Normalizer {
    // Numerators are relative to a score that is larger by a fraction of a power of two, so that whole powers of two
    // bring the largest product to one.
    let one = peak.score.wrapping_add(peak.product.wrapping_sub(peak.score) & 0xffff);
    let above = one.wrapping_sub(peak.product) >> 16;
    // The kernel's products are in Q14 and its weights, of which one is 2^15, are whole.
    let sum = kernel::softmax(one, -1 - above, scores, values, weights);
    Normalizer { sum: sum.max(1), exponent: -15 - above }
}
