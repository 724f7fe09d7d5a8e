//! Kernels for Armv6-M and Armv8-M Baseline. Instructions that take two operands and eight of the registers leave no room
//! for the sums: those are added to in the upper registers, which an addition may name. Weights are loaded by words,
//! as a load takes two cycles whatever its width.
//!
//! | instructions a multiply-accumulate | inner loop |
//! |---|---|
//! | 8 bits | 3 + 3/4 + 7/16 |
//! | 4 bits | 3 + 35/32 |

use super::Packing;
use super::assembly::{Assembly, GroupLoop, Loop, Loops};
use super::blocks::{self, Tile};
use core::arch::global_asm;

pub use super::portable::{STRIP_BLOCKS, specialized};

unsafe extern "C" {
    #[link_name = "latimer_armv6m_i8"]
    fn one_i8(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_armv6m_i4"]
    fn one_i4(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_armv6m_groups_i8"]
    fn groups_i8(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
    #[link_name = "latimer_armv6m_groups_i4"]
    fn groups_i4(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
}

/// [`portable::multiply`](super::portable::multiply).
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    blocks::multiply::<Assembly<Armv6m>, 1, 1>(packing, weights, cols, x, rows, out);
}

struct Armv6m;

// SAFETY: a loop for each case; they load words of both.
unsafe impl Loops for Armv6m {
    const TILES_ALIGN: usize = 4;
    /// An odd number of columns puts every other vector where words can't be loaded.
    const X_ALIGN: usize = 4;

    #[inline(always)]
    fn choose(packing: Packing, blocks: usize, vectors: usize) -> Option<Loop> {
        match (packing, blocks, vectors) {
            (Packing::Int8 | Packing::Int8Groups(_), 1, 1) => Some(one_i8),
            (Packing::Int4(_), 1, 1) => Some(one_i4),
            _ => None,
        }
    }

    #[inline(always)]
    fn choose_groups(packing: Packing, blocks: usize, vectors: usize) -> Option<GroupLoop> {
        match (packing, blocks, vectors) {
            (Packing::Int8Groups(_), 1, 1) => Some(groups_i8),
            (Packing::Int4(_), 1, 1) => Some(groups_i4),
            _ => None,
        }
    }
}

// r0: tiles; r1: activations; r2-r5: activations of four columns; r6: a row's word; r7: a weight, then a product;
// r8-r11: sums of the rows; r12: end of the tiles. The place of the sums is on the stack.
global_asm!(
    r#"
    .syntax unified
    .thumb

    .macro latimer_armv6m_begin
    ldr r3, [r3]
    push {r3-r7, lr}
    mov r4, r8
    mov r5, r9
    mov r6, r10
    mov r7, r11
    push {r4-r7}
    ldr r0, [r0]
    ldr r1, [r1]
    lsls r2, r2, #4
    adds r2, r2, r0
    mov r12, r2
    movs r2, #0
    mov r8, r2
    mov r9, r2
    mov r10, r2
    mov r11, r2
    .endm

    # Stores r4 to r7.
    .macro latimer_armv6m_end
    ldr r3, [sp, #16]
    stmia r3!, {r4-r7}
    pop {r4-r7}
    mov r8, r4
    mov r9, r5
    mov r10, r6
    mov r11, r7
    pop {r3-r7, pc}
    .endm

    .macro latimer_armv6m_row sum
    ldmia r0!, {r6}
    sxtb r7, r6
    muls r7, r2, r7
    add \sum, r7
    lsls r7, r6, #8
    asrs r7, r7, #24
    muls r7, r3, r7
    add \sum, r7
    lsls r7, r6, #16
    asrs r7, r7, #24
    muls r7, r4, r7
    add \sum, r7
    asrs r6, r6, #24
    muls r6, r5, r6
    add \sum, r6
    .endm

    .macro latimer_armv6m_tile_i8
    ldmia r1!, {r3, r5}
    sxth r2, r3
    asrs r3, r3, #16
    sxth r4, r5
    asrs r5, r5, #16
    latimer_armv6m_row r8
    latimer_armv6m_row r9
    latimer_armv6m_row r10
    latimer_armv6m_row r11
    .endm

    .section .text.latimer_armv6m_i8,"ax",%progbits
    .globl latimer_armv6m_i8
    .type latimer_armv6m_i8, %function
    .thumb_func
    .balign 4
latimer_armv6m_i8:
    latimer_armv6m_begin
1:
    latimer_armv6m_tile_i8
    cmp r0, r12
    bne 1b
    mov r4, r8
    mov r5, r9
    mov r6, r10
    mov r7, r11
    latimer_armv6m_end
    .size latimer_armv6m_i8, . - latimer_armv6m_i8
"#,
    // 4 bits, the columns of a word's lower half, then of its upper half. With the halfword h = n0 + 16 * n1 + 256 * n2 +
    // 4096 * n3 of weights plus 8, n0 * x0 + n1 * x1 + n2 * x2 + n3 * x3 is
    // h * x0 + (h >> 4) * (x1 - 16 * x0) + (h >> 8) * (x2 - 16 * x1) + (h >> 12) * (x3 - 16 * x2),
    // so that a shift unpacks a weight. lr: the sum of all activations, 8 times of which is taken away in the end. Sums
    // are right modulo 2^32 on the way.
    r#"
    .macro latimer_armv6m_half_row at, sum
    ldrh r6, [r0, #\at]
    lsrs r7, r6, #4
    muls r7, r3, r7
    add \sum, r7
    lsrs r7, r6, #8
    muls r7, r4, r7
    add \sum, r7
    lsrs r7, r6, #12
    muls r7, r5, r7
    add \sum, r7
    muls r6, r2, r6
    add \sum, r6
    .endm

    # From activations of the half's columns in r2 to r5.
    .macro latimer_armv6m_half at
    add lr, r2
    add lr, r3
    add lr, r4
    add lr, r5
    lsls r7, r4, #4
    subs r5, r5, r7
    lsls r7, r3, #4
    subs r4, r4, r7
    lsls r7, r2, #4
    subs r3, r3, r7
    latimer_armv6m_half_row \at, r8
    latimer_armv6m_half_row \at+4, r9
    latimer_armv6m_half_row \at+8, r10
    latimer_armv6m_half_row \at+12, r11
    .endm

    .macro latimer_armv6m_tile_i4
    ldmia r1!, {r2-r5}
    sxth r2, r2
    sxth r3, r3
    sxth r4, r4
    sxth r5, r5
    latimer_armv6m_half 0
    subs r1, #16
    ldmia r1!, {r2-r5}
    asrs r2, r2, #16
    asrs r3, r3, #16
    asrs r4, r4, #16
    asrs r5, r5, #16
    latimer_armv6m_half 2
    adds r0, #16
    .endm

    .section .text.latimer_armv6m_i4,"ax",%progbits
    .globl latimer_armv6m_i4
    .type latimer_armv6m_i4, %function
    .thumb_func
    .balign 4
latimer_armv6m_i4:
    latimer_armv6m_begin
    mov lr, r2
1:
    latimer_armv6m_tile_i4
    cmp r0, r12
    beq 2f
    b 1b
2:
    mov r3, lr
    lsls r3, r3, #3
    mov r4, r8
    mov r5, r9
    mov r6, r10
    mov r7, r11
    subs r4, r4, r3
    subs r5, r5, r3
    subs r6, r6, r3
    subs r7, r7, r3
    latimer_armv6m_end
    .size latimer_armv6m_i4, . - latimer_armv6m_i4
"#,
    // Groups: the same registers; all low ones but r0 and r1 in between. 0(sp): a group's scales; 4(sp): groups left;
    // 8(sp): bytes of a group's tiles; 12(sp): place of the sums.
    r#"
    .macro latimer_armv6m_scaled sum, at, mask
    movs r5, #\mask
    ands r5, r2
    lsrs r2, r2, #8
    mov r6, \sum
    muls r6, r5, r6
    ldr r7, [r3, #\at]
    adds r7, r7, r6
    str r7, [r3, #\at]
    .endm

    .macro latimer_armv6m_groups bits, mask
    .section .text.latimer_armv6m_groups_\bits,"ax",%progbits
    .globl latimer_armv6m_groups_\bits
    .type latimer_armv6m_groups_\bits, %function
    .thumb_func
    .balign 4
latimer_armv6m_groups_\bits:
    push {r4-r7, lr}
    mov r4, r8
    mov r5, r9
    mov r6, r10
    mov r7, r11
    push {r4-r7}
    ldr r0, [r0]
    ldr r1, [r1]
    ldr r7, [r3]
    ldr r5, [r2, #4]
    ldr r6, [r2]
    lsls r6, r6, #4
    push {r4-r7}
    movs r2, #0
    movs r3, #0
    movs r4, #0
    movs r5, #0
    stmia r7!, {r2-r5}
3:
    ldmia r0!, {r2}
    str r2, [sp]
    ldr r2, [sp, #8]
    adds r2, r2, r0
    mov r12, r2
    movs r2, #0
    mov r8, r2
    mov r9, r2
    mov r10, r2
    mov r11, r2
    .ifc \bits, i4
    mov lr, r2
    .endif
1:
    latimer_armv6m_tile_\bits
    cmp r0, r12
    .ifc \bits, i8
    bne 1b
    .else
    // Too far for a condition.
    beq 2f
    b 1b
2:
    mov r3, lr
    lsls r3, r3, #3
    .irp i, 8, 9, 10, 11
    mov r4, r\i
    subs r4, r4, r3
    mov r\i, r4
    .endr
    .endif
    ldr r2, [sp]
    ldr r3, [sp, #12]
    latimer_armv6m_scaled r8, 0, \mask
    latimer_armv6m_scaled r9, 4, \mask
    latimer_armv6m_scaled r10, 8, \mask
    latimer_armv6m_scaled r11, 12, \mask
    ldr r2, [sp, #4]
    subs r2, r2, #1
    str r2, [sp, #4]
    beq 4f
    b 3b
4:
    add sp, #16
    pop {r4-r7}
    mov r8, r4
    mov r9, r5
    mov r10, r6
    mov r11, r7
    pop {r4-r7, pc}
    .size latimer_armv6m_groups_\bits, . - latimer_armv6m_groups_\bits
    .endm

    latimer_armv6m_groups i8, 15
    latimer_armv6m_groups i4, 255
    .text
"#,
    options(raw)
);
