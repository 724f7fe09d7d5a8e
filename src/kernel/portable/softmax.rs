//! The inner loop of softmax.

use super::super::specialized;
use crate::num::{Scale, exp2_parts};

/// The smallest numerator told apart from smaller ones, as a power of two: far below all that a sum keeps.
const FARTHEST: u32 = 127;

/// Softmax numerators `2^-(one - score)`, whose sum is returned in Q30, times the scales: weights
/// `numerator * scale * 2^(14 - align)`, rounded half up.
///
/// Scores are in Q16, none of them above `one` and none more than 2^30 below it; scales are those of a cache, and `align`
/// has been chosen so that no weight exceeds 2^15 - 1. With other data the weights are of no use, and may differ from
/// kernel to kernel.
// Not inlined: the loop has the registers for itself.
#[inline(never)]
pub fn softmax(one: i32, align: i32, scores: &[i32], scales: &[Scale], weights: &mut [i16]) -> u64 {
    specialized(
        #[inline(always)]
        || {
            let mut sum = 0u64;
            for ((&score, scale), weight) in scores.iter().zip(scales).zip(weights) {
                let (mantissa, whole) = exp2_parts(one.wrapping_sub(score));
                let whole = whole.min(FARTHEST);
                sum += (mantissa >> whole.min(31)) as u64;
                let product = ((mantissa as u64 * ((scale.mantissa as u32) << 16) as u64) >> 32) as u32;
                // Below 2^30, of which no more than 30 bits can be dropped.
                let shift = (whole as i32).wrapping_add(align).wrapping_sub(scale.exponent as i32) as u8;
                *weight = ((product >> (shift.clamp(1, 31) - 1)).wrapping_add(1) >> 1) as i16;
            }
            sum
        },
    )
}
