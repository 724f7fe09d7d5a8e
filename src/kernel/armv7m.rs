//! Kernels for Armv7-M and Armv8-M Mainline without the DSP extension: an instruction unpacks a weight, another multiplies
//! and adds. Two vectors share the weights of 8 bits.
//!
//! | instructions a multiply-accumulate | inner loop |
//! |---|---|
//! | 8 bits, one vector | 2 + 3/8 |
//! | 8 bits, two vectors | 1 + 1/2 + 11/32 |
//! | 4 bits | 2 + 15/32 |

use super::Packing;
use super::assembly::{Assembly, GroupLoop, Loop, Loops};
use super::blocks::{self, Tile};
use core::arch::global_asm;

pub use super::portable::{STRIP_BLOCKS, specialized};

unsafe extern "C" {
    #[link_name = "latimer_armv7m_one_i8"]
    fn one_i8(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_armv7m_one_i4"]
    fn one_i4(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_armv7m_two_i8"]
    fn two_i8(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);
    #[link_name = "latimer_armv7m_groups_i8"]
    fn groups_i8(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
    #[link_name = "latimer_armv7m_groups_i4"]
    fn groups_i4(blocks: *const *const u8, x: *const *const i16, shape: *const [usize; 2], out: *const *mut i32);
}

/// [`portable::multiply`](super::portable::multiply).
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    match packing {
        Packing::Int8 | Packing::Int8Pairs | Packing::Int8Groups(_) => {
            blocks::multiply::<Assembly<Armv7m>, 1, 2>(packing, weights, cols, x, rows, out);
        }
        Packing::Int4(_) => blocks::multiply::<Assembly<Armv7m>, 1, 1>(packing, weights, cols, x, rows, out),
    }
}

struct Armv7m;

// SAFETY: a loop for each case; they load words of tiles, several at a time, and halfwords of activations.
unsafe impl Loops for Armv7m {
    const TILES_ALIGN: usize = 4;

    #[inline(always)]
    fn choose(packing: Packing, blocks: usize, vectors: usize) -> Option<Loop> {
        match (packing, blocks, vectors) {
            (Packing::Int8 | Packing::Int8Groups(_), 1, 1) => Some(one_i8),
            (Packing::Int8 | Packing::Int8Groups(_), 1, 2) => Some(two_i8),
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

// One block, one vector. r0: tiles; r1: activations; r2: turns left; r3: an activation (the place of the sums is on the stack).
// r4-r7: sums of the rows; r8-r11: their words; r12: a weight.
//
// Two tiles a turn; with an odd count the first turn begins at the second tile.
global_asm!(
    r#"
    .syntax unified
    .thumb

    .macro latimer_armv7m_begin
    ldr r3, [r3]
    push {r3-r11, lr}
    ldr r0, [r0]
    ldr r1, [r1]
    movs r4, #0
    movs r5, #0
    movs r6, #0
    movs r7, #0
    .endm

    .macro latimer_armv7m_end
    pop {r3}
    stmia r3!, {r4-r7}
    pop {r4-r11, pc}
    .endm

    # A column, \ror bits up in each word.
    .macro latimer_armv7m_column ror
    ldrsh r3, [r1], #2
    sxtb.w r12, r8, ror #\ror
    mla r4, r12, r3, r4
    sxtb.w r12, r9, ror #\ror
    mla r5, r12, r3, r5
    sxtb.w r12, r10, ror #\ror
    mla r6, r12, r3, r6
    sxtb.w r12, r11, ror #\ror
    mla r7, r12, r3, r7
    .endm

    .macro latimer_armv7m_tile_i8
    ldmia r0!, {r8-r11}
    latimer_armv7m_column 0
    latimer_armv7m_column 16
    latimer_armv7m_column 8
    latimer_armv7m_column 24
    .endm

    .section .text.latimer_armv7m_one_i8,"ax",%progbits
    .globl latimer_armv7m_one_i8
    .type latimer_armv7m_one_i8, %function
    .thumb_func
    .balign 4
latimer_armv7m_one_i8:
    latimer_armv7m_begin
    adds r2, #1
    lsrs r2, r2, #1
    bcc 2f
1:
    latimer_armv7m_tile_i8
2:
    latimer_armv7m_tile_i8
    subs r2, #1
    bne 1b
    latimer_armv7m_end
    .size latimer_armv7m_one_i8, . - latimer_armv7m_one_i8
"#,
    // 4 bits: the same registers. A weight plus 8 of four bits is the weight in two's complement with its sign bit the
    // other way round.
    r#"
    .macro latimer_armv7m_nibbles bit
    ldrsh r3, [r1], #2
    sbfx r12, r8, #\bit, #4
    mla r4, r12, r3, r4
    sbfx r12, r9, #\bit, #4
    mla r5, r12, r3, r5
    sbfx r12, r10, #\bit, #4
    mla r6, r12, r3, r6
    sbfx r12, r11, #\bit, #4
    mla r7, r12, r3, r7
    .endm

    .macro latimer_armv7m_tile_i4
    ldmia r0!, {r8-r11}
    eor r8, r8, #0x88888888
    eor r9, r9, #0x88888888
    eor r10, r10, #0x88888888
    eor r11, r11, #0x88888888
    latimer_armv7m_nibbles 0
    latimer_armv7m_nibbles 16
    latimer_armv7m_nibbles 4
    latimer_armv7m_nibbles 20
    latimer_armv7m_nibbles 8
    latimer_armv7m_nibbles 24
    latimer_armv7m_nibbles 12
    latimer_armv7m_nibbles 28
    .endm

    .section .text.latimer_armv7m_one_i4,"ax",%progbits
    .globl latimer_armv7m_one_i4
    .type latimer_armv7m_one_i4, %function
    .thumb_func
    .balign 4
latimer_armv7m_one_i4:
    latimer_armv7m_begin
1:
    latimer_armv7m_tile_i4
    subs r2, #1
    bne 1b
    latimer_armv7m_end
    .size latimer_armv7m_one_i4, . - latimer_armv7m_one_i4
"#,
    // Groups: the same registers, and lr: groups left; r3, r8-r12 in between. 0(sp): a group's scales, of four
    // bits each with weights of 8; 4(sp): tiles a group; 8(sp): place of the sums.
    r#"
    .macro latimer_armv7m_groups bits
    .section .text.latimer_armv7m_groups_\bits,"ax",%progbits
    .globl latimer_armv7m_groups_\bits
    .type latimer_armv7m_groups_\bits, %function
    .thumb_func
    .balign 4
latimer_armv7m_groups_\bits:
    push {r4-r11, lr}
    ldr r0, [r0]
    ldr r1, [r1]
    ldr r3, [r3]
    ldrd r2, lr, [r2]
    push {r1-r3}
    movs r4, #0
    movs r5, #0
    strd r4, r5, [r3]
    strd r4, r5, [r3, #8]
2:
    ldr r12, [r0], #4
    .ifc \bits, i8
    and r12, r12, #0x0f0f0f0f
    .endif
    str r12, [sp]
    movs r4, #0
    movs r5, #0
    movs r6, #0
    movs r7, #0
1:
    latimer_armv7m_tile_\bits
    subs r2, #1
    bne 1b
    ldrd r2, r3, [sp, #4]
    ldrb r8, [sp]
    ldrb r9, [sp, #1]
    ldrb r10, [sp, #2]
    ldrb r11, [sp, #3]
    ldr r12, [r3]
    mla r4, r4, r8, r12
    ldr r12, [r3, #4]
    mla r5, r5, r9, r12
    ldr r12, [r3, #8]
    mla r6, r6, r10, r12
    ldr r12, [r3, #12]
    mla r7, r7, r11, r12
    stmia r3!, {r4-r7}
    subs lr, lr, #1
    bne 2b
    add sp, #12
    pop {r4-r11, pc}
    .size latimer_armv7m_groups_\bits, . - latimer_armv7m_groups_\bits
    .endm

    latimer_armv7m_groups i8
    latimer_armv7m_groups i4
"#,
    // 8 bits, one block, two vectors. r0: tiles; r1, r2: activations of each vector; r3: a weight; r4-r7, r8-r11: sums of
    // the rows for each vector; r12, lr: an activation of each; 0(sp): end of the tiles; 4(sp): places of the sums. The first column,
    // and of it the first row, come last so that their loads can move the pointers.
    r#"
    .macro latimer_armv7m_share s0, s1
    mla \s0, r3, r12, \s0
    mla \s1, r3, lr, \s1
    .endm

    .macro latimer_armv7m_column_of_two at, x
    ldrsh r12, [r1, #\x]
    ldrsh lr, [r2, #\x]
    ldrsb r3, [r0, #\at]
    latimer_armv7m_share r4, r8
    latimer_armv7m_others_of_two \at
    .endm

    .macro latimer_armv7m_others_of_two at
    ldrsb r3, [r0, #\at+4]
    latimer_armv7m_share r5, r9
    ldrsb r3, [r0, #\at+8]
    latimer_armv7m_share r6, r10
    ldrsb r3, [r0, #\at+12]
    latimer_armv7m_share r7, r11
    .endm

    .section .text.latimer_armv7m_two_i8,"ax",%progbits
    .globl latimer_armv7m_two_i8
    .type latimer_armv7m_two_i8, %function
    .thumb_func
    .balign 4
latimer_armv7m_two_i8:
    push {r3-r11, lr}
    ldr r0, [r0]
    add r2, r0, r2, lsl #4
    push {r2, r3}
    ldrd r1, r2, [r1]
    .irp i, 4, 5, 6, 7, 8, 9, 10, 11
    mov r\i, #0
    .endr
1:
    latimer_armv7m_column_of_two 1, 4
    latimer_armv7m_column_of_two 2, 2
    latimer_armv7m_column_of_two 3, 6
    ldrsh r12, [r1], #8
    ldrsh lr, [r2], #8
    latimer_armv7m_others_of_two 0
    ldrsb r3, [r0], #16
    latimer_armv7m_share r4, r8
    ldr r3, [sp]
    cmp r0, r3
    bne 1b
    pop {r2, r3}
    ldrd r0, r1, [r3]
    stmia r0!, {r4-r7}
    stmia r1!, {r8-r11}
    pop {r3-r11, pc}
    .size latimer_armv7m_two_i8, . - latimer_armv7m_two_i8
    .text
"#,
    options(raw)
);
