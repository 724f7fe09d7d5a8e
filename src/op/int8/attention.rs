//! Attention of some tokens over the same cached keys and values.

use super::Int8;
use super::cache::Head;
use super::quantize::dynamic;
use super::softmax::{Normalizer, scores, softmax};
use crate::engine::{AttendScratch, Cached, Watched};
use crate::kernel;
use crate::num::{Multiplier, requantize, rsqrt};

/// Bits of a quantized query: on cores that multiply 16 by 16 bits they cost what 8 do.
const QUERY_BITS: u8 = 16;
/// log2(e) / (32767 * 127) in Q52: softmax in base 2, and the divisions the two scales leave out.
const SCORE_SCALE: u64 = 1_561_309_843;
/// 1 / 127 in Q37: the division the value scales leave out.
const VALUE_SCALE: u64 = 1_082_196_484;

/// Tokens that attend together: each key and value is unpacked once for them.
pub(crate) const TOGETHER: usize = 8;

/// `queries` become contexts, in `value_frac` fraction bits.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an attention has this many inputs")]
pub(super) fn attend(
    queries: &mut [i32],
    d_model: usize,
    frac: i8,
    keys: Cached<Int8>,
    values: Cached<Int8>,
    value_frac: i8,
    heads: usize,
    scratch: &mut AttendScratch<Int8>,
) {
    let d_model = d_model.max(1);
    let head_dim = (d_model / heads.max(1)).max(1);
    let root = rsqrt(head_dim as u64);
    let constant =
        Multiplier { mantissa: ((SCORE_SCALE * root.mantissa as u64) >> 31) as u32, shift: 52 + root.shift - 31 };
    let sizes = Sizes::of(keys, values, head_dim);
    let together = (queries.len() / d_model).min(TOGETHER).min(sizes.fit(scratch));
    for (part, queries) in queries.chunks_mut((together * d_model).max(d_model)).enumerate() {
        for head in 0..heads {
            let (keys, values) = (Head::of(keys, head, head_dim), Head::of(values, head, head_dim));
            let formats = Formats { constant, frac, value_frac };
            attend_head(queries, d_model, (part * together.max(1), head), formats, keys, values, sizes, scratch);
        }
    }
}

/// What a token takes of the scratch buffers.
#[derive(Clone, Copy)]
struct Sizes {
    head_dim: usize,
    visible: usize,
    /// Weights, in whole chunks.
    weights: usize,
}

impl Sizes {
    fn of(keys: Cached<Int8>, values: Cached<Int8>, head_dim: usize) -> Self {
        let weights = keys.visible.next_multiple_of(values.room.chunk.max(4));
        Sizes { head_dim, visible: keys.visible, weights }
    }

    /// Tokens for which the buffers have room.
    fn fit(self, scratch: &AttendScratch<Int8>) -> usize {
        let scores = scratch.scores.len() / self.visible.max(2 * self.head_dim).max(1);
        scores.min(scratch.inputs.len() / (self.head_dim.next_multiple_of(4) + self.weights).max(1))
    }
}

/// What the numbers are in.
#[derive(Clone, Copy)]
struct Formats {
    /// Of the scores, but for the scales of query and key.
    constant: Multiplier,
    /// Fraction bits of the queries, and of the values.
    frac: i8,
    value_frac: i8,
}

