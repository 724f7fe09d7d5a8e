//! Several vectors: a panel of a row block is unpacked once, to 16 bits and times its groups' scales, and multiplied
//! with two vectors at a time.
//!
//! Two rows and two vectors: three loads for four columns and eight `SMLAD`, 11 instructions for 16 products. Flash is
//! read once, whatever the number of vectors.

use core::arch::global_asm;

/// Columns of a panel.
pub const PANEL: usize = 128;

/// Four rows of a panel: for each four columns of a pair of rows, two words of the first row and two of the second. The
/// second pair of rows follows the first.
pub type Panel = [[u32; PANEL]; 2];

/// A panel times all vectors.
#[repr(C)]
pub struct Job {
    /// The panel.
    pub panel: *const Panel,
    /// The panel's columns over four, one at least.
    pub quads: usize,
    /// Activations of the first vector, at a multiple of four bytes, as those of all others.
    pub x: *const i16,
    /// Bytes from one vector to the next.
    pub x_step: usize,
    /// Sums of the first vector, four.
    pub out: *mut i32,
    /// Bytes from the sums of one vector to those of the next.
    pub out_step: usize,
    /// Vectors, one at least.
    pub vectors: usize,
    /// Whether the sums are added to what is there.
    pub add: bool,
}

unsafe extern "C" {
    /// Multiplies.
    pub fn latimer_dsp_panel(job: &Job);
    /// Unpacks `tiles` (one at least) of 8-bit weights to `panel`, which points at two words a row and tile of the first
    /// pair of rows.
    pub fn latimer_dsp_unpack_i8(weights: *const u8, tiles: usize, panel: *mut u32);
    /// The same of 8-bit weights in pairs.
    pub fn latimer_dsp_unpack_pairs(weights: *const u8, tiles: usize, panel: *mut u32);
    /// The same of a group, times its four scales of 4 bits, which lie before the tiles.
    pub fn latimer_dsp_unpack_i8_group(weights: *const u8, tiles: usize, panel: *mut u32);
    /// The same of a group of 4-bit weights with scales of 8 bits; a tile has eight columns.
    pub fn latimer_dsp_unpack_i4_group(weights: *const u8, tiles: usize, panel: *mut u32);
}

/// Bytes between the pairs of rows.
const PAIR: usize = size_of::<Panel>() / 2;

