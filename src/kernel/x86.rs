//! Kernels for x86-64 hosts that have AVX2, found at run time: evaluation runs through them.
//!
//! A tile's sixteen weights, widened, are sixteen lanes: row by row, four columns each. `VPMADDWD` multiplies them by
//! the activations of the four columns, repeated for every row, and adds neighbours, so that two lanes hold each row's sums.
//! Activations are put in the columns' order of the tiles once a vector.

use super::layout::TILE;
use super::{Packing, ROWS, portable};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

/// Vectors that share a pass over the weights while there are as many, and the blocks taken together then: sixteen
/// registers hold the sums.
const MANY: usize = 4;
const BLOCKS_OF_MANY: usize = 2;
/// Blocks taken together with a single vector.
const BLOCKS_OF_ONE: usize = 8;
/// Row blocks of logits made at a time: the activations are put in order once for them.
pub const STRIP_BLOCKS: usize = 128;
/// Tiles of a block at most, with 8-bit weights: with [`MANY`] vectors 32 KB of activations. Wider ones are left to the portable kernel.
const MOST_TILES: usize = 1024;

/// Activations of a tile's four columns.
type Quad = [i16; 4];

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

/// [`portable::multiply`].
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    match Plan::of(packing, cols) {
        Some(plan) if std::is_x86_feature_detected!("avx2") => {
            let blocks = (weights.len() / plan.block_len).min(rows.div_ceil(ROWS));
            let matrix = Matrix { plan, weights: weights.get(..blocks * plan.block_len).unwrap_or_default(), rows };
            // SAFETY: the processor has AVX2.
            unsafe { matrix.times(x, out) }
        }
        _ => portable::multiply(packing, weights, cols, x, rows, out),
    }
}

/// How a block is walked.
#[derive(Clone, Copy)]
struct Plan {
    packing: Packing,
    cols: usize,
    block_len: usize,
    /// Columns of a group.
    group: usize,
}

impl Plan {
    /// `None` for what the portable kernel must do.
    fn of(packing: Packing, cols: usize) -> Option<Self> {
        let block_len = packing.block_len(cols)?;
        // Four bits a weight make half the tiles for the same activations.
        let quads = block_len / TILE * packing.tile_columns() / 4;
        (block_len > 0 && quads <= MOST_TILES).then_some(Plan { packing, cols, block_len, group: packing.group(cols) })
    }
}

struct Matrix<'a> {
    plan: Plan,
    /// Whole blocks.
    weights: &'a [u8],
    rows: usize,
}

impl Matrix<'_> {
    #[target_feature(enable = "avx2")]
    fn times(&self, x: &[i16], out: &mut [i32]) {
        let mut vectors = x.chunks_exact(self.plan.cols).zip(out.chunks_exact_mut(self.rows));
        loop {
            let mut many: [_; MANY] = core::array::from_fn(|_| vectors.next());
            if let [Some(_), Some(_), Some(_), Some(_)] = many {
                let x = many.each_ref().map(|vector| vector.as_ref().map_or(&[][..], |(x, _)| x));
                let out = many.each_mut().map(|vector| vector.as_mut().map_or(&mut [][..], |(_, out)| out));
                self.vectors::<MANY, BLOCKS_OF_MANY>(x, out);
                continue;
            }
            for (x, out) in many.into_iter().flatten() {
                self.vectors::<1, BLOCKS_OF_ONE>([x], [out]);
            }
            return;
        }
    }

    /// The matrix times `N` vectors, `B` blocks at a time while there are as many.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn vectors<const N: usize, const B: usize>(&self, x: [&[i16]; N], mut out: [&mut [i32]; N]) {
        let mut room = [const { MaybeUninit::<[Quad; N]>::uninit() }; MOST_TILES];
        let quads = ordered(self.plan, x, &mut room);
        let (together, rest) =
            self.weights.split_at(self.weights.len() / (self.plan.block_len * B) * self.plan.block_len * B);
        let mut block = 0;
        for blocks in together.chunks_exact(self.plan.block_len * B) {
            put(block, self.sums::<N, B>(blocks, quads), &mut out);
            block += B;
        }
        for weights in rest.chunks_exact(self.plan.block_len) {
            put(block, self.sums::<N, 1>(weights, quads), &mut out);
            block += 1;
        }
    }

    /// The sums of `B` blocks: two lanes a row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sums<const N: usize, const B: usize>(&self, blocks: &[u8], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
        let Plan { packing, cols, block_len, group } = self.plan;
        let mut parts = [&[][..]; B];
        for (part, block) in parts.iter_mut().zip(blocks.chunks_exact(block_len)) {
            *part = block;
        }
        if packing.scale_len() == 0 {
            let mut tiles = [&[][..]; B];
            tiles.iter_mut().zip(parts).for_each(|(tiles, part)| *tiles = part.as_chunks().0);
            return if packing == Packing::Int8Pairs { tiles_pairs(tiles, x) } else { tiles_i8(tiles, x) };
        }
        // The bits of a stored scale that count.
        let mask = packing.scale(u8::MAX) as u8;
        let (mut total, mut x) = ([[_mm256_setzero_si256(); B]; N], x);
        for first in (0..cols).step_by(group) {
            let tiles = group.min(cols - first).div_ceil(packing.tile_columns());
            let mut heads = [[0; ROWS]; B];
            let mut bodies = [&[][..]; B];
            for b in 0..B {
                let (head, rest) = parts[b].split_first_chunk().unwrap_or((&[0; ROWS], &[]));
                let (body, rest) = rest
                    .as_chunks::<TILE>()
                    .0
                    .split_at_checked(tiles)
                    .map_or((&[][..], &[][..]), |(body, _)| (body, rest.get(tiles * TILE..).unwrap_or_default()));
                (heads[b], bodies[b], parts[b]) = (*head, body, rest);
            }
            let quads = tiles * packing.tile_columns() / 4;
            let (here, rest) = x.split_at_checked(quads).unwrap_or_default();
            x = rest;
            let sums = match packing {
                Packing::Int4(_) => tiles_i4(bodies, here),
                _ => tiles_i8(bodies, here),
            };
            for (total, sums) in total.iter_mut().zip(sums) {
                for ((total, sum), scales) in total.iter_mut().zip(sums).zip(heads) {
                    *total = _mm256_add_epi32(*total, _mm256_mullo_epi32(sum, scale_lanes(scales, mask)));
                }
            }
        }
        total
    }
}

