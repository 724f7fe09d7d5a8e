//! Kernels in plain Rust: the oracle every other kernel is held to, and good code on cores without a multiply that
//! takes more than one pair.

#[cfg(feature = "int8")]
pub mod attention;
#[cfg(feature = "f16")]
pub mod float;
#[cfg(feature = "int8")]
pub mod norm;
#[cfg(feature = "int8")]
pub mod quantize;
#[cfg(feature = "int8")]
mod softmax;
#[cfg(feature = "int8")]
pub mod tail;

use super::blocks::{self, Tile, Tiles};
use super::layout::{columns_i4, columns_i8, columns_pairs};
use super::{Packing, ROWS};
#[cfg(feature = "int8")]
pub use softmax::softmax;

/// Vectors that share a pass over a block. Arm's thirteen registers hold the sums of one; two passes over a block that
/// the first has brought near cost less than sums in memory.
const TOGETHER: usize = if cfg!(target_arch = "arm") { 1 } else { 2 };

/// Row blocks of logits made at a time, for which there must be room on the stack.
pub const STRIP_BLOCKS: usize = 16;

/// Runs `f`, compiled for what the processor at hand has beyond the target's baseline: here nothing.
#[inline(always)]
pub fn specialized<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A matrix of `cols` columns, stored as `packing` says, times each vector of `x`: exact i32 sums, `rows` a vector.
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    blocks::multiply::<Portable, 1, TOGETHER>(packing, weights, cols, x, rows, out);
}

/// The loops in plain Rust.
pub(crate) struct Portable;

impl Tiles for Portable {
    #[inline(always)]
    fn sums<const B: usize, const N: usize>(
        packing: Packing,
        tiles: [&[Tile]; B],
        x: [&[i16]; N],
        mut out: [&mut [i32]; N],
    ) {
        for (b, tiles) in tiles.into_iter().enumerate() {
            let sums = match packing {
                Packing::Int4(_) => tiles_i4(tiles, x),
                Packing::Int8Pairs => tiles_pairs(tiles, x),
                Packing::Int8 | Packing::Int8Groups(_) => tiles_i8(tiles, x),
            };
            for (sums, out) in sums.iter().zip(&mut out) {
                blocks::put(sums, out.get_mut(b * ROWS..).unwrap_or_default());
            }
        }
    }
}

/// Writes what of a block's rows an output vector has.
#[cfg(latimer_dsp)]
#[inline(always)]
pub(crate) fn put(block: usize, sums: [i32; ROWS], out: &mut [i32]) {
    // One by one: a copy of some bytes would bring `memmove` into a firmware that has no other use for it.
    let out = out.get_mut(block * ROWS..).unwrap_or_default();
    for (i, sum) in sums.into_iter().enumerate() {
        if let Some(out) = out.get_mut(i) {
            *out = sum;
        }
    }
}

// None is inlined: a block is work enough for the call, and the loop has the registers for itself.
#[inline(never)]
fn tiles_i8<const N: usize>(tiles: &[Tile], x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    tiled(tiles, x, columns_i8)
}

#[inline(never)]
fn tiles_pairs<const N: usize>(tiles: &[Tile], x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    tiled(tiles, x, columns_pairs)
}

#[inline(never)]
fn tiles_i4<const N: usize>(tiles: &[Tile], x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    tiled(tiles, x, columns_i4)
}

/// Sums over tiles whose words `columns` unpacks.
#[inline(always)]
fn tiled<const N: usize, const C: usize>(
    tiles: &[Tile],
    x: [&[i16]; N],
    columns: impl Fn([u8; 4]) -> [i32; C],
) -> [[i32; ROWS]; N] {
    const { assert!(N == 1 || N == 2) };
    let mut acc = [[0i32; ROWS]; N];
    let parts = x.map(|x| x.as_chunks::<C>());
    // Written out for one and two: iterators in step need no bounds check.
    match parts[..] {
        [(x, _)] => tiles.iter().zip(x).for_each(|(tile, x)| add_tile(&mut acc, tile, [x; N], &columns)),
        [(x0, _), (x1, _)] => tiles.iter().zip(x0.iter().zip(x1)).for_each(|(tile, (x0, x1))| {
            add_tile(&mut acc, tile, core::array::from_fn(|n| if n == 0 { x0 } else { x1 }), &columns);
        }),
        _ => {}
    }
    // Columns that do not fill a tile.
    let whole = parts.iter().map(|(whole, _)| whole.len()).min().unwrap_or(0);
    if let Some(tile) = tiles.get(whole) {
        let last = parts.map(|(_, rest)| {
            let mut x = [0; C];
            x.iter_mut().zip(rest).for_each(|(x, &rest)| *x = rest);
            x
        });
        add_tile(&mut acc, tile, last.each_ref(), &columns);
    }
    acc
}