/// One head of up to [`TOGETHER`] tokens, whose numbers start from `first`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an attention has this many inputs")]
fn attend_head(
    queries: &mut [i32],
    d_model: usize,
    (first, head): (usize, usize),
    Formats { constant, frac, value_frac }: Formats,
    keys: Head,
    values: Head,
    sizes: Sizes,
    scratch: &mut AttendScratch<Int8>,
) {
    let Sizes { head_dim, visible, weights: weights_len } = sizes;
    let part = head * head_dim..(head + 1) * head_dim;
    // Of the scores, then of the context.
    let mut multipliers = [Multiplier::default(); TOGETHER];
    let count = (queries.len() / d_model).min(TOGETHER);
    let Some((q, weights)) = scratch.inputs.split_at_mut_checked((count * head_dim).next_multiple_of(4)) else {
        return;
    };
    let Some(q) = q.get_mut(..count * head_dim) else { return };
    let Some(weights) = weights.get_mut(..count * weights_len) else { return };
    let heads = queries.chunks_exact(d_model).map(|query| query.get(part.clone()).unwrap_or_default());
    for ((multiplier, query), q) in multipliers.iter_mut().zip(heads).zip(q.chunks_exact_mut(head_dim)) {
        *multiplier = constant.times_scale(dynamic(query, frac, QUERY_BITS, q));
    }
    let multipliers = multipliers.get_mut(..count).unwrap_or_default();
    {
        let Some(sums) = scratch.scores.get_mut(..count * visible) else { return };
        keys.times_keys(q, sums);
        let rows = sums.chunks_exact_mut(visible.max(1)).zip(weights.chunks_exact_mut(weights_len.max(1)));
        for (number, (multiplier, (sums, weights))) in (first..).zip(multipliers.iter_mut().zip(rows)) {
            let peak = scores(*multiplier, keys.scales, values.scales, sums);
            Watched::note(&mut scratch.watched, head, number, sums);
            *multiplier = division(softmax(peak, values.scales, sums, weights), value_frac);
            weights.iter_mut().skip(visible).for_each(|weight| *weight = 0);
        }
    }
    // The scores have done their service.
    let Some((contexts, sums)) = scratch.scores.split_at_mut_checked(count * head_dim) else { return };
    values.times_values(weights, sums, contexts);
    let heads = queries.chunks_exact_mut(d_model).map(|query| query.get_mut(part.clone()).unwrap_or_default());
    for ((multiplier, query), context) in multipliers.iter().zip(heads).zip(contexts.chunks_exact(head_dim)) {
        divide(context, *multiplier, query);
    }
}

/// What sums of weighted values are multiplied with: the division by the sum of the softmax numerators and by 127.
#[inline(always)]
pub(crate) fn division(normalizer: Normalizer, value_frac: i8) -> Multiplier {
    // 1 / sum as 2^-62 times 31 bits: a quotient of 16 bits, then one step of Newton's iteration.
    let zeros = normalizer.sum.leading_zeros();
    let sum = (normalizer.sum << zeros) >> 32;
    let rough = u32::MAX.checked_div((sum >> 16) as u32).unwrap_or(0) as i64;
    let rest = (1 << 48) - rough * sum as i64;
    let inverse = ((rough << 14) + ((rough * rest) >> 34)) as u64;
    // Below 2^31.
    let mantissa = ((inverse * VALUE_SCALE) >> 31) as u32;
    // acc * 2^exponent * (2^-(32 - zeros) * inverse * 2^-62 * 2^30) * VALUE_SCALE * 2^-37 * 2^value_frac
    let shift = 101 - 31 - zeros as i32 - normalizer.exponent - value_frac as i32;
    Multiplier { mantissa, shift }
}

/// Sums of weighted values to a context; one rounding.
#[inline(always)]
pub(crate) fn divide(sums: &[i32], Multiplier { mantissa, shift }: Multiplier, out: &mut [i32]) {
    let mantissa = mantissa as i32;
    if let 33..=62 = shift {
        // Half a unit is in the upper word alone.
        kernel::attention::upper(sums, mantissa, 1 << (shift - 33), shift - 32, out);
    } else {
        scale_any(sums, mantissa, shift, out);
    }
}

/// Shifts that no ordinary model has.
#[cold]
#[inline(never)]
fn scale_any(sums: &[i32], mantissa: i32, shift: i32, out: &mut [i32]) {
    out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = requantize(sum, mantissa as u32, shift));
}