/// Puts the activations of `N` vectors in the order of the tiles' columns, padded to whole tiles with zeros.
#[inline(always)]
fn ordered<'r, const N: usize>(
    plan: Plan,
    x: [&[i16]; N],
    room: &'r mut [MaybeUninit<[Quad; N]>; MOST_TILES],
) -> &'r [[Quad; N]] {
    let wide = plan.packing.tile_columns() == 8;
    let mut used = 0;
    let mut rest = x;
    while rest.iter().all(|x| !x.is_empty()) {
        let group = rest.map(|x| x.split_at_checked(plan.group).map_or(x, |(group, _)| group));
        rest = rest.map(|x| x.split_at_checked(plan.group).map_or(&[][..], |(_, rest)| rest));
        let len = group.map(<[i16]>::len).into_iter().min().unwrap_or(0);
        for first in (0..len).step_by(plan.packing.tile_columns()) {
            let at = |n: usize, col: usize| group[n].get(first + col).copied().unwrap_or(0);
            let quads: [[Quad; N]; 2] = if wide {
                [
                    core::array::from_fn(|n| [at(n, 0), at(n, 4), at(n, 1), at(n, 5)]),
                    core::array::from_fn(|n| [at(n, 2), at(n, 6), at(n, 3), at(n, 7)]),
                ]
            } else {
                [core::array::from_fn(|n| [at(n, 0), at(n, 2), at(n, 1), at(n, 3)]), [[0; 4]; N]]
            };
            for quad in quads.into_iter().take(if wide { 2 } else { 1 }) {
                let Some(place) = room.get_mut(used) else { break };
                place.write(quad);
                used += 1;
            }
        }
    }
    let written = room.get(..used).unwrap_or_default();
    // SAFETY: the loop has written the first `used` of them.
    unsafe { &*(core::ptr::from_ref(written) as *const [[Quad; N]]) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn tiles_i8<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
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
fn tiles_pairs<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
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
fn tiles_i4<const N: usize, const B: usize>(tiles: [&[[u8; TILE]]; B], x: &[[Quad; N]]) -> [[__m256i; B]; N] {
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

/// A group's scales, of each byte the bits of `mask`, as the sums lie.
#[inline]
#[target_feature(enable = "avx2")]
fn scale_lanes(scales: [u8; ROWS], mask: u8) -> __m256i {
    let scales = _mm_cvtsi32_si128(i32::from_le_bytes(scales));
    let scales = _mm_and_si128(scales, _mm_set1_epi8(mask as i8));
    _mm256_cvtepu8_epi32(_mm_unpacklo_epi8(scales, scales))
}

/// Writes the sums of `B` blocks, the first of which is `block`.
#[inline]
#[target_feature(enable = "avx2")]
fn put<const N: usize, const B: usize>(block: usize, sums: [[__m256i; B]; N], out: &mut [&mut [i32]; N]) {
    for (sums, out) in sums.into_iter().zip(out) {
        for (b, sums) in sums.into_iter().enumerate() {
            // In each half: two rows, and the same again.
            let rows = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums, sums), 0b1000);
            let rows = _mm256_castsi256_si128(rows);
            portable::put(block + b, bytemuck::cast([_mm_extract_epi64(rows, 0), _mm_extract_epi64(rows, 1)]), out);
        }
    }
}