#[inline(always)]
fn add_tile<const N: usize, const C: usize>(
    acc: &mut [[i32; ROWS]; N],
    tile: &Tile,
    x: [&[i16; C]; N],
    columns: &impl Fn([u8; 4]) -> [i32; C],
) {
    let (words, _) = tile.as_chunks::<4>();
    for (row, &word) in words.iter().enumerate() {
        let w = columns(word);
        for (acc, x) in acc.iter_mut().zip(x) {
            let Some(acc) = acc.get_mut(row) else { continue };
            for (w, &x) in w.into_iter().zip(x) {
                *acc = acc.wrapping_add(w.wrapping_mul(x as i32));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    type Multiply = fn(Packing, &[u8], usize, &[i16], usize, &mut [i32]);

    /// What this target takes, and what a lesser processor of its kind takes.
    const KERNELS: &[Multiply] = &[
        crate::kernel::multiply,
        #[cfg(latimer_avx2)]
        crate::kernel::x86::multiply_narrow,
    ];

    proptest! {
        /// Any rows, columns, groups and vectors, on the portable kernel and on whatever this target takes.
        #[test]
        fn sums_are_exact(
            rows in 1usize..20, cols in 1usize..70, count in 0usize..9, group in 1usize..40, kind in 0..4, seed: u64,
        ) {
            let packings = [Packing::Int8, Packing::Int8Groups(group), Packing::Int4(group), Packing::Int8Pairs];
            let (packing, pairs) = (packings[kind as usize], kind == 3);
            let cols = if pairs { cols.next_multiple_of(4) } else { cols };
            let mix = |i: usize| (i as u64).wrapping_add(1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let code = |row: usize, col: usize| {
                let byte = mix(row * cols + col) as i8;
                if kind == 2 { byte >> 4 } else { byte.max(-127) }
            };
            let scale = |row: usize, col: usize| (mix(row * 97 + col / packing.group(cols)) >> 8) as u8;
            let mut weights = std::vec![0; packing.matrix_len(rows, cols).unwrap()];
            packing.store((rows, cols), code, scale, &mut weights);
            let x: Vec<i16> = (0..cols * count).map(|i| (mix(i + (1 << 20)) as i16) >> if pairs { 9 } else { 2 }).collect();
            let mut out = std::vec![7; rows * count];
            multiply(packing, &weights, cols, &x, rows, &mut out);
            for (i, &found) in out.iter().enumerate() {
                let (x, row) = (&x[i / rows * cols..], i % rows);
                let worth = |col: usize| match kind {
                    0 | 3 => code(row, col) as i64,
                    1 => code(row, col) as i64 * (scale(row, col) & 15) as i64,
                    _ => code(row, col) as i64 * scale(row, col) as i64,
                };
                prop_assert_eq!(found as i64, (0..cols).map(|col| worth(col) * x[col] as i64).sum::<i64>());
            }
            for multiply in KERNELS {
                let mut same = std::vec![9; rows * count];
                multiply(packing, &weights, cols, &x, rows, &mut same);
                prop_assert_eq!(&out, &same);
            }
        }

        /// Bytes and buffers that do not fit each other: every kernel stops at the same place.
        #[test]
        fn kernels_agree_on_buffers_of_any_length(
            weights in proptest::collection::vec(any::<u8>(), 0..900),
            x in proptest::collection::vec(any::<i16>(), 0..400),
            cols in 0usize..40, rows in 0usize..60, len in 0usize..300, group in 0usize..20, kind in 0..4,
        ) {
            let packings = [Packing::Int8, Packing::Int8Groups(group), Packing::Int4(group), Packing::Int8Pairs];
            let packing = packings[kind as usize];
            let x: Vec<i16> = if kind == 3 { x.iter().map(|x| x % 128).collect() } else { x };
            let mut wanted = std::vec![7; len];
            multiply(packing, &weights, cols, &x, rows, &mut wanted);
            for multiply in KERNELS {
                let mut found = std::vec![7; len];
                multiply(packing, &weights, cols, &x, rows, &mut found);
                prop_assert_eq!(&found, &wanted);
            }
        }
    }
}
