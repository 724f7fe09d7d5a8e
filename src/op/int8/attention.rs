//! Attention of one token over cached keys and values.

use super::Int8;
use super::cache::Head;
use super::quantize::dynamic;
use super::softmax::{Normalizer, scores, softmax};
use crate::engine::{AttendScratch, Cached};
use crate::num::{Multiplier, requantize_each, rsqrt};

/// Bits of a quantized query: on cores that multiply 16 by 16 bits they cost what 8 do.
const QUERY_BITS: u8 = 16;
/// log2(e) / (32767 * 127) in Q52: softmax in base 2, and the divisions the two scales leave out.
const SCORE_SCALE: u64 = 1_561_309_843;
/// 1 / 127 in Q37: the division the value scales leave out.
const VALUE_SCALE: u64 = 1_082_196_484;

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
    let head_dim = (query.len() / heads.max(1)).max(1);
    let root = rsqrt(head_dim as u64);
    let constant =
        Multiplier { mantissa: ((SCORE_SCALE * root.mantissa as u64) >> 31) as u32, shift: 52 + root.shift - 31 };
    for (head, query) in query.chunks_exact_mut(head_dim).enumerate() {
        let (keys, values) = (Head::of(keys, head, head_dim), Head::of(values, head, head_dim));
        let visible = keys.scales.len();
        let Some((q, weights)) = scratch.inputs.split_at_mut_checked(head_dim.next_multiple_of(4)) else { return };
        let (Some(q), Some(weights)) = (q.get_mut(..head_dim), weights.get_mut(..values.weights_len())) else { return };
        let Some(sums) = scratch.scores.get_mut(..visible) else { return };
        let query_scale = dynamic(query.iter().copied(), frac, QUERY_BITS, q);
        keys.times_keys(q, sums);
        let peak = scores(constant.times_scale(query_scale), keys.scales, values.scales, sums);
        let normalizer = softmax(peak, values.scales, sums, weights);
        weights.iter_mut().skip(visible).for_each(|weight| *weight = 0);
        // The scores have done their service.
        values.times_values(weights, scratch.scores, query);
        normalize(query, normalizer, value_frac);
    }
}

/// Divides by the sum of the softmax numerators and by 127; one rounding.
#[inline(always)]
pub(crate) fn normalize(context: &mut [i32], normalizer: Normalizer, value_frac: i8) {
    // 1 / sum as 2^-62 times 31 bits: a quotient of 16 bits, then one step of Newton's iteration.
    let zeros = normalizer.sum.leading_zeros();
    let sum = (normalizer.sum << zeros) >> 32;
    let rough = u32::MAX.checked_div((sum >> 16) as u32).unwrap_or(0) as i64;
    let rest = (1 << 48) - rough * sum as i64;
    let inverse = ((rough << 14) + ((rough * rest) >> 34)) as u64;
    let mantissa = ((inverse * VALUE_SCALE) >> 31) as u32;
    // acc * 2^exponent * (2^-(32 - zeros) * inverse * 2^-62 * 2^30) * VALUE_SCALE * 2^-37 * 2^value_frac
    let shift = 101 - 31 - zeros as i32 - normalizer.exponent - value_frac as i32;
    if let 33..=62 = shift {
        // Half a unit is in the upper word alone.
        let half = 1 << (shift - 33);
        for context in context {
            let product = (*context as i64 * mantissa as i64) >> 32;
            *context = (product as i32).wrapping_add(half) >> (shift - 32);
        }
    } else {
        requantize_each(shift, context.iter_mut().map(|context| (context, mantissa)));
    }
}
