//! Kernels for x86-64 hosts that have AVX2, found at run time: evaluation runs through them.
//!
//! Weights lie as for the portable kernel. Four columns are taken at a time: `VPMADDWD` multiplies sixteen pairs and adds
//! neighbours, so that the weights of two columns are brought side by side, row by row, and the activations of the two
//! columns are repeated four times beside them.

use super::{ROWS, group_bytes, portable};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

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

/// Columns whose activations are spread out at a time: with [`TOKENS`] vectors 16 KB, half of the first cache.
const PANEL: usize = 512;

#[target_feature(enable = "avx2")]
fn avx2_multiply(weights: &[[i8; ROWS]], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let tokens = (x.len() / cols).min(out.len() / rows);
    let many = tokens / TOKENS * TOKENS;
    // Sixteen registers hold the sums of two blocks with four vectors, or of four with one.
    for token in (0..many).step_by(TOKENS) {
        vectors::<2, TOKENS>(weights, cols, x.get(token * cols..).unwrap_or_default(), rows, from(out, token * rows));
    }
    for token in many..tokens {
        vectors::<4, 1>(weights, cols, x.get(token * cols..).unwrap_or_default(), rows, from(out, token * rows));
    }
}

fn from(out: &mut [i32], start: usize) -> &mut [i32] {
    out.get_mut(start..).unwrap_or_default()
}

/// A matrix with the first `N` vectors, `B` blocks at a time while there are as many.
#[inline]
#[target_feature(enable = "avx2")]
fn vectors<const B: usize, const N: usize>(
    weights: &[[i8; ROWS]],
    cols: usize,
    x: &[i16],
    rows: usize,
    out: &mut [i32],
) {
    let blocks = (weights.len() / cols).min(rows.div_ceil(ROWS));
    let mut spread = [const { [MaybeUninit::uninit(); N] }; PANEL / STEP];
    for start in (0..cols).step_by(PANEL) {
        let end = cols.min(start + PANEL);
        let steps = (end - start) / STEP;
        for (step, spread) in spread.iter_mut().take(steps).enumerate() {
            for (n, spread) in spread.iter_mut().enumerate() {
                let at = n * cols + start + step * STEP;
                let four = x.get(at..).and_then(|x| x.first_chunk()).unwrap_or(&[0; STEP]);
                spread.write(repeated(four));
            }
        }
        let spread = spread.get(..steps).unwrap_or_default();
        // SAFETY: the loop above has written the first `steps` of them.
        let spread = unsafe { &*(core::ptr::from_ref(spread) as *const [[__m256i; N]]) };
        let panel = Panel { spread, x, cols, rows, start, end };
        let mut block = 0;
        while block < blocks {
            let weights = weights.get(block * cols..).unwrap_or_default();
            if blocks - block >= B {
                panel.tile::<B>(weights, block, out);
                block += B;
            } else {
                panel.tile::<1>(weights, block, out);
                block += 1;
            }
        }
    }
}

/// Columns `start..end` of `N` vectors: whole steps of them spread out.
struct Panel<'x, const N: usize> {
    spread: &'x [[__m256i; N]],
    x: &'x [i16],
    cols: usize,
    rows: usize,
    start: usize,
    end: usize,
}

impl<const N: usize> Panel<'_, N> {
    /// The first `B` of `blocks`, which are the matrix's blocks from `first` on. Later panels add to the sums.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn tile<const B: usize>(&self, blocks: &[[i8; ROWS]], first: usize, out: &mut [i32]) {
        let (cols, rows) = (self.cols, self.rows);
        let Some(blocks) = blocks.get(..B * cols) else { return };
        let mut acc = [[_mm256_setzero_si256(); B]; N];
        for (step, x) in self.spread.iter().enumerate() {
            let mut weights = [_mm256_setzero_si256(); B];
            for (b, weights) in weights.iter_mut().enumerate() {
                // SAFETY: the step's columns lie before `end`, which is at most `cols`: in block `b` they are sixteen bytes
                // within `blocks`.
                let at = unsafe { blocks.as_ptr().add(b * cols + self.start + step * STEP) };
                // SAFETY: as above.
                *weights = pairs(unsafe { _mm_loadu_si128(at.cast()) });
            }
            for (acc, &x) in acc.iter_mut().zip(x) {
                for (acc, &weights) in acc.iter_mut().zip(&weights) {
                    *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(weights, x));
                }
            }
        }
        let left = self.start + self.spread.len() * STEP;
        for (n, acc) in acc.into_iter().enumerate() {
            for (b, acc) in acc.into_iter().enumerate() {
                let mut sums = rows_of(acc);
                // Columns that four does not divide.
                for col in left..self.end {
                    let (Some(w), Some(&x)) = (blocks.get(b * cols + col), self.x.get(n * cols + col)) else { break };
                    sums.iter_mut().zip(w).for_each(|(sum, &w)| *sum = sum.wrapping_add(w as i32 * x as i32));
                }
                let row = (first + b) * ROWS;
                let live = rows.saturating_sub(row).min(ROWS);
                let out = out.get_mut(n * rows + row..n * rows + row + live).unwrap_or_default();
                match out.first_chunk_mut() {
                    Some(out) if self.start == 0 => *out = sums,
                    _ => {
                        for (out, sum) in out.iter_mut().zip(sums) {
                            *out = if self.start == 0 { sum } else { out.wrapping_add(sum) };
                        }
                    }
                }
            }
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
                    *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(weights, repeated(x)));
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
fn repeated(x: &[i16; STEP]) -> __m256i {
    // SAFETY: four activations are eight bytes.
    let x = unsafe { _mm_loadl_epi64(x.as_ptr().cast()) };
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
