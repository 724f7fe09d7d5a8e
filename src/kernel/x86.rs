//! Kernels for x86-64 hosts that have AVX2, found at run time: evaluation runs through them.
//!
//! Weights lie as for the portable kernel. Four columns are taken at a time: `VPMADDWD` multiplies sixteen pairs and adds
//! neighbours, so that the weights of two columns are brought side by side, row by row, and the activations of the two
//! columns are repeated four times beside them.

use super::{ROWS, group_bytes, portable};
use core::arch::x86_64::*;

/// Vectors that share a pass over the weights while there are as many.
pub const TOKENS: usize = 4;

/// Columns taken at a time.
const STEP: usize = 4;

/// [`portable::specialized`]: with AVX2 where the processor has it. `f` must be inlined to gain.
#[inline(always)]
pub fn specialized<R>(f: impl FnOnce() -> R) -> R {
    #[target_feature(enable = "avx2")]
    fn with_avx2<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { with_avx2(f) }
    } else {
        f()
    }
}

/// [`portable::multiply_i8`].
pub fn multiply_i8(weights: &[[i8; ROWS]], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { avx2_multiply(weights, cols.max(1), x, rows.max(1), out) }
    } else {
        portable::multiply_i8(weights, cols, x, rows, out);
    }
}

/// [`portable::dot_i4`].
#[inline]
pub fn dot_i4<const N: usize>(block: &[u8], group: usize, x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { avx2_i4(block, group, x) }
    } else {
        portable::dot_i4(block, group, x)
    }
}

#[target_feature(enable = "avx2")]
fn avx2_multiply(weights: &[[i8; ROWS]], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let split = (x.len() / (cols * TOKENS)).min(out.len() / (rows * TOKENS));
    let (many, few) = x.split_at_checked(split * TOKENS * cols).unwrap_or_default();
    let (many_out, few_out) = out.split_at_mut_checked(split * TOKENS * rows).unwrap_or_default();
    // Sixteen registers hold the sums of two blocks with four vectors, or of four with one.
    for (x, out) in many.chunks_exact(cols * TOKENS).zip(many_out.chunks_exact_mut(rows * TOKENS)) {
        let blocks = weights.chunks_exact(cols * 2);
        let last = blocks.remainder();
        let done = blocks.len() * 2;
        blocks.enumerate().for_each(|(i, blocks)| tile::<2, TOKENS>(blocks, cols, x, i * 2, rows, out));
        last.chunks_exact(cols).for_each(|block| tile::<1, TOKENS>(block, cols, x, done, rows, out));
    }
    for (x, out) in few.chunks_exact(cols).zip(few_out.chunks_exact_mut(rows)) {
        let blocks = weights.chunks_exact(cols * 4);
        let last = blocks.remainder().chunks_exact(cols);
        let done = blocks.len() * 4;
        blocks.enumerate().for_each(|(i, blocks)| tile::<4, 1>(blocks, cols, x, i * 4, rows, out));
        last.enumerate().for_each(|(i, block)| tile::<1, 1>(block, cols, x, done + i, rows, out));
    }
}

/// `B` blocks, the first of which is the matrix's block `first`, with `N` vectors.
#[inline]
#[target_feature(enable = "avx2")]
fn tile<const B: usize, const N: usize>(
    blocks: &[[i8; ROWS]],
    cols: usize,
    x: &[i16],
    first: usize,
    rows: usize,
    out: &mut [i32],
) {
    let (Some(blocks), Some(x)) = (blocks.get(..B * cols), x.get(..N * cols)) else { return };
    let mut acc = [[_mm256_setzero_si256(); B]; N];
    for col in (0..cols / STEP * STEP).step_by(STEP) {
        let mut weights = [_mm256_setzero_si256(); B];
        for (b, weights) in weights.iter_mut().enumerate() {
            // SAFETY: four columns of block `b` are sixteen bytes within `blocks`.
            *weights = pairs(unsafe { _mm_loadu_si128(blocks.as_ptr().add(b * cols + col).cast()) });
        }
        for (n, acc) in acc.iter_mut().enumerate() {
            // SAFETY: four activations of vector `n` are eight bytes within `x`.
            let x = repeated(unsafe { _mm_loadl_epi64(x.as_ptr().add(n * cols + col).cast()) });
            for (acc, &weights) in acc.iter_mut().zip(&weights) {
                *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(weights, x));
            }
        }
    }
    // Columns that four does not divide.
    let left = cols / STEP * STEP;
    for ((acc, x), out) in acc.into_iter().zip(x.chunks_exact(cols)).zip(out.chunks_exact_mut(rows)) {
        for (b, (acc, block)) in acc.into_iter().zip(blocks.chunks_exact(cols)).enumerate() {
            let mut sums = rows_of(acc);
            for (w, &x) in block.iter().zip(x).skip(left) {
                sums.iter_mut().zip(w).for_each(|(sum, &w)| *sum = sum.wrapping_add(w as i32 * x as i32));
            }
            portable::put(first + b, sums, out);
        }
    }
}

