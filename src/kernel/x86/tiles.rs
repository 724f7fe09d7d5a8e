//! Tiles times activations with AVX2: sixteen lanes, a tile.

use super::{Quad, TILE};
use core::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx2")]
pub fn tiles_i8<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
    let mut acc = [[_mm256_setzero_si256(); B]; N];
    let count = tiles.iter().fold(x.len(), |count, tiles| count.min(tiles.len()));
    for (i, x) in x.iter().enumerate().take(count) {
        let mut weights = [_mm256_setzero_si256(); B];
        for (weights, tiles) in weights.iter_mut().zip(tiles) {
            // SAFETY: `i` is below the length of each; a tile is sixteen bytes.
            *weights = unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(tiles.as_ptr().add(i).cast())) };
        }
        multiply_add(&mut acc, weights, x);
    }
    acc
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn tiles_pairs<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
    let mut acc = [[_mm256_setzero_si256(); B]; N];
    let one = _mm_set1_epi16(1);
    let count = tiles.iter().fold(x.len(), |count, tiles| count.min(tiles.len()));
    for (i, x) in x.iter().enumerate().take(count) {
        let mut weights = [_mm256_setzero_si256(); B];
        for (weights, tiles) in weights.iter_mut().zip(tiles) {
            // SAFETY: `i` is below the length of each; a tile is sixteen bytes.
            let bytes = unsafe { _mm_loadu_si128(tiles.as_ptr().add(i).cast()) };
            // The lower byte's sign, brought beside the upper byte.
            let borrowed = _mm_slli_epi16(_mm_and_si128(_mm_srli_epi16(bytes, 7), one), 8);
            *weights = _mm256_add_epi16(_mm256_cvtepi8_epi16(bytes), _mm256_cvtepi8_epi16(borrowed));
        }
        multiply_add(&mut acc, weights, x);
    }
    acc
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn tiles_i4<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
    let mut acc = [[_mm256_setzero_si256(); B]; N];
    let (mask, offset) = (_mm_set1_epi8(15), _mm_set1_epi8(8));
    let (pairs, _) = x.as_chunks::<2>();
    let count = tiles.iter().fold(pairs.len(), |count, tiles| count.min(tiles.len()));
    for (i, [low, high]) in pairs.iter().enumerate().take(count) {
        let mut weights = [[_mm256_setzero_si256(); B]; 2];
        for (b, tiles) in tiles.iter().enumerate() {
            // SAFETY: `i` is below the length of each; a tile is sixteen bytes.
            let bytes = unsafe { _mm_loadu_si128(tiles.as_ptr().add(i).cast()) };
            for (weights, bytes) in weights.iter_mut().zip([bytes, _mm_srli_epi16(bytes, 4)]) {
                weights[b] = _mm256_cvtepi8_epi16(_mm_sub_epi8(_mm_and_si128(bytes, mask), offset));
            }
        }
        multiply_add(&mut acc, weights[0], low);
        multiply_add(&mut acc, weights[1], high);
    }
    acc
}

#[inline]
#[target_feature(enable = "avx2")]
fn multiply_add<const N: usize, const B: usize>(acc: &mut [[__m256i; B]; N], weights: [__m256i; B], x: &[Quad; N]) {
    for (acc, x) in acc.iter_mut().zip(x) {
        let x = _mm256_set1_epi64x(bytemuck::cast(*x));
        for (acc, weights) in acc.iter_mut().zip(weights) {
            *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(weights, x));
        }
    }
}
