//! One vector: weights are unpacked as they are read.
//!
//! A tile is two loads, and for each of its four rows two `SXTB16` and two `SMLAD`: 18 instructions for 16 products. The
//! sums of a row block stay in registers.

use core::arch::global_asm;

/// Where a matrix lies and goes.
#[repr(C)]
pub struct Job {
    /// The first row block, at a multiple of four bytes.
    pub weights: *const u8,
    /// Activations, at a multiple of four bytes: four a tile.
    pub x: *const i16,
    /// Four sums a block.
    pub out: *mut i32,
    /// Row blocks, one at least.
    pub blocks: usize,
    /// Tiles of a group, one at least; of the block where there are no groups.
    pub tiles: usize,
    /// Groups of a block, one at least. Unused where there are none.
    pub groups: usize,
}

unsafe extern "C" {
    /// 8-bit weights without groups: writes the sums of all blocks.
    pub fn latimer_dsp_one_i8(job: &Job);
    /// 8-bit weights in pairs, whose activations have been spread by [`latimer_dsp_spread`]; at most 512 columns: 256 times the
    /// sums stays inside 32 bits.
    pub fn latimer_dsp_one_pairs(job: &Job);
    /// For each four activations of `x`, which have 8 bits: two words for the upper weights of pairs and the lower ones.
    pub fn latimer_dsp_spread(x: *const i16, quads: usize, spread: *mut u32);
    /// 8-bit weights in groups, all of `tiles` tiles, each with four scales of 4 bits before it.
    pub fn latimer_dsp_one_i8_groups(job: &Job);
    /// 4-bit weights in groups, all of `tiles` tiles (of eight columns), each with four scales of 8 bits before it.
    pub fn latimer_dsp_one_i4(job: &Job);
}

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    // r0-r3 sums of four rows, r4-r7 a tile, r8 r9 its activations, r10 weights, r11 activations, lr scratch.
    .macro LATIMER_DSP_ROW acc, word, first, second
        sxtb16  lr, \word
        \first  \acc, lr, r8 \second
        sxtb16  \word, \word, ror #8
        smlad   \acc, \word, r9, \acc
    .endm
    .macro LATIMER_DSP_TILE
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        LATIMER_DSP_ROW r0, r4, smlad, ", r0"
        LATIMER_DSP_ROW r1, r5, smlad, ", r1"
        LATIMER_DSP_ROW r2, r6, smlad, ", r2"
        LATIMER_DSP_ROW r3, r7, smlad, ", r3"
    .endm
    // The first of a sum.
    .macro LATIMER_DSP_TILE_FIRST
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        LATIMER_DSP_ROW r0, r4, smuad
        LATIMER_DSP_ROW r1, r5, smuad
        LATIMER_DSP_ROW r2, r6, smuad
        LATIMER_DSP_ROW r3, r7, smuad
    .endm
    // A group's sums, times the scales in r12, onto the totals on the stack: \bits of each byte count.
    .macro LATIMER_DSP_SCALE bits
        ldm     sp, {{r4-r7}}
        ubfx    r8, r12, #0, #\bits
        mla     r4, r0, r8, r4
        ubfx    r9, r12, #8, #\bits
        mla     r5, r1, r9, r5
        ubfx    r8, r12, #16, #\bits
        mla     r6, r2, r8, r6
        ubfx    r9, r12, #24, #\bits
        mla     r7, r3, r9, r7
        stm     sp, {{r4-r7}}
    .endm

    // Pairs: a half of a word is 256 b + a. With X = (xb, xd) and Y = 256 (xa, xc) - X the products of the halves with X and of
    // (a, c) with Y are 256 times those of the weights: one SXTB16 for four columns.
    .macro LATIMER_DSP_PAIRS
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        smlad   r0, r4, r8, r0
        smlad   r1, r5, r8, r1
        smlad   r2, r6, r8, r2
        smlad   r3, r7, r8, r3
        sxtb16  r4, r4
        sxtb16  r5, r5
        sxtb16  r6, r6
        sxtb16  r7, r7
        smlad   r0, r4, r9, r0
        smlad   r1, r5, r9, r1
        smlad   r2, r6, r9, r2
        smlad   r3, r7, r9, r3
    .endm

    .section .text.latimer_dsp_spread, "ax", %progbits
    .balign 4
    .global latimer_dsp_spread
    .type latimer_dsp_spread, %function
    .thumb_func
