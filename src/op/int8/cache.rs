//! How keys and values lie in their caches: as the kernels want matrices ([`layout`](crate::kernel::layout)), head by
//! head, so that the products of attention are products of matrices.
//!
//! The keys of a head are a matrix of a row a position; its first positions are a matrix too. The values of a head, in
//! chunks of positions, are matrices of a column a position. Positions beyond the visible ones, and what pads a head to
//! whole tiles, hold any bytes: no product with them counts.

use super::Int8;
use super::quantize;
use crate::engine::{Cached, Place, Side};
use crate::kernel::layout::TILE;
use crate::kernel::{Packing, ROWS, multiply};
use crate::num::Scale;

/// The exponent of a row of zeros, whose mantissa is zero: as a logarithm less than any other.
const NOTHING: i16 = -256;

/// Stores one token's key or value, quantized a head at a time.
#[inline(always)]
pub(super) fn store(wide: &[i32], frac: i8, heads: usize, place: Place, rows: &mut [u8], scales: &mut [Scale]) {
    let head_dim = (wide.len() / heads.max(1)).max(1);
    let (room, position) = (place.room, place.position);
    let heads = wide.chunks_exact(head_dim).zip(rows.chunks_exact_mut(head_len(head_dim, room.capacity).max(1)));
    for ((wide, rows), scales) in heads.zip(scales.chunks_exact_mut(room.capacity.max(1))) {
        let scale = match place.side {
            Side::Keys => {
                let block = ROWS * head_dim.next_multiple_of(4);
                let (block, row) = (rows.chunks_exact_mut(block).nth(position / ROWS), position % ROWS);
                let words = block.unwrap_or_default().as_chunks_mut::<TILE>().0.iter_mut();
                // A word's columns are in the order in which Arm unpacks them.
                let codes = words
                    .filter_map(|tile| tile.as_chunks_mut::<4>().0.get_mut(row))
                    .flat_map(|[first, third, second, fourth]| [first, second, third, fourth]);
                quantize::bytes(wide, frac, codes)
            }
            Side::Values => {
                let chunk = room.chunk.max(4);
                let within = position % chunk;
                let chunk_rows = rows.chunks_exact_mut(head_len(head_dim, chunk)).nth(position / chunk);
                let (tile, byte) = (within / 4, [0, 2, 1, 3].get(within % 4).copied().unwrap_or(0));
                let codes = chunk_rows
                    .unwrap_or_default()
                    .chunks_exact_mut(ROWS * chunk)
                    .filter_map(|block| block.as_chunks_mut::<TILE>().0.get_mut(tile))
                    .flat_map(|tile| tile.as_chunks_mut::<4>().0)
                    .filter_map(|word| word.get_mut(byte));
                quantize::bytes(wide, frac, codes)
            }
        };
        if let Some(place) = scales.get_mut(position) {
            *place = if scale.mantissa == 0 { Scale { mantissa: 0, exponent: NOTHING } } else { scale };
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

    /// Products of a query and the visible keys, exact in i32.
    #[inline(always)]
    pub fn times_keys(&self, query: &[i16], sums: &mut [i32]) {
        multiply(Packing::Int8, self.bytes, self.head_dim, query, self.scales.len(), sums);
    }

    /// Weights a chunk must have, with zeros for positions that are not visible.
    pub fn weights_len(&self) -> usize {
        self.scales.len().next_multiple_of(self.chunk)
    }

    /// Sum of the values times `weights`, which are whole chunks, exact in i32; `part` has room for a head.
    #[inline(always)]
    pub fn times_values(&self, weights: &[i16], part: &mut [i32], sums: &mut [i32]) {
        let chunks = self.bytes.chunks_exact(head_len(self.head_dim, self.chunk)).zip(weights.chunks_exact(self.chunk));
        for (i, (values, weights)) in chunks.enumerate() {
            if i == 0 {
                multiply(Packing::Int8, values, self.chunk, weights, self.head_dim, sums);
                continue;
            }
            let part = part.get_mut(..self.head_dim).unwrap_or_default();
            multiply(Packing::Int8, values, self.chunk, weights, self.head_dim, part);
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum = sum.wrapping_add(*part));
        }
    }
}