global_asm!(
    crate::kernel::cpu!(),
    r#"
    .syntax unified
    .thumb

    // r0-r3 sums: two of the first vector, two of the second; r4-r7 two rows' weights of four columns; r8 r9 activations;
    // r10 weights, r11 and r12 activations of the two vectors, lr counts.
    .macro LATIMER_DSP_TWO
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        smlad   r0, r4, r8, r0
        smlad   r1, r6, r8, r1
        smlad   r0, r5, r9, r0
        smlad   r1, r7, r9, r1
        ldrd    r8, r9, [r12], #8
        smlad   r2, r4, r8, r2
        smlad   r3, r6, r8, r3
        smlad   r2, r5, r9, r2
        smlad   r3, r7, r9, r3
    .endm
    .macro LATIMER_DSP_LAST
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        smlad   r0, r4, r8, r0
        smlad   r1, r6, r8, r1
        smlad   r0, r5, r9, r0
        smlad   r1, r7, r9, r1
    .endm

    .section .text.latimer_dsp_panel, "ax", %progbits
    .balign 4
    .global latimer_dsp_panel
    .type latimer_dsp_panel, %function
    .thumb_func
latimer_dsp_panel:
    push    {{r4-r11, lr}}
    ldrb    r10, [r0, #28]          // add
    ldm     r0, {{r1-r7}}           // panel, quads, x, x_step, out, out_step, vectors
    sub     sp, sp, #40
    str     r10, [sp, #36]          // whether sums are added to
    and     r8, r2, #7
    lsr     r9, r2, #3
    strd    r1, r9, [sp]            // 0 panel, 4 quads by eight
    strd    r3, r4, [sp, #8]        // 8 activations, 12 step
    strd    r5, r6, [sp, #16]       // 16 out, 20 step
    strd    r7, r8, [sp, #24]       // 24 vectors, 28 other quads
    // Two vectors, the first pair of rows and then the second.
1:  ldr     r7, [sp, #24]
    subs    r7, r7, #2
    blt     6f
    ldrd    r10, lr, [sp]
    mov     r7, #0
2:  str     r7, [sp, #32]           // bytes of the sums already made
    ldrd    r11, r12, [sp, #8]
    ldr     r6, [sp, #36]
    add     r12, r12, r11
    cmp     r6, #0
    bne     14f
    mov     r0, #0
    mov     r1, #0
    mov     r2, #0
    mov     r3, #0
15: cmp     lr, #0
    beq     4f
3:  LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    LATIMER_DSP_TWO
    subs    lr, lr, #1
    bne     3b
4:  ldr     lr, [sp, #28]
    cmp     lr, #0
    beq     5f
7:  LATIMER_DSP_TWO
    subs    lr, lr, #1
    bne     7b
5:  ldrd    r4, r5, [sp, #16]
    ldr     r7, [sp, #32]
    add     r4, r4, r7
    add     r5, r5, r4
    strd    r0, r1, [r4]
    strd    r2, r3, [r5]
    ldrd    r10, lr, [sp]
    add     r10, r10, #{pair}
    adds    r7, r7, #8
    cmp     r7, #8
    beq     2b
    // The next two vectors.
    ldrd    r0, r1, [sp, #8]
    ldrd    r2, r3, [sp, #16]
    ldr     r7, [sp, #24]
    add     r0, r0, r1, lsl #1
    add     r2, r2, r3, lsl #1
    subs    r7, r7, #2
    str     r0, [sp, #8]
    str     r2, [sp, #16]
    str     r7, [sp, #24]
    b       1b
    // A last one.
6:  ldr     r7, [sp, #24]
    cmp     r7, #0
    beq     9f
    ldrd    r10, lr, [sp]
    mov     r7, #0
8:  str     r7, [sp, #32]
    ldr     r11, [sp, #8]
    ldr     r4, [sp, #16]
    ldr     r6, [sp, #36]
    mov     r0, #0
    mov     r1, #0
    cmp     r6, #0
    it      ne
    ldrdne  r0, r1, [r4]
    cmp     lr, #0
    beq     11f
10: LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    LATIMER_DSP_LAST
    subs    lr, lr, #1
    bne     10b
11: ldr     lr, [sp, #28]
    cmp     lr, #0
    beq     13f
12: LATIMER_DSP_LAST
    subs    lr, lr, #1
    bne     12b
13: ldr     r4, [sp, #16]
    ldr     r7, [sp, #32]
    strd    r0, r1, [r4], #8
    str     r4, [sp, #16]
    ldrd    r10, lr, [sp]
    add     r10, r10, #{pair}
    adds    r7, r7, #8
    cmp     r7, #8
    beq     8b
9:  add     sp, sp, #40
    pop     {{r4-r11, pc}}
14: ldrd    r4, r5, [sp, #16]
    add     r4, r4, r7
    ldrd    r0, r1, [r4]
    add     r5, r5, r4
    ldrd    r2, r3, [r5]
    b       15b

    .section .text.latimer_dsp_unpack_i8, "ax", %progbits
    .balign 4
    .global latimer_dsp_unpack_i8
    .type latimer_dsp_unpack_i8, %function
    .thumb_func
latimer_dsp_unpack_i8:
    push    {{r4-r11, lr}}
    add     r3, r2, #{pair}
1:  ldm     r0!, {{r4-r7}}
    sxtb16  r8, r4
    sxtb16  r9, r4, ror #8
    sxtb16  r10, r5
    sxtb16  r11, r5, ror #8
    stm     r2!, {{r8-r11}}
    sxtb16  r8, r6
    sxtb16  r9, r6, ror #8
    sxtb16  r10, r7
    sxtb16  r11, r7, ror #8
    stm     r3!, {{r8-r11}}
    subs    r1, r1, #1
    bne     1b
    pop     {{r4-r11, pc}}

    // The upper weight of a pair is its byte, and one where the lower is negative.
    .macro LATIMER_DSP_PAIR word, first, second
        sxtb16  \first, \word
        sxtb16  \second, \word, ror #8
        and     \word, lr, \word, lsr #7
        sadd16  \second, \second, \word
    .endm

    .section .text.latimer_dsp_unpack_pairs, "ax", %progbits
    .balign 4
    .global latimer_dsp_unpack_pairs
    .type latimer_dsp_unpack_pairs, %function
    .thumb_func
latimer_dsp_unpack_pairs:
    push    {{r4-r11, lr}}
    add     r3, r2, #{pair}
    mov     lr, #0x00010001
1:  ldm     r0!, {{r4-r7}}
    LATIMER_DSP_PAIR r4, r8, r9
    LATIMER_DSP_PAIR r5, r10, r11
    stm     r2!, {{r8-r11}}
    LATIMER_DSP_PAIR r6, r8, r9
    LATIMER_DSP_PAIR r7, r10, r11
    stm     r3!, {{r8-r11}}
    subs    r1, r1, #1
    bne     1b
    pop     {{r4-r11, pc}}

    // Lanes have no multiply, but a word of two lanes that are not negative has: weights plus \raised (a lane; \both of
    // it) times the scale, less \raised times the scale. \word becomes \first and \second; lr scratch.
    .macro LATIMER_DSP_SCALED_I8 word, scale, first, second
        eor     \word, \word, #0x80808080
        mul     lr, r12, \scale
        uxtb16  \first, \word
        uxtb16  \second, \word, ror #8
        mul     \first, \first, \scale
        mul     \second, \second, \scale
        ssub16  \first, \first, lr
        ssub16  \second, \second, lr
    .endm

    .section .text.latimer_dsp_unpack_i8_group, "ax", %progbits
    .balign 4
    .global latimer_dsp_unpack_i8_group
    .type latimer_dsp_unpack_i8_group, %function
    .thumb_func
latimer_dsp_unpack_i8_group:
    push    {{r4-r11, lr}}
    sub     sp, sp, #8
    ldr     r3, [r0], #4
    str     r3, [sp]
    mov     r12, #0x00800080
1:  str     r1, [sp, #4]
    ldm     r0!, {{r4-r7}}
    ldr     r3, [sp]
    ubfx    r1, r3, #0, #4
    LATIMER_DSP_SCALED_I8 r4, r1, r8, r9
    ubfx    r1, r3, #8, #4
    LATIMER_DSP_SCALED_I8 r5, r1, r10, r11
    stm     r2!, {{r8-r11}}
    ubfx    r1, r3, #16, #4
    LATIMER_DSP_SCALED_I8 r6, r1, r8, r9
    ubfx    r1, r3, #24, #4
    LATIMER_DSP_SCALED_I8 r7, r1, r10, r11
    add     r3, r2, #({pair} - 16)
    stm     r3, {{r8-r11}}
    ldr     r1, [sp, #4]
    subs    r1, r1, #1
    bne     1b
    add     sp, sp, #8
    pop     {{r4-r11, pc}}

    // Eight columns of a row: two words of the first four columns to [\at], two of the others behind the next row's.
    .macro LATIMER_DSP_SCALED_I4 word, at
        and     r8, r12, \word
        and     r9, r12, \word, lsr #4
        and     r10, r12, \word, lsr #8
        and     r11, r12, \word, lsr #12
        mul     r8, r8, r1
        mul     r9, r9, r1
        mul     r10, r10, r1
        mul     r11, r11, r1
        ssub16  r8, r8, lr
        ssub16  r9, r9, lr
        ssub16  r10, r10, lr
        ssub16  r11, r11, lr
        strd    r8, r9, [r2, #(\at)]
        strd    r10, r11, [r2, #(\at + 16)]
    .endm
    // The next scale of r3 in r1, and eight of it in each lane of lr.
    .macro LATIMER_DSP_NEXT_SCALE
        uxtb    r1, r3
        lsr     r3, r3, #8
        lsl     lr, r1, #3
        orr     lr, lr, lr, lsl #16
    .endm

    .section .text.latimer_dsp_unpack_i4_group, "ax", %progbits
    .balign 4
    .global latimer_dsp_unpack_i4_group
    .type latimer_dsp_unpack_i4_group, %function
    .thumb_func
latimer_dsp_unpack_i4_group:
    push    {{r4-r11, lr}}
    sub     sp, sp, #8
    ldr     r3, [r0], #4
    str     r3, [sp]
    mov     r12, #0x000f000f
1:  str     r1, [sp, #4]
    ldm     r0!, {{r4-r7}}
    ldr     r3, [sp]
    LATIMER_DSP_NEXT_SCALE
    LATIMER_DSP_SCALED_I4 r4, 0
    LATIMER_DSP_NEXT_SCALE
    LATIMER_DSP_SCALED_I4 r5, 8
    add     r2, r2, #{pair}
    LATIMER_DSP_NEXT_SCALE
    LATIMER_DSP_SCALED_I4 r6, 0
    LATIMER_DSP_NEXT_SCALE
    LATIMER_DSP_SCALED_I4 r7, 8
    sub     r2, r2, #({pair} - 32)
    ldr     r1, [sp, #4]
    subs    r1, r1, #1
    bne     1b
    add     sp, sp, #8
    pop     {{r4-r11, pc}}

    .purgem LATIMER_DSP_TWO
    .purgem LATIMER_DSP_LAST
    .purgem LATIMER_DSP_PAIR
    .purgem LATIMER_DSP_SCALED_I8
    .purgem LATIMER_DSP_SCALED_I4
    .purgem LATIMER_DSP_NEXT_SCALE
    .text
"#,
    pair = const PAIR,
);
