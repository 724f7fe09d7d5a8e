//! The walk over an integer matrix that the kernels share: row blocks outside, so that each is read from flash once,
//! vectors inside, groups of columns within. Kernels differ in their loops over tiles ([`Tiles`]).

use super::layout::TILE;
use super::{Packing, ROWS};
use core::mem::take;

/// A tile of weights.
pub(crate) type Tile = [u8; TILE];

/// Sums of `N` vectors with the rows of `B` blocks.
pub(crate) type Sums<const B: usize, const N: usize> = [[[i32; ROWS]; B]; N];

/// The loops of a kernel.
pub(crate) trait Tiles {
    /// Sums over the tiles of one group in `B` blocks, times the activations of that group in `N` vectors, modulo 2^32.
    /// The last tile may have more columns than there are activations left; their weights count for nothing.
    fn sums<const B: usize, const N: usize>(packing: Packing, tiles: [&[Tile]; B], x: [&[i16]; N]) -> Sums<B, N>;
}

/// `multiply` of a kernel with the loops of `T`. While there are as many, `N` vectors share each block, and vectors that
/// are left over are taken with `B` blocks at a time.
#[inline(always)]
pub(crate) fn multiply<T: Tiles, const B: usize, const N: usize>(
    packing: Packing,
    weights: &[u8],
    cols: usize,
    x: &[i16],
    rows: usize,
    out: &mut [i32],
) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    let Some(block_len @ 1..) = packing.block_len(cols) else { return };
    let walk = Walk { packing, cols, rows };
    let (mut first, mut rest) = (0, weights);
    while let Some(blocks) = split::<u8, B>(&mut rest, block_len) {
        walk.vectors::<T, B, N>(blocks, first, x, out);
        first += B * ROWS;
    }
    while let Some(blocks) = split::<u8, 1>(&mut rest, block_len) {
        walk.vectors::<T, 1, N>(blocks, first, x, out);
        first += ROWS;
    }
}

/// What does not change from block to block.
#[derive(Clone, Copy)]
struct Walk {
    packing: Packing,
    cols: usize,
    rows: usize,
}

impl Walk {
    /// All vectors with `B` blocks, whose rows begin at `first`.
    #[inline(always)]
    fn vectors<T: Tiles, const B: usize, const N: usize>(
        self,
        blocks: [&[u8]; B],
        first: usize,
        mut x: &[i16],
        mut out: &mut [i32],
    ) {
        while N > 1 && out.len() / N >= self.rows {
            let Some(vectors) = split::<i16, N>(&mut x, self.cols) else { break };
            let mut sums = [[[0; ROWS]; N]; B];
            for (sums, block) in sums.iter_mut().zip(blocks) {
                *sums = self.dot::<T, 1, N>([block], vectors).map(|[sums]| sums);
            }
            for n in 0..N {
                let Some((now, rest)) = take(&mut out).split_at_mut_checked(self.rows) else { return };
                sums.iter().enumerate().for_each(|(b, sums)| {
                    put(first + b * ROWS, sums.get(n).copied().unwrap_or_default(), now);
                });
                out = rest;
            }
        }
        while let Some(vector) = split::<i16, 1>(&mut x, self.cols) {
            let Some((now, rest)) = take(&mut out).split_at_mut_checked(self.rows) else { return };
            let [sums] = self.dot::<T, B, 1>(blocks, vector);
            sums.into_iter().enumerate().for_each(|(b, sums)| put(first + b * ROWS, sums, now));
            out = rest;
        }
    }

    /// Dot products of the blocks' rows with each vector.
    #[inline(always)]
    fn dot<T: Tiles, const B: usize, const N: usize>(self, blocks: [&[u8]; B], x: [&[i16]; N]) -> Sums<B, N> {
        match self.packing {
            Packing::Int8 => T::sums(self.packing, blocks.map(|block| block.as_chunks().0), x),
            Packing::Int8Groups(_) | Packing::Int4(_) => groups::<T, B, N>(self.packing, blocks, x),
        }
    }
}

/// The groups' sums, each times its scale.
#[inline(never)]
fn groups<T: Tiles, const B: usize, const N: usize>(
    packing: Packing,
    mut blocks: [&[u8]; B],
    mut x: [&[i16]; N],
) -> Sums<B, N> {
    let mut acc = [[[0i32; ROWS]; B]; N];
    let columns = packing.group(1);
    let Some(group_len @ 1..) = packing.group_len(columns) else { return acc };
    while blocks.iter().all(|block| !block.is_empty()) {
        let groups = blocks.each_mut().map(|block| split_most(block, group_len));
        let sums = {
            let tiles = groups.map(|group| group.get(ROWS..).unwrap_or_default().as_chunks().0);
            T::sums(packing, tiles, x.each_mut().map(|x| split_most(x, columns)))
        };
        for (acc, sums) in acc.iter_mut().zip(sums) {
            for ((acc, sums), scales) in acc.iter_mut().zip(sums).zip(groups) {
                for ((acc, sum), &scale) in acc.iter_mut().zip(sums).zip(scales) {
                    *acc = acc.wrapping_add(sum.wrapping_mul(packing.scale(scale)));
                }
            }
        }
    }
    acc
}

/// Writes what of a block's rows, which begin at `first`, an output vector has.
#[inline(always)]
pub(crate) fn put(first: usize, sums: [i32; ROWS], out: &mut [i32]) {
    let out = out.get_mut(first..).unwrap_or_default();
    match out.first_chunk_mut() {
        Some(out) => *out = sums,
        None => out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum),
    }
}

// Iterators of chunks would divide for their length, at every block, and Armv6-M can't.
/// Takes `N` parts of `len` elements off the front, if there are as many.
#[inline(always)]
fn split<'a, T, const N: usize>(from: &mut &'a [T], len: usize) -> Option<[&'a [T]; N]> {
    let (mut parts, mut rest) = ([&[][..]; N], *from);
    for part in &mut parts {
        (*part, rest) = rest.split_at_checked(len)?;
    }
    *from = rest;
    Some(parts)
}

/// Takes `len` elements off the front, or as many as there are.
#[inline(always)]
fn split_most<'a, T>(from: &mut &'a [T], len: usize) -> &'a [T] {
    let (part, rest) = from.split_at_checked(len).unwrap_or((from, &[]));
    *from = rest;
    part
}
