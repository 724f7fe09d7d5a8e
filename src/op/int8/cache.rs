//! How keys and values lie in their caches: as the kernels want matrices ([`layout`](crate::kernel::layout)), head by
//! head, so that the products of attention are products of matrices.
//!
//! The keys of a head are a matrix of a row a position; its first positions are a matrix too. The values of a head, in
//! chunks of positions, are matrices of a column a position. Positions beyond the visible ones, and what pads a head to
//! whole tiles, hold any bytes: no product with them counts.

use super::Int8;
use super::quantize::dynamic;
use crate::blob::spec::MAX_SUM;
use crate::engine::{Cached, Place, Side};
use crate::kernel::layout::{TILE, byte_of};
use crate::kernel::{Packing, ROWS, multiply};
use crate::num::Scale;

/// The exponent of a row of zeros, whose mantissa is zero: as a logarithm less than any other.
const NOTHING: i16 = -256;

/// Elements of a head that are quantized on a small stack.
const SHORT: usize = 64;

/// Stores one token's key or value, quantized a head at a time.
#[inline(always)]
pub(super) fn store(wide: &[i32], frac: i8, heads: usize, place: Place, rows: &mut [u8], scales: &mut [Scale]) {
    let head_dim = (wide.len() / heads.max(1)).max(1);
    let capacity = place.room.capacity.max(4);
    let heads = wide.chunks_exact(head_dim).zip(rows.chunks_exact_mut(head_len(head_dim, capacity).max(1)));
    for ((wide, rows), scales) in heads.zip(scales.chunks_exact_mut(capacity)) {
        let scale = if head_dim <= SHORT {
            store_head::<SHORT>(wide, frac, place, rows)
        } else {
            store_long_head(wide, frac, place, rows)
        };
        if let Some(place) = scales.get_mut(place.position) {
            *place = if scale.mantissa == 0 { Scale { mantissa: 0, exponent: NOTHING } } else { scale };
        }
    }
}

/// A head that few models have, with its buffer in a frame of its own.
#[inline(never)]
fn store_long_head(wide: &[i32], frac: i8, place: Place, rows: &mut [u8]) -> Scale {
    store_head::<{ MAX_SUM as usize }>(wide, frac, place, rows)
}

/// Quantizes a head of at most `N` elements and puts its codes where they belong.
fn store_head<const N: usize>(wide: &[i32], frac: i8, place: Place, rows: &mut [u8]) -> Scale {
    let mut codes = [0u8; N];
    let scale = dynamic(wide, frac, 8, &mut codes);
    put_head(codes.get(..wide.len().next_multiple_of(4)).unwrap_or_default(), place, rows);
    scale
}

/// Puts a head's codes, padded to whole quads, where they belong.
fn put_head(codes: &[u8], place: Place, rows: &mut [u8]) {
    let (padded, quads) = (codes.len(), codes.as_chunks::<4>().0);
    match place.side {
        Side::Keys => {
            let block = rows.get_mut(place.position / ROWS * ROWS * padded..).unwrap_or_default();
            for (tile, quad) in block.as_chunks_mut::<TILE>().0.iter_mut().zip(quads) {
                if let Some(word) = tile.as_chunks_mut::<4>().0.get_mut(place.position % ROWS) {
                    *word = core::array::from_fn(|byte| quad[byte_of(byte)]);
                }
            }
        }
        Side::Values => {
            let chunk = place.room.chunk.max(4);
            let (before, within) = (place.position / chunk * chunk, place.position % chunk);
            let tiles = rows.get_mut(before * padded + within / 4 * TILE..).unwrap_or_default();
            let byte = byte_of(within);
            for (block, quad) in tiles.chunks_mut((ROWS * chunk).max(ROWS)).zip(quads) {
                for (word, &code) in block.as_chunks_mut::<4>().0.iter_mut().zip(quad) {
                    word[byte & 3] = code;
                }
            }
        }
    }
}

/// Bytes of a head's keys, or values, of so many positions, a multiple of four.
const fn head_len(head_dim: usize, positions: usize) -> usize {
    head_dim.next_multiple_of(4) * positions
}

/// One head of a cache.
#[derive(Clone, Copy)]
pub(crate) struct Head<'c> {
    bytes: &'c [u8],
    /// One scale a visible position.
    pub scales: &'c [Scale],
    chunk: usize,
    head_dim: usize,
}

impl<'c> Head<'c> {
    #[inline(always)]
    pub fn of(cached: Cached<'c, Int8>, head: usize, head_dim: usize) -> Self {
        let room = cached.room;
        let len = head_len(head_dim, room.capacity);
        let scales = cached.scales.get(head * room.capacity..).unwrap_or_default();
        Head {
            bytes: cached.rows.get(head * len..(head + 1) * len).unwrap_or_default(),
            scales: scales.get(..cached.visible).unwrap_or_default(),
            chunk: room.chunk.max(4),
            head_dim,
        }
    }

    /// Products of queries, a head each, and the visible keys, exact in i32.
    #[inline(always)]
    pub fn times_keys(&self, queries: &[i16], sums: &mut [i32]) {
        multiply(Packing::Int8, self.bytes, self.head_dim, queries, self.scales.len(), sums);
    }

    /// For each row of weights, which are whole chunks, the sum of the values times the weights, exact in i32; `part` has
    /// room for a head.
    #[inline(always)]
    pub fn times_values(&self, weights: &[i16], part: &mut [i32], sums: &mut [i32]) {
        let row = self.scales.len().next_multiple_of(self.chunk);
        if row == self.chunk {
            let values = self.bytes.get(..head_len(self.head_dim, self.chunk)).unwrap_or_default();
            return multiply(Packing::Int8, values, self.chunk, weights, self.head_dim, sums);
        }
        let part = part.get_mut(..self.head_dim).unwrap_or_default();
        for (weights, sums) in weights.chunks_exact(row.max(1)).zip(sums.chunks_exact_mut(self.head_dim)) {
            sums.fill(0);
            let chunks = self.bytes.chunks_exact(head_len(self.head_dim, self.chunk).max(1));
            for (values, weights) in chunks.zip(weights.chunks_exact(self.chunk)) {
                multiply(Packing::Int8, values, self.chunk, weights, self.head_dim, part);
                sums.iter_mut().zip(&*part).for_each(|(sum, part)| *sum = sum.wrapping_add(*part));
            }
        }
    }
}
