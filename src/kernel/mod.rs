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
//! Integer kernels give the exact i32 sum; the blob's check has proven `cols * 128 * max|x| < 2^31` (for 4-bit
//! weights `cols * 8 * 255`), so no order of
//! summation overflows and every kernel gives the same bits. Float kernels must sum each row in order of columns,
//! one rounding for each product and one for each addition, never fused.
//!
//! This module is the only place that selects a kernel by target. [`portable`] is the oracle: another kernel must
//! equal it on every shape.

pub mod portable;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub mod x86;

#[cfg(not(all(feature = "std", target_arch = "x86_64")))]
pub use portable::{TOKENS, dot_i4, multiply_i8, specialized};
#[cfg(feature = "f16")]
pub use portable::{dot4_f16, dot4x2_f16};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
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
}
