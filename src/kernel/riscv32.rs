//! Kernels for RV32 with the M extension: a load, a multiplication and an addition are three instructions, so what can be
//! saved is loads. One vector is multiplied with eight rows (two blocks) at a time, which share its activations; of several
//! vectors four share each weight.
//!
//! | instructions a multiply-accumulate | inner loop |
//! |---|---|
//! | 8 bits, one vector | 3 + 1/8 |
//! | 8 bits, four vectors | 2 + 1/4 + 1/4 |
//! | 4 bits, one vector | 3 + 3/8 |
//! | 4 bits, four vectors | 2 + 3/4 + 1/4 |

use super::Packing;
use super::assembly::{Assembly, GroupLoop, Loop, Loops};
use super::blocks::{self, Tile};
use core::arch::global_asm;

pub use super::portable::{STRIP_BLOCKS, specialized};

unsafe extern "C" {
    #[link_name = "latimer_rv32_pair_i8"]
    fn pair_i8(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_rv32_pair_i4"]
    fn pair_i4(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_rv32_four_i8"]
    fn four_i8(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_rv32_four_i4"]
    fn four_i4(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_rv32_groups_i8"]
    fn groups_i8(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
    #[link_name = "latimer_rv32_groups_i4"]
    fn groups_i4(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
}

/// [`portable::multiply`](super::portable::multiply).
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    if packing == Packing::Int8Pairs {
        return super::portable::multiply(packing, weights, cols, x, rows, out);
    }
    blocks::multiply::<Assembly<Rv32>, 2, 4>(packing, weights, cols, x, rows, out);
}

struct Rv32;

// SAFETY: a loop for each case; they load bytes, halfwords, and the words of scales.
unsafe impl Loops for Rv32 {
    /// Scales are loaded as words.
    const TILES_ALIGN: usize = 4;

    #[inline(always)]
    fn choose(packing: Packing, blocks: usize, vectors: usize) -> Option<Loop> {
        match (packing, blocks, vectors) {
            (Packing::Int8 | Packing::Int8Groups(_), 2, 1) => Some(pair_i8),
            (Packing::Int8 | Packing::Int8Groups(_), 1, 4) => Some(four_i8),
            (Packing::Int4(_), 2, 1) => Some(pair_i4),
            (Packing::Int4(_), 1, 4) => Some(four_i4),
            // A last block on its own.
            _ => None,
        }
    }

    #[inline(always)]
    fn choose_groups(packing: Packing, blocks: usize, vectors: usize) -> Option<GroupLoop> {
        match (packing, blocks, vectors) {
            (Packing::Int8Groups(_), 2, 1) => Some(groups_i8),
            (Packing::Int4(_), 2, 1) => Some(groups_i4),
            _ => None,
        }
    }
}

// Two blocks, one vector. a0, a4: the blocks' tiles; a1: activations; a2: end of a0's tiles; a3: place of the sums.
// t0-t3, t4-t6 and s0: sums of the first block's rows, and of the second's; a5: an activation; a6, a7, s1, s2: weights.
//
// Two tiles a turn; with an odd count the first turn begins at the second tile, all pointers one tile back.
global_asm!(
    r#"
    .option push
    .option arch, +m

    # Four rows of a column, whose bytes are at \at and so on from \tiles.
    .macro latimer_rv32_rows tiles, at, s0, s1, s2, s3
    lb a6, \at(\tiles)
    lb a7, \at+4(\tiles)
    lb s1, \at+8(\tiles)
    lb s2, \at+12(\tiles)
    mul a6, a6, a5
    mul a7, a7, a5
    mul s1, s1, a5
    mul s2, s2, a5
    add \s0, \s0, a6
    add \s1, \s1, a7
    add \s2, \s2, s1
    add \s3, \s3, s2
    .endm

    .macro latimer_rv32_column at, x
    lh a5, \x(a1)
    latimer_rv32_rows a0, \at, t0, t1, t2, t3
    latimer_rv32_rows a4, \at, t4, t5, t6, s0
    .endm

    # The column that a sum begins with.
    .macro latimer_rv32_first at, x
    lh a5, \x(a1)
    .irp i, 0, 1, 2, 3
    lb t\i, \at+4*\i(a0)
    .endr
    lb t4, \at(a4)
    lb t5, \at+4(a4)
    lb t6, \at+8(a4)
    lb s0, \at+12(a4)
    .irp i, 0, 1, 2, 3, 4, 5, 6
    mul t\i, t\i, a5
    .endr
    mul s0, s0, a5
    .endm

    .macro latimer_rv32_pair_begin
    addi sp, sp, -32
    sw s0, 0(sp)
    sw s1, 4(sp)
    sw s2, 8(sp)
    lw a4, 4(a0)
    lw a0, 0(a0)
    lw a1, 0(a1)
    lw a3, 0(a3)
    slli a5, a2, 4
    andi a6, a2, 1
    add a2, a0, a5
    .endm

    .macro latimer_rv32_pair_end
    sw t0, 0(a3)
    sw t1, 4(a3)
    sw t2, 8(a3)
    sw t3, 12(a3)
    sw t4, 16(a3)
    sw t5, 20(a3)
    sw t6, 24(a3)
    sw s0, 28(a3)
    lw s0, 0(sp)
    lw s1, 4(sp)
    lw s2, 8(sp)
    addi sp, sp, 32
    ret
    .endm

    .section .text.latimer_rv32_pair_i8,"ax",@progbits
    .globl latimer_rv32_pair_i8
    .type latimer_rv32_pair_i8, @function
    .balign 4
latimer_rv32_pair_i8:
    latimer_rv32_pair_begin
    beqz a6, 3f
    addi a0, a0, -16
    addi a4, a4, -16
    addi a1, a1, -8
    latimer_rv32_first 16, 8
    j 2f
3:
    latimer_rv32_first 0, 0
    j 4f
1:
    latimer_rv32_column 0, 0
4:
    latimer_rv32_column 2, 2
    latimer_rv32_column 1, 4
    latimer_rv32_column 3, 6
    latimer_rv32_column 16, 8
2:
    latimer_rv32_column 18, 10
    latimer_rv32_column 17, 12
    latimer_rv32_column 19, 14
    addi a0, a0, 32
    addi a4, a4, 32
    addi a1, a1, 16
    bne a0, a2, 1b
    latimer_rv32_pair_end
    .size latimer_rv32_pair_i8, . - latimer_rv32_pair_i8
"#,
    // 4 bits. A byte is n0 + 16 * n1, two columns' weights, each plus 8, so n0 * x0 + n1 * x1 is
    // byte * x0 + n1 * (x1 - 16 * x0), and n1 a shift away. s3: the sum of all activations, 8 times of which is taken
    // away in the end; s4: x1 - 16 * x0. Sums are right modulo 2^32 on the way.
    r#"
    .macro latimer_rv32_nibbles tiles, at, s0, s1, s2, s3
    lbu a6, \at(\tiles)
    lbu a7, \at+4(\tiles)
    srli s1, a6, 4
    srli s2, a7, 4
    mul a6, a6, a5
    mul s1, s1, s4
    mul a7, a7, a5
    mul s2, s2, s4
    add \s0, \s0, a6
    add \s1, \s1, a7
    add \s0, \s0, s1
    add \s1, \s1, s2
    .ifnb \s2
    latimer_rv32_nibbles \tiles, \at+8, \s2, \s3
    .endif
    .endm

    # The byte at \at of each word, with columns at \x0 and \x1 from a1.
    .macro latimer_rv32_columns at, x0, x1
    lh a5, \x0(a1)
    lh s4, \x1(a1)
    slli a6, a5, 4
    add s3, s3, a5
    add s3, s3, s4
    sub s4, s4, a6
    latimer_rv32_nibbles a0, \at, t0, t1, t2, t3
    latimer_rv32_nibbles a4, \at, t4, t5, t6, s0
    .endm

    .section .text.latimer_rv32_pair_i4,"ax",@progbits
    .globl latimer_rv32_pair_i4
    .type latimer_rv32_pair_i4, @function
    .balign 4
latimer_rv32_pair_i4:
    latimer_rv32_pair_begin
    sw s3, 12(sp)
    sw s4, 16(sp)
    li s3, 0
    li t0, 0
    li t1, 0
    li t2, 0
    li t3, 0
    li t4, 0
    li t5, 0
    li t6, 0
    li s0, 0
1:
    latimer_rv32_columns 0, 0, 4
    latimer_rv32_columns 1, 8, 12
    latimer_rv32_columns 2, 2, 6
    latimer_rv32_columns 3, 10, 14
    addi a0, a0, 16
    addi a4, a4, 16
    addi a1, a1, 16
    bne a0, a2, 1b
    slli s3, s3, 3
    sub t0, t0, s3
    sub t1, t1, s3
    sub t2, t2, s3
    sub t3, t3, s3
    sub t4, t4, s3
    sub t5, t5, s3
    sub t6, t6, s3
    sub s0, s0, s3
    lw s3, 12(sp)
    lw s4, 16(sp)
    latimer_rv32_pair_end
    .size latimer_rv32_pair_i4, . - latimer_rv32_pair_i4
"#,
    // Groups: the same registers, and s5, s6: a group's scales in each block, of which \mask says what counts in a byte;
    // s7: bytes of a group's tiles; s8: groups left.
    r#"
    .macro latimer_rv32_scaled sum, scales, at, mask
    andi a6, \scales, \mask
    lw a7, \at(a3)
    mul \sum, \sum, a6
    srli \scales, \scales, 8
    add a7, a7, \sum
    sw a7, \at(a3)
    .endm

    .macro latimer_rv32_group_tile_i8
    latimer_rv32_column 0, 0
    latimer_rv32_column 2, 2
    latimer_rv32_column 1, 4
    latimer_rv32_column 3, 6
    .endm

    .macro latimer_rv32_group_tile_i4
    latimer_rv32_columns 0, 0, 4
    latimer_rv32_columns 1, 8, 12
    latimer_rv32_columns 2, 2, 6
    latimer_rv32_columns 3, 10, 14
    .endm

    .macro latimer_rv32_groups bits, x_bytes, mask
    .section .text.latimer_rv32_groups_\bits,"ax",@progbits
    .globl latimer_rv32_groups_\bits
    .type latimer_rv32_groups_\bits, @function
    .balign 4
latimer_rv32_groups_\bits:
    addi sp, sp, -48
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8
    sw s\i, 4*\i(sp)
    .endr
    lw a4, 4(a0)
    lw a0, 0(a0)
    lw a1, 0(a1)
    lw a3, 0(a3)
    lw s7, 0(a2)
    lw s8, 4(a2)
    slli s7, s7, 4
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    sw zero, 4*\i(a3)
    .endr
2:
    lw s5, 0(a0)
    lw s6, 0(a4)
    addi a0, a0, 4
    addi a4, a4, 4
    add a2, a0, s7
    .irp i, 0, 1, 2, 3, 4, 5, 6
    li t\i, 0
    .endr
    li s0, 0
    li s3, 0
1:
    latimer_rv32_group_tile_\bits
    addi a0, a0, 16
    addi a4, a4, 16
    addi a1, a1, \x_bytes
    bne a0, a2, 1b
    .ifc \bits, i4
    slli s3, s3, 3
    .irp i, 0, 1, 2, 3, 4, 5, 6
    sub t\i, t\i, s3
    .endr
    sub s0, s0, s3
    .endif
    latimer_rv32_scaled t0, s5, 0, \mask
    latimer_rv32_scaled t1, s5, 4, \mask
    latimer_rv32_scaled t2, s5, 8, \mask
    latimer_rv32_scaled t3, s5, 12, \mask
    latimer_rv32_scaled t4, s6, 16, \mask
    latimer_rv32_scaled t5, s6, 20, \mask
    latimer_rv32_scaled t6, s6, 24, \mask
    latimer_rv32_scaled s0, s6, 28, \mask
    addi s8, s8, -1
    bnez s8, 2b
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8
    lw s\i, 4*\i(sp)
    .endr
    addi sp, sp, 48
    ret
    .size latimer_rv32_groups_\bits, . - latimer_rv32_groups_\bits
    .endm

    latimer_rv32_groups i8, 8, 15
    latimer_rv32_groups i4, 16, 255
    .option pop
"#,
    options(raw)
);

// One block, four vectors. a0: tiles; a1-a4: activations of each vector; 56(sp): end of the tiles; 60(sp): places of
// the sums.
// t3-t6, s0-s3, s4-s7, s8-s11: sums of the rows for each vector; a7, t0-t2: an activation of each; a5: a weight; a6, ra:
// products.
global_asm!(
    r#"
    .option push
    .option arch, +m

    .macro latimer_rv32_weight_i8 at, bit
    lb a5, \at(a0)
    .endm

    .macro latimer_rv32_weight_i4 at, bit
    lbu a5, \at(a0)
    .if \bit
    srli a5, a5, 4
    .else
    andi a5, a5, 15
    .endif
    addi a5, a5, -8
    .endm

    .macro latimer_rv32_share bits, at, bit, s0, s1, s2, s3
    latimer_rv32_weight_\bits \at, \bit
    mul a6, a5, a7
    mul ra, a5, t0
    add \s0, \s0, a6
    add \s1, \s1, ra
    mul a6, a5, t1
    mul ra, a5, t2
    add \s2, \s2, a6
    add \s3, \s3, ra
    .endm

    .macro latimer_rv32_column_of_four bits, at, bit, x
    lh a7, \x(a1)
    lh t0, \x(a2)
    lh t1, \x(a3)
    lh t2, \x(a4)
    latimer_rv32_share \bits, \at, \bit, t3, s0, s4, s8
    latimer_rv32_share \bits, \at+4, \bit, t4, s1, s5, s9
    latimer_rv32_share \bits, \at+8, \bit, t5, s2, s6, s10
    latimer_rv32_share \bits, \at+12, \bit, t6, s3, s7, s11
    .endm

    .macro latimer_rv32_tile_i8
    latimer_rv32_column_of_four i8, 0, 0, 0
    latimer_rv32_column_of_four i8, 2, 0, 2
    latimer_rv32_column_of_four i8, 1, 0, 4
    latimer_rv32_column_of_four i8, 3, 0, 6
    .endm

    .macro latimer_rv32_tile_i4
    latimer_rv32_column_of_four i4, 0, 0, 0
    latimer_rv32_column_of_four i4, 2, 0, 2
    latimer_rv32_column_of_four i4, 0, 4, 4
    latimer_rv32_column_of_four i4, 2, 4, 6
    latimer_rv32_column_of_four i4, 1, 0, 8
    latimer_rv32_column_of_four i4, 3, 0, 10
    latimer_rv32_column_of_four i4, 1, 4, 12
    latimer_rv32_column_of_four i4, 3, 4, 14
    .endm

    .macro latimer_rv32_four bits, x_bytes
    .section .text.latimer_rv32_four_\bits,"ax",@progbits
    .globl latimer_rv32_four_\bits
    .type latimer_rv32_four_\bits, @function
    .balign 4
latimer_rv32_four_\bits:
    addi sp, sp, -64
    sw ra, 0(sp)
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    sw s\i, 4+4*\i(sp)
    .endr
    lw a0, 0(a0)
    slli a2, a2, 4
    add a2, a2, a0
    sw a2, 56(sp)
    sw a3, 60(sp)
    lw a4, 12(a1)
    lw a3, 8(a1)
    lw a2, 4(a1)
    lw a1, 0(a1)
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    li s\i, 0
    .endr
    .irp i, 3, 4, 5, 6
    li t\i, 0
    .endr
1:
    latimer_rv32_tile_\bits
    lw a5, 56(sp)
    addi a0, a0, 16
    addi a1, a1, \x_bytes
    addi a2, a2, \x_bytes
    addi a3, a3, \x_bytes
    addi a4, a4, \x_bytes
    bne a0, a5, 1b
    lw a4, 60(sp)
    lw a0, 0(a4)
    lw a1, 4(a4)
    lw a2, 8(a4)
    lw a3, 12(a4)
    .irp i, 0, 1, 2, 3
    sw s\i, 4*\i(a1)
    .endr
    .irp i, 3, 4, 5, 6
    sw t\i, 4*(\i-3)(a0)
    .endr
    .irp i, 4, 5, 6, 7
    sw s\i, 4*(\i-4)(a2)
    .endr
    .irp i, 8, 9, 10, 11
    sw s\i, 4*(\i-8)(a3)
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    lw s\i, 4+4*\i(sp)
    .endr
    lw ra, 0(sp)
    addi sp, sp, 64
    ret
    .size latimer_rv32_four_\bits, . - latimer_rv32_four_\bits
    .endm

    latimer_rv32_four i8, 8
    latimer_rv32_four i4, 16
    .text
    .option pop
"#,
    options(raw)
);
