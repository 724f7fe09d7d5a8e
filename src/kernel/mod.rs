//! The kernel boundary: the inner loops that know how weights lie.
//!
//! # Contract
//!
//! Integer matrices lie in tiles ([`layout`]), one layout that every kernel runs. Integer kernels give the exact i32 sum;
//! the blob's check has proven `cols * 128 * max|x| < 2^31` (for 4-bit weights `cols * 8 * 255`, for 8-bit ones in groups
//! `cols * 128 * 15`), so no order of summation overflows and every kernel gives the same bits. Memory that such sums do
//! not fit, which no checked blob has, gives sums modulo 2^32.
//!
//! Float matrices are stored in blocks of [`ROWS`] rows; inside a block the weights of one column lie side by side:
//!
//! ```text
//! block 0: w[0][0] w[1][0] w[2][0] w[3][0]  w[0][1] w[1][1] w[2][1] w[3][1]  ...  w[3][cols-1]
//! block 1: w[4][0] w[5][0] ...
//! ```
//!
//! Float kernels must sum each row in order of columns, one rounding for each product and one for each addition, never
//! fused.
//!
//! `multiply` multiplies a whole matrix with some vectors, so that a kernel may keep what it makes of the activations for
//! all row blocks. `specialized` compiles an operator written in plain Rust for what the kernel's processor has beyond the
//! target's baseline; integers give the same bits either way.
//!
//! This module is the only place that selects a kernel by target. [`portable`] is the oracle: another kernel must
//! equal it on every shape.

/// Begins a block of assembly: the core it is for. On Armv8-M, where an instruction's extension depends on the core, LLVM
/// reads the assembly of a crate that is linked as a whole (`lto`) without knowing what `-C target-cpu` said.
#[cfg(latimer_armv8m)]
macro_rules! cpu {
    () => {
        // The build script's.
        concat!(".cpu ", env!("LATIMER_CPU"))
    };
}
#[cfg(all(latimer_dsp, not(latimer_armv8m)))]
macro_rules! cpu {
    () => {
        ""
    };
}
#[cfg(latimer_dsp)]
pub(crate) use cpu;

#[cfg(latimer_armv6m)]
mod armv6m;
#[cfg(latimer_armv7m)]
mod armv7m;
#[cfg(any(latimer_armv6m, latimer_armv7m, latimer_rv32m))]
mod assembly;
mod blocks;
#[cfg(feature = "broken-kernel")]
mod broken;
#[cfg(latimer_dsp)]
mod dsp;
pub mod layout;
#[cfg(latimer_mve)]
mod mve;
pub mod portable;
#[cfg(latimer_rv32m)]
mod riscv32;
#[cfg(latimer_avx2)]
mod x86;

#[cfg(latimer_armv6m)]
use armv6m as chosen;
#[cfg(latimer_armv7m)]
use armv7m as chosen;
#[cfg(all(latimer_dsp, not(latimer_mve)))]
use dsp as chosen;
#[cfg(latimer_mve)]
use mve as chosen;
#[cfg(not(any(latimer_armv6m, latimer_armv7m, latimer_avx2, latimer_dsp, latimer_mve, latimer_rv32m)))]
use portable as chosen;
#[cfg(latimer_rv32m)]
use riscv32 as chosen;
#[cfg(latimer_avx2)]
use x86 as chosen;

#[cfg(all(feature = "int8", latimer_dsp, not(latimer_mve)))]
pub use dsp::attention;
#[cfg(all(feature = "int8", latimer_dsp, not(latimer_mve)))]
pub use dsp::tail;
#[cfg(all(feature = "int8", latimer_dsp))]
pub use dsp::{norm, softmax};
#[cfg(all(feature = "int8", latimer_mve))]
pub use mve::{attention, quantize, tail};
#[cfg(all(feature = "int8", not(latimer_mve)))]
pub use portable::quantize;
#[cfg(all(feature = "int8", not(latimer_dsp)))]
pub use portable::{attention, norm, softmax, tail};

pub use chosen::{STRIP_BLOCKS, specialized};
pub use layout::Packing;
#[cfg(feature = "f16")]
pub use portable::float::{dot4_f16, dot4x2_f16};

/// A matrix of `cols` columns, stored as `packing` says, times each vector of `x`: exact i32 sums, `rows` a vector. A packing
/// that this build has no code for ([`Packing::is_built`]) gives none.
#[inline(always)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    #[cfg(feature = "broken-kernel")]
    use broken as chosen;
    if packing.is_built() {
        chosen::multiply(packing.built(), weights, cols, x, rows, out);
    }
}

/// Rows in a block.
pub const ROWS: usize = 4;

/// Elements of a float matrix once padded to whole row blocks, or `None` where it does not fit the address space.
pub const fn padded_len(rows: usize, cols: usize) -> Option<usize> {
    match rows.checked_next_multiple_of(ROWS) {
        Some(rows) => rows.checked_mul(cols),
        None => None,
    }
}

/// Lays a row-major float matrix out in row blocks: calls `put` with each element's row and column in the order of
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