#[target_feature(enable = "avx2")]
fn avx2_i4<const N: usize>(block: &[u8], group: usize, x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    let mut sums = [[0i32; ROWS]; N];
    let mut rest = x;
    for bytes in block.chunks(group_bytes(group)) {
        let part = rest.map(|x| x.split_at_checked(group).map_or(x, |(part, _)| part));
        rest = rest.map(|x| x.split_at_checked(group).map_or(&[][..], |(_, rest)| rest));
        let Some((scales, weights)) = bytes.split_first_chunk::<ROWS>() else { break };
        let (steps, _) = weights.as_chunks::<{ STEP * ROWS / 2 }>();
        let steps_of = part.map(|x| x.as_chunks::<STEP>());
        let shortest = steps_of.iter().fold(steps.len(), |count, x| count.min(x.0.len()));
        let mut acc = [_mm256_setzero_si256(); N];
        for (i, step) in steps.iter().take(shortest).enumerate() {
            let weights = pairs(widened(u64::from_le_bytes(*step)));
            for (acc, (x, _)) in acc.iter_mut().zip(&steps_of) {
                if let Some(x) = x.get(i) {
                    // SAFETY: four activations are eight bytes.
                    let x = repeated(unsafe { _mm_loadl_epi64(x.as_ptr().cast()) });
                    *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(weights, x));
                }
            }
        }
        let mut group_sums = acc.map(|acc| rows_of(acc));
        // Columns that four does not divide.
        let left = weights.get(shortest * STEP * ROWS / 2..).unwrap_or_default();
        for (i, &pair) in left.as_chunks::<2>().0.iter().enumerate() {
            for (sums, x) in group_sums.iter_mut().zip(part) {
                let Some(&x) = x.get(shortest * STEP + i) else { continue };
                for (sum, w) in sums.iter_mut().zip(portable::nibbles(pair)) {
                    *sum = sum.wrapping_add(w * x as i32);
                }
            }
        }
        for sums in &mut group_sums {
            sums.iter_mut().zip(scales).for_each(|(sum, &scale)| *sum = sum.wrapping_mul(scale as i32));
        }
        add(&mut sums, group_sums);
    }
    sums
}

fn add<const N: usize>(sums: &mut [[i32; ROWS]; N], more: [[i32; ROWS]; N]) {
    for (sums, more) in sums.iter_mut().zip(more) {
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
}

/// Four columns of four rows to sixteen i16: columns 0 and 1 of each row in the low half, 2 and 3 in the high one.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(columns: __m128i) -> __m256i {
    let order = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    _mm256_cvtepi8_epi16(_mm_shuffle_epi8(columns, order))
}

/// Four columns of 4-bit weights to sixteen signed bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(columns: u64) -> __m128i {
    let bytes = _mm_cvtsi64_si128(columns as i64);
    let mask = _mm_set1_epi8(15);
    let (low, high) = (_mm_and_si128(bytes, mask), _mm_and_si128(_mm_srli_epi16(bytes, 4), mask));
    // A signed nibble n is (n ^ 8) - 8.
    let eight = _mm_set1_epi8(8);
    _mm_sub_epi8(_mm_xor_si128(_mm_unpacklo_epi8(low, high), eight), eight)
}

/// Activations of four columns: the first two, four times, in the low half, the others in the high one.
#[inline]
#[target_feature(enable = "avx2")]
fn repeated(x: __m128i) -> __m256i {
    let x = _mm256_broadcastq_epi64(x);
    let order = _mm256_setr_epi8(
        0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7,
    );
    _mm256_shuffle_epi8(x, order)
}

/// The four rows' sums of both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn rows_of(acc: __m256i) -> [i32; ROWS] {
    let sum = _mm_add_epi32(_mm256_castsi256_si128(acc), _mm256_extracti128_si256(acc, 1));
    bytemuck::cast([_mm_extract_epi64(sum, 0), _mm_extract_epi64(sum, 1)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Any lengths, those too that do not fit each other: the sums are the portable kernel's.
        #[test]
        fn equal_the_portable_kernel(
            bytes in proptest::collection::vec(any::<[u8; 4]>(), 0..150),
            x in proptest::collection::vec(any::<[i16; 4]>(), 0..150),
            equal: bool,
            group in 1usize..70,
        ) {
            let x = [0, 1, 2, 3].map(|n| {
                let mut x: Vec<i16> = x.iter().map(|x| x[n]).collect();
                if equal {
                    x.resize(bytes.len(), n as i16);
                }
                x
            });
            let [x0, x1, x2, x3] = x.each_ref().map(Vec::as_slice);
            let flat = bytes.as_flattened();
            prop_assert_eq!(dot_i4(flat, group, [x0, x1, x2, x3]), portable::dot_i4(flat, group, [x0, x1, x2, x3]));
            prop_assert_eq!(dot_i4(flat, group, [x0]), portable::dot_i4(flat, group, [x0]));
        }

        /// Whole matrices, and buffers that are too short for them or too long.
        #[test]
        fn products_equal_the_portable_kernel(
            weights in proptest::collection::vec(any::<[i8; 4]>(), 0..400),
            x in proptest::collection::vec(any::<i16>(), 0..400),
            cols in 0usize..40, rows in 0usize..60, len in 0usize..300,
        ) {
            let (mut found, mut wanted) = (std::vec![7; len], std::vec![7; len]);
            multiply_i8(&weights, cols, &x, rows, &mut found);
            portable::multiply_i8(&weights, cols, &x, rows, &mut wanted);
            prop_assert_eq!(found, wanted);
        }
    }
}
