//! The walk over an integer matrix that the kernels share: row blocks outside, so that each is read from flash once,
//! vectors inside, groups of columns within. Kernels differ in their loops over tiles ([`Tiles`]).

use super::layout::TILE;
use super::{Packing, ROWS};
use core::mem::take;

/// A tile of weights.
pub(crate) type Tile = [u8; TILE];

/// The loops of a kernel.
pub(crate) trait Tiles: Sized {
    /// Sums over the tiles of one group in `B` blocks, times the activations of that group in `N` vectors, modulo 2^32. The
    /// last tile may have more columns than there are activations left; their weights count for nothing. Each vector's
    /// sums go to the front of its `out`, block by block, as many as it holds.
    fn sums<const B: usize, const N: usize>(
        packing: Packing,
        tiles: [&[Tile]; B],
        x: [&[i16]; N],
        out: [&mut [i32]; N],
    );

    /// Sums of the groups of `B` blocks, each times its scale.
    #[inline(never)]
    fn groups<const B: usize, const N: usize>(
        packing: Packing,
        mut blocks: [&[u8]; B],
        mut x: [&[i16]; N],
        out: [&mut [i32]; N],
    ) {
        let mut total = [[[0i32; ROWS]; B]; N];
        let mut sums = total;
        let columns = packing.group(1);
        let Some(group_len @ 1..) = packing.group_len(columns) else { return };
        while blocks.iter().all(|block| !block.is_empty()) {
            let groups = blocks.each_mut().map(|block| split_most(block, group_len));
            let tiles = groups.map(|group| group.get(ROWS..).unwrap_or_default().as_chunks().0);
            let x = x.each_mut().map(|x| split_most(x, columns));
            Self::sums(packing, tiles, x, sums.each_mut().map(|sums| sums.as_flattened_mut()));
            for (total, sums) in total.iter_mut().zip(&sums) {
                for ((total, sums), scales) in total.iter_mut().zip(sums).zip(groups) {
                    for ((total, sum), &scale) in total.iter_mut().zip(sums).zip(scales) {
                        *total = total.wrapping_add(sum.wrapping_mul(packing.scale(scale)));
                    }
                }
            }
        }
        out.into_iter().zip(&total).for_each(|(out, total)| put(total.as_flattened(), out));
    }
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
    // Apart, so that neither walk carries what the other needs.
    match packing {
        Packing::Int8 | Packing::Int8Pairs => walk::<T, B, N>(packing, (weights, block_len), (x, cols), (out, rows)),
        Packing::Int8Groups(_) | Packing::Int4(_) => {
            walk::<T, B, N>(packing, (weights, block_len), (x, cols), (out, rows));
        }
    }
}

/// All blocks, each with all vectors; matrix, vectors and results each with the length of a part.
#[inline(always)]
fn walk<T: Tiles, const B: usize, const N: usize>(
    packing: Packing,
    (mut weights, block_len): (&[u8], usize),
    x: (&[i16], usize),
    (out, rows): (&mut [i32], usize),
) {
    let mut first = 0;
    while let Some(blocks) = split::<u8, B>(&mut weights, block_len) {
        vectors::<T, B, N>(packing, blocks, x, (&mut *out, rows), first);
        first += B * ROWS;
    }
    while let Some(block) = split::<u8, 1>(&mut weights, block_len) {
        vectors::<T, 1, N>(packing, block, x, (&mut *out, rows), first);
        first += ROWS;
    }
}

/// All vectors with `B` blocks, whose rows begin at `first`.
#[inline(always)]
fn vectors<T: Tiles, const B: usize, const N: usize>(
    packing: Packing,
    blocks: [&[u8]; B],
    (mut x, cols): (&[i16], usize),
    (mut out, rows): (&mut [i32], usize),
    first: usize,
) {
    while N > 1 && out.len() / N >= rows {
        let Some(x) = split::<i16, N>(&mut x, cols) else { break };
        let mut out = split_mut::<N>(&mut out, rows);
        let mut first = first;
        for block in blocks {
            dot::<T, 1, N>(packing, [block], x, out.each_mut().map(|out| out.get_mut(first..).unwrap_or_default()));
            first += ROWS;
        }
    }
    while out.len() >= rows {
        let Some(x) = split::<i16, 1>(&mut x, cols) else { break };
        let out = split_mut::<1>(&mut out, rows);
        dot::<T, B, 1>(packing, blocks, x, out.map(|out| out.get_mut(first..).unwrap_or_default()));
    }
}

/// Dot products of the blocks' rows with each vector.
#[inline(always)]
fn dot<T: Tiles, const B: usize, const N: usize>(
    packing: Packing,
    blocks: [&[u8]; B],
    x: [&[i16]; N],
    out: [&mut [i32]; N],
) {
    match packing {
        Packing::Int8 | Packing::Int8Pairs => T::sums(packing, blocks.map(|block| block.as_chunks().0), x, out),
        Packing::Int8Groups(_) | Packing::Int4(_) => T::groups(packing, blocks, x, out),
    }
}

/// Writes as many sums as `out` holds.
#[inline(always)]
pub(crate) fn put(sums: &[i32], out: &mut [i32]) {
    match out.get_mut(..sums.len()) {
        Some(out) => out.copy_from_slice(sums),
        None => out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = sum),
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

/// Takes `N` parts of `len` elements off the front, shorter where there are not as many.
#[inline(always)]
fn split_mut<'a, const N: usize>(from: &mut &'a mut [i32], len: usize) -> [&'a mut [i32]; N] {
    [(); N].map(|()| {
        let all = take(from);
        let (part, rest) = all.split_at_mut(len.min(all.len()));
        *from = rest;
        part
    })
}
