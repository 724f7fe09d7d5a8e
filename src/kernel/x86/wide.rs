//! Tiles times activations with AVX-512: thirty-two lanes, two tiles, which `VPDPWSSD` multiplies and adds at once.
//!
//! The sums of the two tiles are added at the end: they lie as those of [`super::tiles`] do.

use super::{Quad, TILE};
use core::arch::x86_64::*;

/// A processor that has what these functions need: nothing else makes one.
#[derive(Clone, Copy)]
pub struct Wide(());

impl Wide {
    pub fn detect() -> Option<Self> {
        use std::is_x86_feature_detected as has;
        let all = has!("avx2") && has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vnni");
        all.then_some(Wide(()))
    }
}

/// Tiles of bytes, or with `PAIRS` of pairs of bytes.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn tiles_i8<const N: usize, const B: usize, const PAIRS: bool>(
    tiles: [&[[u8; TILE]]; B],
    x: &[[Quad; N]],
) -> [[__m256i; B]; N] {
    let mut acc = [[_mm512_setzero_si512(); B]; N];
    let count = tiles.iter().fold(x.len(), |count, tiles| count.min(tiles.len()));
    let (pairs, odd) = x.get(..count).unwrap_or_default().as_chunks::<2>();
    for (i, [low, high]) in pairs.iter().enumerate() {
        let mut weights = [_mm512_setzero_si512(); B];
        for (weights, tiles) in weights.iter_mut().zip(tiles) {
            // SAFETY: `2 i + 1` is below the length of each; two tiles are thirty-two bytes.
            *weights = widened::<PAIRS>(unsafe { _mm256_loadu_si256(tiles.as_ptr().add(2 * i).cast()) });
        }
        multiply_add(&mut acc, weights, low, high);
    }
    if let [low] = odd {
        let mut weights = [_mm512_setzero_si512(); B];
        for (weights, tiles) in weights.iter_mut().zip(tiles) {
            // SAFETY: the last of `count` tiles, sixteen bytes.
            let bytes = unsafe { _mm_loadu_si128(tiles.as_ptr().add(count - 1).cast()) };
            *weights = widened::<PAIRS>(_mm256_zextsi128_si256(bytes));
        }
        multiply_add(&mut acc, weights, low, low);
    }
    folded(acc)
}

/// Tiles of half bytes: one is as many weights as two of bytes.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
pub fn tiles_i4<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
    let mut acc = [[_mm512_setzero_si512(); B]; N];
    let (mask, offset) = (_mm256_set1_epi8(15), _mm256_set1_epi8(8));
    let upper = _mm256_set_epi32(4, 4, 4, 4, 0, 0, 0, 0);
    let (pairs, _) = x.as_chunks::<2>();
    let count = tiles.iter().fold(pairs.len(), |count, tiles| count.min(tiles.len()));
    for (i, [low, high]) in pairs.iter().enumerate().take(count) {
        let mut weights = [_mm512_setzero_si512(); B];
        for (weights, tiles) in weights.iter_mut().zip(tiles) {
            // SAFETY: `i` is below the length of each; a tile is sixteen bytes.
            let bytes = unsafe { _mm_loadu_si128(tiles.as_ptr().add(i).cast()) };
            let halves = _mm256_and_si256(_mm256_srlv_epi32(_mm256_broadcastsi128_si256(bytes), upper), mask);
            *weights = _mm512_cvtepi8_epi16(_mm256_sub_epi8(halves, offset));
        }
        multiply_add(&mut acc, weights, low, high);
    }
    folded(acc)
}

/// Weights of stored bytes.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
fn widened<const PAIRS: bool>(bytes: __m256i) -> __m512i {
    let weights = _mm512_cvtepi8_epi16(bytes);
    if !PAIRS {
        return weights;
    }
    // The lower byte's sign, brought beside the upper byte.
    let borrowed = _mm256_slli_epi16(_mm256_srli_epi16(_mm256_slli_epi16(bytes, 8), 15), 8);
    _mm512_add_epi16(weights, _mm512_cvtepi8_epi16(borrowed))
}

/// Adds two tiles' products: `low` are the activations of the first.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
fn multiply_add<const N: usize, const B: usize>(
    acc: &mut [[__m512i; B]; N],
    weights: [__m512i; B],
    low: &[Quad; N],
    high: &[Quad; N],
) {
    for ((acc, low), high) in acc.iter_mut().zip(low).zip(high) {
        let [low, high] = [low, high].map(|quad| bytemuck::cast(*quad));
        let x = _mm512_mask_set1_epi64(_mm512_set1_epi64(low), 0b1111_0000, high);
        for (acc, weights) in acc.iter_mut().zip(weights) {
            *acc = _mm512_dpwssd_epi32(*acc, weights, x);
        }
    }
}

/// The sums of both tiles.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512vl,avx512vnni")]
fn folded<const N: usize, const B: usize>(acc: [[__m512i; B]; N]) -> [[__m256i; B]; N] {
    let mut sums = [[_mm256_setzero_si256(); B]; N];
    for (sums, acc) in sums.iter_mut().zip(acc) {
        for (sum, acc) in sums.iter_mut().zip(acc) {
            *sum = _mm256_add_epi32(_mm512_castsi512_si256(acc), _mm512_extracti64x4_epi64(acc, 1));
        }
    }
    sums
}
