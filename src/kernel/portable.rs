//! Kernels in plain Rust: the oracle every other kernel is held to, and good code on cores without a multiply that
//! takes more than one pair.

use super::{ROWS, group_bytes};
#[cfg(feature = "f16")]
use crate::num::half_float::widen;
#[cfg(feature = "f16")]
use half::f16;

/// Vectors that [`dot_i4`] is called with while there are as many: each weight is read and widened once for all of them.
pub const TOKENS: usize = 2;

/// Vectors that share a pass over a block of 8-bit weights. Arm's thirteen registers hold the sums of one; two passes
/// over a block that the first has brought near cost less than sums in memory.
const TOGETHER: usize = if cfg!(target_arch = "arm") { 1 } else { 2 };

/// Runs `f`, compiled for what the processor at hand has beyond the target's baseline: here nothing.
#[inline(always)]
pub fn specialized<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// A matrix of i8 weights in row blocks of `cols` columns times each vector of `x`: exact i32 sums, `rows` a vector.
pub fn multiply_i8(weights: &[[i8; ROWS]], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    // Blocks outside, vectors inside, so that each block is read from flash once.
    for (b, block) in weights.chunks_exact(cols).enumerate() {
        let mut vectors = x.chunks_exact(cols).zip(out.chunks_exact_mut(rows));
        while let Some((x0, out0)) = vectors.next() {
            let second = if TOGETHER == 2 { vectors.next() } else { None };
            match second {
                Some((x1, out1)) => {
                    let [acc0, acc1] = two_i8(block, x0, x1);
                    put(b, acc0, out0);
                    put(b, acc1, out1);
                }
                None => put(b, one_i8(block, x0), out0),
            }
        }
    }
}

/// Writes what of a block's rows an output vector has.
#[inline(always)]
pub(crate) fn put(block: usize, acc: [i32; ROWS], out: &mut [i32]) {
    let out = out.get_mut(block * ROWS..).unwrap_or_default();
    match out.first_chunk_mut() {
        Some(out) => *out = acc,
        None => out.iter_mut().zip(acc).for_each(|(out, acc)| *out = acc),
    }
}

// Neither is inlined: a block is work enough for the call, and the loop has the registers for itself.
#[inline(never)]
fn one_i8(block: &[[i8; ROWS]], x: &[i16]) -> [i32; ROWS] {
    let mut acc = [0i32; ROWS];
    for (w, &x) in block.iter().zip(x) {
        for (acc, &w) in acc.iter_mut().zip(w) {
            *acc = acc.wrapping_add((x as i32).wrapping_mul(w as i32));
        }
    }
    acc
}

#[inline(never)]
fn two_i8(block: &[[i8; ROWS]], x0: &[i16], x1: &[i16]) -> [[i32; ROWS]; 2] {
    let mut acc = [[0i32; ROWS]; 2];
    for (w, (&x0, &x1)) in block.iter().zip(x0.iter().zip(x1)) {
        for (row, &w) in w.iter().enumerate() {
            acc[0][row] = acc[0][row].wrapping_add((x0 as i32).wrapping_mul(w as i32));
            acc[1][row] = acc[1][row].wrapping_add((x1 as i32).wrapping_mul(w as i32));
        }
    }
    acc
}

/// Dot products of the four rows of a block of 4-bit weights, in groups of `group` columns, with each vector: a group is
/// four scales (u8), one a row, then two bytes a column, the first row in the low bits. A sum is that of the groups' sums,
/// each times its scale.
///
/// Never inlined: a block is work enough for the call, and models without such weights should not pay for it in code.
#[inline(never)]
pub fn dot_i4<const N: usize>(block: &[u8], group: usize, x: [&[i16]; N]) -> [[i32; ROWS]; N] {
    let mut acc = [[0i32; ROWS]; N];
    let mut rest = x;
    for bytes in block.chunks(group_bytes(group)) {
        let Some((scales, weights)) = bytes.split_first_chunk::<ROWS>() else { break };
        let mut sums = [[0; ROWS]; N];
        let part = rest.map(|x| x.split_at_checked(group).map_or(x, |(part, _)| part));
        rest = rest.map(|x| x.split_at_checked(group).map_or(&[][..], |(_, rest)| rest));
        columns(part, weights.as_chunks::<2>().0.iter(), |&w, x| add_products(&mut sums, nibbles(w), x));
        for (acc, sums) in acc.iter_mut().zip(sums) {
            for ((acc, sum), &scale) in acc.iter_mut().zip(sums).zip(scales) {
                *acc = acc.wrapping_add(sum.wrapping_mul(scale as i32));
            }
        }
    }
    acc
}

/// The four signed weights of a column.
#[inline(always)]
pub(crate) fn nibbles([low, high]: [u8; 2]) -> [i32; ROWS] {
    let (low, high) = (low as i8, high as i8);
    [(low << 4) >> 4, low >> 4, (high << 4) >> 4, high >> 4].map(i32::from)
}

/// Calls `add` with each column's weights and activations.
#[inline(always)]
fn columns<'w, const N: usize, W: 'w>(
    x: [&[i16]; N],
    weights: impl Iterator<Item = &'w W>,
    mut add: impl FnMut(&W, [i32; N]),
) {
    // Written out for one and two: iterators in step need no bounds check.
    match x[..] {
        [x] => weights.zip(x).for_each(|(w, &x)| add(w, [x as i32; N])),
        [x0, x1] => weights.zip(x0.iter().zip(x1)).for_each(|(w, (&x0, &x1))| {
            add(w, core::array::from_fn(|n| if n == 0 { x0 } else { x1 } as i32));
        }),
        _ => weights.enumerate().for_each(|(i, w)| add(w, x.map(|x| x.get(i).copied().unwrap_or(0) as i32))),
    }
}

