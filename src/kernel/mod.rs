//! The kernel boundary: the inner loops that know how weights lie.
//!
//! # Contract
//!
//! A weight matrix of `rows x cols` is stored in *row blocks* of [`ROWS`] rows; the last block is padded with rows of
//! zeros. Inside a block the [`ROWS`] weights of one column lie side by side (layout [`LAYOUT_ROWS4`]), so that one
//! word of flash feeds four accumulators:
//!
//! ```text
//! block 0: w[0][0] w[1][0] w[2][0] w[3][0]  w[0][1] w[1][1] w[2][1] w[3][1]  ...  w[3][cols-1]
//! block 1: w[4][0] w[5][0] ...
//! ```
//!
//! 4-bit weights (element type I4) come in groups of columns: for each group of a block four scales (u8), one a row,
//! then two bytes a column, the first row in the low bits, signed. The group length is the tensor's, the last group may
//! be shorter; a block's bytes are padded to a multiple of four. A weight is worth its 4 bits times the group's scale:
//!
//! ```text
//! s[0] s[1] s[2] s[3]  w[1][0]:w[0][0] w[3][0]:w[2][0]  w[1][1]:w[0][1] w[3][1]:w[2][1]  ...  next group
//! ```
//!
//! 8-bit weights may come in groups too (element type I8_GROUPS): a group is one more column of four scales (the low four
//! bits of each byte), then its columns as above.
//!
//! Integer kernels give the exact i32 sum; the blob's check has proven `cols * 128 * max|x| < 2^31` (for 4-bit
//! weights `cols * 8 * 255`, for 8-bit ones in groups `cols * 128 * 15`), so no order of
//! summation overflows and every kernel gives the same bits. Float kernels must sum each row in order of columns,
//! one rounding for each product and one for each addition, never fused.
//!
//! `multiply_i8` multiplies a whole matrix, so that a kernel may keep what it makes of the activations for all row blocks;
//! `dot_i4` takes a row block. `specialized` compiles an operator written in plain Rust for what the kernel's processor has
//! beyond the target's baseline; integers give the same bits either way.
//!
//! This module is the only place that selects a kernel by target. [`portable`] is the oracle: another kernel must
//! equal it on every shape.

pub mod portable;
#[cfg(all(feature = "std", target_arch = "x86_64", not(feature = "portable")))]
pub mod x86;

#[cfg(not(all(feature = "std", target_arch = "x86_64", not(feature = "portable"))))]
pub use portable::{TOKENS, dot_i4, multiply_i8, specialized};
#[cfg(feature = "f16")]
pub use portable::{dot4_f16, dot4x2_f16};
#[cfg(all(feature = "std", target_arch = "x86_64", not(feature = "portable")))]
pub use x86::{TOKENS, dot_i4, multiply_i8, specialized};

/// Rows in a block.
pub const ROWS: usize = 4;

/// Header value of the portable layout: blocks of four rows, interleaved by column.
pub const LAYOUT_ROWS4: u8 = 0;

/// Elements of a matrix once padded to whole row blocks, or `None` where it does not fit the address space.
pub const fn padded_len(rows: usize, cols: usize) -> Option<usize> {
    match rows.checked_next_multiple_of(ROWS) {
        Some(rows) => rows.checked_mul(cols),
        None => None,
    }
}

/// Bytes of a whole group of `group` columns of 4-bit weights in a block: scales, then half a byte a weight.
pub const fn group_bytes(group: usize) -> usize {
    group * ROWS / 2 + ROWS
}

/// Bytes of a block of `cols` columns of 4-bit weights in groups of `group`, which is not zero; `None` where they do not
/// fit the address space.
pub const fn block_bytes(cols: usize, group: usize) -> Option<usize> {
    let Some(weights) = cols.checked_mul(ROWS / 2) else { return None };
    let Some(bytes) = weights.checked_add(cols.div_ceil(group) * ROWS) else { return None };
    bytes.checked_next_multiple_of(4)
}