latimer_dsp_spread:
    push    {{r4, lr}}
    mvn     lr, #0x00ff00ff
1:  ldrd    r3, r4, [r0], #8
    and     r12, lr, r3, lsl #8
    ssub16  r12, r12, r4
    strd    r4, r12, [r2], #8
    subs    r1, r1, #1
    bne     1b
    pop     {{r4, pc}}
    .size latimer_dsp_spread, . - latimer_dsp_spread

    // A function without groups: \tile being the instructions of four columns, whose sums are made \down bits too large.
    .macro LATIMER_DSP_BLOCKS name, tile, down
    .section .text.\name, "ax", %progbits
    .balign 4
    .global \name
    .type \name, %function
    .thumb_func
\name:
    push    {{r4-r11, lr}}
    ldm     r0, {{r1-r5}}           // weights, x, out, blocks, tiles
    mov     r10, r1
    lsr     r6, r5, #3
    and     r7, r5, #7
    sub     sp, sp, #20
    strd    r2, r6, [sp]            // 0 activations, 4 tiles by eight
    strd    r7, r3, [sp, #8]        // 8 other tiles, 12 out
    str     r4, [sp, #16]           // blocks
1:  ldrd    r11, r12, [sp]
    mov     r0, #0
    mov     r1, #0
    mov     r2, #0
    mov     r3, #0
    cmp     r12, #0
    beq     3f
2:  .rept 8
    \tile
    .endr
    subs    r12, r12, #1
    bne     2b
3:  ldr     r12, [sp, #8]
    cmp     r12, #0
    beq     5f
4:  \tile
    subs    r12, r12, #1
    bne     4b
5:  ldrd    r4, r5, [sp, #12]
    .if \down
    asr     r0, r0, #\down
    asr     r1, r1, #\down
    asr     r2, r2, #\down
    asr     r3, r3, #\down
    .endif
    stm     r4!, {{r0-r3}}
    subs    r5, r5, #1
    strd    r4, r5, [sp, #12]
    bne     1b
    add     sp, sp, #20
    pop     {{r4-r11, pc}}
    .size \name, . - \name
    .endm

    LATIMER_DSP_BLOCKS latimer_dsp_one_i8, LATIMER_DSP_TILE, 0
    LATIMER_DSP_BLOCKS latimer_dsp_one_pairs, LATIMER_DSP_PAIRS, 8

    .section .text.latimer_dsp_one_i8_groups, "ax", %progbits
    .balign 4
    .global latimer_dsp_one_i8_groups
    .type latimer_dsp_one_i8_groups, %function
    .thumb_func
latimer_dsp_one_i8_groups:
    push    {{r4-r11, lr}}
    ldm     r0, {{r1-r6}}           // weights, x, out, blocks, tiles, groups
    mov     r10, r1
    sub     r5, r5, #1
    sub     sp, sp, #44             // 0-12 totals
    strd    r2, r3, [sp, #16]       // 16 activations, 20 out
    strd    r4, r5, [sp, #24]       // 24 blocks, 28 tiles after the first
    str     r6, [sp, #32]           // groups
1:  mov     r0, #0
    mov     r1, #0
    strd    r0, r1, [sp]
    strd    r0, r1, [sp, #8]
    ldr     r11, [sp, #16]
    ldr     r0, [sp, #32]
    str     r0, [sp, #36]           // groups left
2:  ldr     r0, [r10], #4
    ldr     r12, [sp, #28]
    str     r0, [sp, #40]           // the group's scales
    LATIMER_DSP_TILE_FIRST
    cmp     r12, #0
    beq     4f
3:  LATIMER_DSP_TILE
    subs    r12, r12, #1
    bne     3b
4:  ldr     r12, [sp, #40]
    LATIMER_DSP_SCALE 4
    ldr     r0, [sp, #36]
    subs    r0, r0, #1
    str     r0, [sp, #36]
    bne     2b
    ldrd    r0, r1, [sp, #20]
    stm     r0!, {{r4-r7}}
    subs    r1, r1, #1
    strd    r0, r1, [sp, #20]
    bne     1b
    add     sp, sp, #44
    pop     {{r4-r11, pc}}
    .size latimer_dsp_one_i8_groups, . - latimer_dsp_one_i8_groups

    // The same for 4 bits: a word holds eight columns, each plus 8, which a fifth sum takes off: -8 times the
    // activations, onto which the products are added.
    // r0-r3 sums, r4-r7 a tile, r8 r9 activations, r10 weights, r11 activations, r12 mask, lr scratch.
    .macro LATIMER_DSP_NIBBLES acc, word, low, high
        .if \low
        and     lr, r12, \word, lsr #\low
        .else
        and     lr, r12, \word
        .endif
        smlad   \acc, lr, r8, \acc
        and     lr, r12, \word, lsr #\high
        smlad   \acc, lr, r9, \acc
    .endm

    .section .text.latimer_dsp_one_i4, "ax", %progbits
    .balign 4
    .global latimer_dsp_one_i4
    .type latimer_dsp_one_i4, %function
    .thumb_func
latimer_dsp_one_i4:
    push    {{r4-r11, lr}}
    ldm     r0, {{r1-r6}}           // weights, x, out, blocks, tiles, groups
    mov     r10, r1
    sub     sp, sp, #48             // 0-12 totals
    strd    r2, r3, [sp, #16]       // 16 activations, 20 out
    strd    r4, r5, [sp, #24]       // 24 blocks, 28 tiles
    str     r6, [sp, #32]           // groups
1:  mov     r0, #0
    mov     r1, #0
    strd    r0, r1, [sp]
    strd    r0, r1, [sp, #8]
    ldr     r11, [sp, #16]
    ldr     r0, [sp, #32]
    str     r0, [sp, #36]           // groups left
2:  ldr     r0, [r10], #4
    ldr     r3, [sp, #28]
    add     r1, r10, r3, lsl #4
    strd    r0, r1, [sp, #40]       // 40 the group's scales, 44 the end of its tiles
    // Lanes of -8.
    mvn     r12, #0x00070007
    mov     r0, #0
    mov     r2, r11
3:  ldm     r2!, {{r4-r7}}
    smlad   r0, r4, r12, r0
    smlad   r0, r5, r12, r0
    smlad   r0, r6, r12, r0
    smlad   r0, r7, r12, r0
    subs    r3, r3, #1
    bne     3b
    mov     r1, r0
    mov     r2, r0
    mov     r3, r0
    mov     r12, #0x000f000f
4:  ldm     r10!, {{r4-r7}}
    ldrd    r8, r9, [r11], #8
    LATIMER_DSP_NIBBLES r0, r4, 0, 4
    LATIMER_DSP_NIBBLES r1, r5, 0, 4
    LATIMER_DSP_NIBBLES r2, r6, 0, 4
    LATIMER_DSP_NIBBLES r3, r7, 0, 4
    ldrd    r8, r9, [r11], #8
    LATIMER_DSP_NIBBLES r0, r4, 8, 12
    LATIMER_DSP_NIBBLES r1, r5, 8, 12
    LATIMER_DSP_NIBBLES r2, r6, 8, 12
    LATIMER_DSP_NIBBLES r3, r7, 8, 12
    ldr     r4, [sp, #44]
    cmp     r10, r4
    bne     4b
    ldr     r12, [sp, #40]
    LATIMER_DSP_SCALE 8
    ldr     r0, [sp, #36]
    subs    r0, r0, #1
    str     r0, [sp, #36]
    bne     2b
    ldrd    r0, r1, [sp, #20]
    stm     r0!, {{r4-r7}}
    subs    r1, r1, #1
    strd    r0, r1, [sp, #20]
    bne     1b
    add     sp, sp, #48
    pop     {{r4-r11, pc}}
    .size latimer_dsp_one_i4, . - latimer_dsp_one_i4

    .purgem LATIMER_DSP_BLOCKS
    .purgem LATIMER_DSP_PAIRS
    .purgem LATIMER_DSP_ROW
    .purgem LATIMER_DSP_TILE
    .purgem LATIMER_DSP_TILE_FIRST
    .purgem LATIMER_DSP_SCALE
    .purgem LATIMER_DSP_NIBBLES
    .text
"#
);