#[inline(always)]
fn add_products<const N: usize>(acc: &mut [[i32; ROWS]; N], w: [i32; ROWS], x: [i32; N]) {
    for (acc, x) in acc.iter_mut().zip(x) {
        for (acc, w) in acc.iter_mut().zip(w) {
            *acc = acc.wrapping_add(x.wrapping_mul(w));
        }
    }
}

/// Dot products of the four rows of a block with one vector: f16 weights, f32 activations, summed in order of
/// columns.
#[cfg(feature = "f16")]
#[inline(always)]
pub fn dot4_f16(block: &[[f16; 4]], x: &[f32]) -> [f32; 4] {
    let mut acc = [0f32; 4];
    for (w, &x) in block.iter().zip(x) {
        for (acc, &w) in acc.iter_mut().zip(w) {
            *acc += x * widen(w);
        }
    }
    acc
}

/// [`dot4_f16`] for two vectors at once, each summed as if alone.
#[cfg(feature = "f16")]
#[inline(always)]
pub fn dot4x2_f16(block: &[[f16; 4]], x0: &[f32], x1: &[f32]) -> [[f32; 4]; 2] {
    let mut acc = [[0f32; 4]; 2];
    for (w, (&x0, &x1)) in block.iter().zip(x0.iter().zip(x1)) {
        for (row, &w) in w.iter().enumerate() {
            let w = widen(w);
            acc[0][row] += x0 * w;
            acc[1][row] += x1 * w;
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// As many activations as columns, from a seed.
    fn activations(columns: usize, seed: u64) -> Vec<i16> {
        let mix = |i: u64| (i + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        (0..columns as u64).map(|i| mix(i) as i16).collect()
    }

    proptest! {
        #[test]
        fn sums_are_exact(rows in 1usize..10, cols in 1usize..40, count in 0usize..6, seed: u64) {
            let x = activations(cols * count, seed);
            let weights: Vec<[i8; ROWS]> =
                activations(rows.div_ceil(ROWS) * cols * ROWS, !seed).as_chunks().0.iter().map(|w| w.map(|w| w as i8)).collect();
            let mut out = std::vec![7; rows * count];
            multiply_i8(&weights, cols, &x, rows, &mut out);
            for (i, &found) in out.iter().enumerate() {
                let (x, row) = (&x[i / rows * cols..], i % rows);
                let products = (0..cols).map(|col| weights[row / ROWS * cols + col][row % ROWS] as i64 * x[col] as i64);
                prop_assert_eq!(found as i64, products.sum::<i64>());
            }
        }

        #[test]
        fn sums_of_groups_are_exact(
            weights in proptest::collection::vec(any::<[u8; 2]>(), 1..100), scales: [u8; 16], group in 8usize..40, seed: u64,
        ) {
            let x = activations(weights.len(), seed);
            let scale = |col: usize, row: usize| scales[(col / group * ROWS + row) % 16];
            let mut block = Vec::new();
            for (col, w) in weights.iter().enumerate() {
                if col % group == 0 {
                    block.extend((0..ROWS).map(|row| scale(col, row)));
                }
                block.extend(w);
            }
            let naive = |row: usize| {
                let products = weights.iter().zip(&x).enumerate().map(|(col, (w, &x))| {
                    let nibble = (w[row / 2] >> (row % 2 * 4) & 15) as i64;
                    (if nibble > 7 { nibble - 16 } else { nibble }) * scale(col, row) as i64 * x as i64
                });
                products.sum::<i64>() as i32
            };
            let want = [0, 1, 2, 3].map(naive);
            prop_assert_eq!(dot_i4(&block, group, [&x]), [want]);
            prop_assert_eq!(dot_i4(&block, group, [&x, &x]), [want; 2]);
        }
    }

    #[cfg(feature = "f16")]
    proptest! {
        /// Any finite f16 and any f32 at all: sums that overflow or are no number are the same too.
        #[test]
        fn float_sums_run_in_order_of_columns(
            columns in proptest::collection::vec((any::<[u16; 4]>(), any::<[u32; 2]>()), 0..70), tame: bool,
        ) {
            // Of about one size, so that every rounding counts; or of any.
            let x = |bits: u32| f32::from_bits(if tame { bits & 0x80ff_ffff | 0x3f00_0000 } else { bits });
            let w = |bits: u16| f16::from_bits(if tame { bits & 0x83ff | 0x3800 } else { bits & 0xfbff });
            let block: Vec<[f16; 4]> = columns.iter().map(|(ws, _)| ws.map(w)).collect();
            let [x0, x1] = [0, 1].map(|i| columns.iter().map(|(_, xs)| x(xs[i])).collect::<Vec<f32>>());
            let naive = |x: &[f32], row: usize| {
                let mut sum = 0f32;
                for (w, x) in block.iter().zip(x) {
                    let product = w[row].to_f32() * x;
                    sum += product;
                }
                sum
            };
            // A NaN's payload differs from processor to processor and is not part of the contract.
            let bits = |sums: [f32; 4]| sums.map(|sum| if sum.is_nan() { f32::NAN } else { sum }.to_bits());
            let wanted = [&x0, &x1].map(|x| bits([0, 1, 2, 3].map(|row| naive(x, row))));
            prop_assert_eq!([&x0, &x1].map(|x| bits(dot4_f16(&block, x))), wanted);
            prop_assert_eq!(dot4x2_f16(&block, &x0, &x1).map(bits), wanted);
        }
    }
}