/// Columns of a block of `cols` columns of 8-bit weights in groups of `group`, which is not zero: each group has one more,
/// for its scales. `None` where they do not fit the address space.
pub const fn block_columns(cols: usize, group: usize) -> Option<usize> {
    cols.checked_add(cols.div_ceil(group))
}

/// The scales of a group of 8-bit weights: four bits each.
#[inline(always)]
pub(crate) fn group_scales(column: [i8; ROWS]) -> [i32; ROWS] {
    column.map(|scale| (scale & 15) as i32)
}

/// [`multiply_i8`] with the weights in groups of `group` columns: a sum is that of the groups' sums, each times its scale.
#[inline(never)]
pub fn multiply_i8_groups(weights: &[[i8; ROWS]], group: usize, cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (cols, rows, group) = (cols.max(1), rows.max(1), group.max(1));
    let Some(block) = block_columns(cols, group) else { return };
    for (b, block) in weights.chunks_exact(block).enumerate() {
        for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(rows)) {
            let mut acc = [0i32; ROWS];
            for (group, x) in block.chunks(group + 1).zip(x.chunks(group)) {
                let Some((&scales, weights)) = group.split_first() else { break };
                let mut sums = [0; ROWS];
                multiply_i8(weights, weights.len(), x, ROWS, &mut sums);
                for ((acc, sum), scale) in acc.iter_mut().zip(sums).zip(group_scales(scales)) {
                    *acc = acc.wrapping_add(sum.wrapping_mul(scale));
                }
            }
            portable::put(b, acc, out);
        }
    }
}

/// Lays a row-major matrix out in row blocks: calls `put` with each element's row and column in the order of
/// storage, `None` for padding. The packer's side of the contract above.
pub fn pack_order(rows: usize, cols: usize, mut put: impl FnMut(Option<(usize, usize)>)) {
    for block in (0..rows).step_by(ROWS) {
        for col in 0..cols {
            for row in block..block + ROWS {
                put((row < rows).then_some((row, col)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn packs_by_blocks_of_four_rows() {
        let mut order = Vec::new();
        pack_order(5, 2, |at| order.push(at));
        assert_eq!(order.len(), padded_len(5, 2).unwrap());
        assert_eq!(&order[..5], &[Some((0, 0)), Some((1, 0)), Some((2, 0)), Some((3, 0)), Some((0, 1))]);
        assert_eq!(&order[8..11], &[Some((4, 0)), None, None]);
        assert_eq!(padded_len(usize::MAX, 2), None);
    }

    proptest! {
        /// Any rows, columns, groups and vectors, on whatever kernel this target takes.
        #[test]
        fn sums_of_byte_groups_are_exact(
            rows in 1usize..10, cols in 1usize..40, group in 1usize..20, count in 0usize..5, seed: u64,
        ) {
            let byte = |i: usize| {
                ((i as u64 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as i8
            };
            let block = block_columns(cols, group).unwrap();
            let len = rows.div_ceil(ROWS) * block;
            let weights: Vec<[i8; ROWS]> = (0..len).map(|i| [0, 1, 2, 3].map(|row| byte(4 * i + row))).collect();
            let x: Vec<i16> = (0..cols * count).map(|i| byte(7 * i + 3) as i16 * 16).collect();
            let mut out = std::vec![7; rows * count];
            multiply_i8_groups(&weights, group, cols, &x, rows, &mut out);
            for (i, &found) in out.iter().enumerate() {
                let (x, row) = (&x[i / rows * cols..], i % rows);
                let at = |column: usize| weights[row / ROWS * block + column][row % ROWS] as i64;
                let product = |col: usize| {
                    let scale = at(col / group * (group + 1)) & 15;
                    scale * at(col / group * (group + 1) + 1 + col % group) * x[col] as i64
                };
                prop_assert_eq!(found as i64, (0..cols).map(product).sum::<i64>());
            }
        }
    }
}
