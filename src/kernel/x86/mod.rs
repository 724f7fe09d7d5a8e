//! Kernels for x86-64 hosts that have AVX2, and for those that have AVX-512 with VNNI, found at run time: evaluation runs
//! through them.
//!
//! A tile's sixteen weights, widened, are sixteen lanes: row by row, four columns each. `VPMADDWD` multiplies them by
//! the activations of the four columns, repeated for every row, and adds neighbours, so that two lanes hold each row's sums.
//! Activations are put in the columns' order of the tiles once a vector.

mod tiles;
mod wide;

use super::layout::TILE;
use super::{Packing, ROWS, portable};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use tiles::{tiles_i4, tiles_i8, tiles_pairs};
use wide::Wide;

/// Vectors that share a pass over the weights while there are as many, and the blocks taken together then: of sixteen
/// registers, and of thirty-two, most hold sums.
const MANY: usize = 4;
const BLOCKS_OF_MANY: usize = 2;
const WIDE_BLOCKS_OF_MANY: usize = 4;
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
    multiply_by(Wide::detect(), packing, weights, cols, x, rows, out);
}

/// [`multiply`] with AVX2 where the processor has AVX-512 too.
#[cfg(test)]
pub fn multiply_narrow(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    multiply_by(None, packing, weights, cols, x, rows, out);
}

/// [`multiply`].
fn multiply_by(
    wide: Option<Wide>,
    packing: Packing,
    weights: &[u8],
    cols: usize,
    x: &[i16],
    rows: usize,
    out: &mut [i32],
) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    match Plan::of(packing, cols, wide) {
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
    /// AVX-512, to be used.
    wide: Option<Wide>,
}

impl Plan {
    /// `None` for what the portable kernel must do.
    fn of(packing: Packing, cols: usize, wide: Option<Wide>) -> Option<Self> {
        let block_len = packing.block_len(cols)?;
        // Four bits a weight make half the tiles for the same activations.
        let quads = block_len / TILE * packing.tile_columns() / 4;
        let group = packing.group(cols);
        (block_len > 0 && quads <= MOST_TILES).then_some(Plan { packing, cols, block_len, group, wide })
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
                match self.plan.wide {
                    Some(_) => self.vectors::<MANY, WIDE_BLOCKS_OF_MANY>(x, out),
                    None => self.vectors::<MANY, BLOCKS_OF_MANY>(x, out),
                }
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
        let Plan { packing, cols, block_len, group, wide } = self.plan;
        let mut parts = [&[][..]; B];
        for (part, block) in parts.iter_mut().zip(blocks.chunks_exact(block_len)) {
            *part = block;
        }
        if packing.scale_len() == 0 {
            let mut tiles = [&[][..]; B];
            tiles.iter_mut().zip(parts).for_each(|(tiles, part)| *tiles = part.as_chunks().0);
            return tile_sums(packing, wide, tiles, x);
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
            let sums = tile_sums(packing, wide, bodies, here);
            for (total, sums) in total.iter_mut().zip(sums) {
                for ((total, sum), scales) in total.iter_mut().zip(sums).zip(heads) {
                    *total = _mm256_add_epi32(*total, _mm256_mullo_epi32(sum, scale_lanes(scales, mask)));
                }
            }
        }
        total
    }
}

/// Tiles of `B` blocks times the activations of their columns.
#[inline]
#[target_feature(enable = "avx2")]
fn tile_sums<const N: usize, const B: usize>(
    packing: Packing,
    wide: Option<Wide>,
    tiles: [&[[u8; TILE]]; B],
    x: &[[Quad; N]],
) -> [[__m256i; B]; N] {
    // SAFETY (of all three): there is a `Wide` where the processor has AVX-512.
    match packing {
        Packing::Int4(_) if wide.is_some() => unsafe { wide::tiles_i4(tiles, x) },
        Packing::Int4(_) => tiles_i4(tiles, x),
        Packing::Int8Pairs if wide.is_some() => unsafe { wide::tiles_i8::<N, B, true>(tiles, x) },
        Packing::Int8Pairs => tiles_pairs(tiles, x),
        _ if wide.is_some() => unsafe { wide::tiles_i8::<N, B, false>(tiles, x) },
        _ => tiles_i8(tiles, x),
    }
}

/// Puts the activations of `N` vectors in the order of the tiles' columns, padded to whole tiles with zeros.
#[inline(always)]
fn ordered<'r, const N: usize>(
    plan: Plan,
    x: [&[i16]; N],
    room: &'r mut [MaybeUninit<[Quad; N]>; MOST_TILES],
) -> &'r [[Quad; N]] {
    let columns = plan.packing.tile_columns();
    let mut used = 0;
    let mut rest = x;
    while rest.iter().all(|x| !x.is_empty()) {
        let group = rest.map(|x| x.split_at_checked(plan.group).map_or(x, |(group, _)| group));
        rest = rest.map(|x| x.split_at_checked(plan.group).map_or(&[][..], |(_, rest)| rest));
        let len = group.map(<[i16]>::len).into_iter().min().unwrap_or(0);
        let whole = group.map(|group| group.get(..len / columns * columns).unwrap_or_default());
        // The last tile's columns, padded.
        let mut last = [[0; 8]; N];
        for (last, (group, whole)) in last.iter_mut().zip(group.into_iter().zip(whole)) {
            last.iter_mut().zip(group.iter().take(len).skip(whole.len())).for_each(|(last, &x)| *last = x);
        }
        let last = last.each_ref().map(|last| last.get(..len.next_multiple_of(columns) - len / columns * columns));
        for part in [whole, last.map(Option::unwrap_or_default)] {
            let tiles = part.map(|part| part.as_chunks::<4>().0);
            let quad = |i: usize| tiles.map(|tiles| tiles.get(i).copied().unwrap_or_default());
            let step = columns / 4;
            for i in (0..tiles[0].len()).step_by(step) {
                let quads = match step {
                    2 => core::array::from_fn::<_, N, _>(|n| (quad(i)[n], quad(i + 1)[n]))
                        .map(|([a, b, c, d], [e, f, g, h])| [[a, e, b, f], [c, g, d, h]]),
                    _ => quad(i).map(|[a, b, c, d]| [[a, c, b, d], [0; 4]]),
                };
                for half in 0..step {
                    let Some(place) = room.get_mut(used) else { break };
                    place.write(quads.map(|quads| quads[half]));
                    used += 1;
                }
            }
        }
    }
    let written = room.get(..used).unwrap_or_default();
    // SAFETY: the loop has written the first `used` of them.
    unsafe { &*(core::ptr::from_ref(written) as *const [[Quad; N]]) }
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
        let out = out.get_mut(block * ROWS..).unwrap_or_default();
        for (sums, out) in sums.chunks(2).zip(out.chunks_mut(2 * ROWS)) {
            let [first, second] =
                [sums.first(), sums.last()].map(|sums| sums.copied().unwrap_or(_mm256_setzero_si256()));
            // In each half: two rows of the first block, two of the second.
            let rows = _mm256_permute4x64_epi64(_mm256_hadd_epi32(first, second), 0b11_01_10_00);
            let rows: [i32; 2 * ROWS] = bytemuck::cast(rows);
            match out.first_chunk_mut() {
                Some(out) if sums.len() == 2 => *out = rows,
                _ => out.iter_mut().zip(rows.iter().take(sums.len() * ROWS)).for_each(|(out, &row)| *out = row),
            }
        }
    }
}
