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
    .macro LATIMER_DSP_LAST
        ldm     r10!, {{r4-r7}}
        ldrd    r8, r9, [r11], #8
        smlad   r0, r4, r8, r0
        smlad   r1, r6, r8, r1
        smlad   r0, r5, r9, r0
        smlad   r1, r7, r9, r1
    .endm
    .macro LATIMER_DSP_TWO
        LATIMER_DSP_LAST
        ldrd    r8, r9, [r12], #8
        smlad   r2, r4, r8, r2
        smlad   r3, r6, r8, r3
        smlad   r2, r5, r9, r2
        smlad   r3, r7, r9, r3
    .endm

    // A pass of two vectors over a pair of rows; r6 says whether sums are added to, which lie \at bytes behind the places at
    // 16 and 20 of the stack (r4 and r5 have them afterwards); lr are rounds of sixteen quads, and what the first leaves
    // out, in bytes of code, lies at 28 of the stack.
    .macro LATIMER_DSP_PASS at
        cmp     r6, #0
        bne     91f
        mov     r0, #0
        mov     r1, #0
        mov     r2, #0
        mov     r3, #0
        b       92f
91:     ldr     r4, [sp, #16]
        ldrd    r0, r1, [r4, #\at]
        ldr     r4, [sp, #20]
        ldrd    r2, r3, [r4, #\at]
92:     ldr     r5, [sp, #28]
        adr.w   r4, 93f
        add     r4, r4, r5
        mov     pc, r4
        .balign 4
93:     .rept 16
        LATIMER_DSP_TWO
        .endr
        subs    lr, lr, #1
        bgt     93b
        ldr     r4, [sp, #16]
        ldr     r5, [sp, #20]
        strd    r2, r3, [r5, #\at]
        strd    r0, r1, [r4, #\at]
    .endm

    .section .text.latimer_dsp_panel, "ax", %progbits
    .balign 4
    .global latimer_dsp_panel
    .type latimer_dsp_panel, %function
    .thumb_func
latimer_dsp_panel:
    push    {{r4-r11, lr}}
    sub     sp, sp, #52
    ldrb    r10, [r0, #28]          // add
    ldm     r0, {{r1-r7}}           // panel, quads, x, x_step, out, out_step, vectors
    add     r9, r2, #15
    rsb     r8, r2, #0
    and     r8, r8, #15
    lsr     r9, r9, #4
    mov     r12, #24
    mul     r12, r12, r8
    str     r12, [sp, #44]          // 44 what LATIMER_DSP_LAST skips, of 24 bytes each
    mov     r12, #44
    mul     r8, r8, r12
    strd    r1, r9, [sp]            // 0 panel, 4 rounds of sixteen quads
    strd    r8, r10, [sp, #28]      // 28 what LATIMER_DSP_TWO skips, of 44 bytes each, 32 add
    strd    r4, r6, [sp, #36]       // 36 activations' step, 40 sums'
    add     r4, r4, r3
    add     r6, r6, r5
    strd    r3, r4, [sp, #8]        // 8 activations of the first vector, 12 of the second
    strd    r5, r6, [sp, #16]       // 16 sums of the first, 20 of the second
    subs    r7, r7, #2
    str     r7, [sp, #24]           // vectors after these
    blt     2f
1:  ldrd    r10, lr, [sp]
    ldrd    r11, r12, [sp, #8]
    ldr     r6, [sp, #32]
    LATIMER_DSP_PASS 0
    ldrd    r11, r12, [sp, #8]
    ldrd    r10, lr, [sp]
    ldr     r6, [sp, #32]
    add     r10, r10, #{pair}
    LATIMER_DSP_PASS 8
    // The next two vectors.
    ldrd    r6, r7, [sp, #36]
    ldrd    r0, r1, [sp, #8]
    ldr     r2, [sp, #24]
    add     r0, r0, r6, lsl #1
    add     r1, r1, r6, lsl #1
    add     r4, r4, r7, lsl #1
    add     r5, r5, r7, lsl #1
    strd    r0, r1, [sp, #8]
    strd    r4, r5, [sp, #16]
    subs    r2, r2, #2
    str     r2, [sp, #24]
    bge     1b
2:  ldr     r7, [sp, #24]
    adds    r7, r7, #2
    beq     3f
    // A last one, over each pair of rows: r2 panel, r3 passes left, r12 sums.
    ldr     r2, [sp]
    mov     r3, #2
    ldr     r12, [sp, #16]
4:  mov     r10, r2
    ldr     lr, [sp, #4]
    ldr     r11, [sp, #8]
    ldr     r6, [sp, #32]
    cmp     r6, #0
    bne     5f
    mov     r0, #0
    mov     r1, #0
    b       6f
5:  ldrd    r0, r1, [r12]
6:  ldr     r5, [sp, #44]
    adr.w   r4, 7f
    add     r4, r4, r5
    mov     pc, r4
    .balign 4
7:  .rept 16
    LATIMER_DSP_LAST
    .endr
    subs    lr, lr, #1
    bgt     7b
    strd    r0, r1, [r12], #8
    add     r2, r2, #{pair}
    subs    r3, r3, #1
    bne     4b
3:  add     sp, sp, #52
    pop     {{r4-r11, pc}}
    .size latimer_dsp_panel, . - latimer_dsp_panel

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
    .size latimer_dsp_unpack_i8, . - latimer_dsp_unpack_i8

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
    .size latimer_dsp_unpack_pairs, . - latimer_dsp_unpack_pairs

    // Lanes have no multiply, but a word of two lanes that are not negative has: weights plus 128, which r12 has in both
    // lanes, times the scale, less 128 times the scale. \word becomes \first and \second; lr scratch.
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
    push    {{r3-r11, lr}}
    ldr     r3, [r0], #4
    mov     r12, #0x00800080
1:  str     r1, [sp]                // tiles left
    ldm     r0!, {{r4-r7}}
    ubfx    r1, r3, #0, #4
    LATIMER_DSP_SCALED_I8 r4, r1, r8, r9
    ubfx    r1, r3, #8, #4
    LATIMER_DSP_SCALED_I8 r5, r1, r10, r11
    stm     r2!, {{r8-r11}}
    ubfx    r1, r3, #16, #4
    LATIMER_DSP_SCALED_I8 r6, r1, r8, r9
    ubfx    r1, r3, #24, #4
    LATIMER_DSP_SCALED_I8 r7, r1, r10, r11
    add     lr, r2, #({pair} - 16)
    stm     lr, {{r8-r11}}
    ldr     r1, [sp]
    subs    r1, r1, #1
    bne     1b
    pop     {{r3-r11, pc}}
    .size latimer_dsp_unpack_i8_group, . - latimer_dsp_unpack_i8_group

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
    // The next scale of r3, which four of these turn around, in r1, and eight of it in each lane of lr.
    .macro LATIMER_DSP_NEXT_SCALE
        uxtb    r1, r3
        ror     r3, r3, #8
        lsl     lr, r1, #3
        orr     lr, lr, lr, lsl #16
    .endm

    .section .text.latimer_dsp_unpack_i4_group, "ax", %progbits
    .balign 4
    .global latimer_dsp_unpack_i4_group
    .type latimer_dsp_unpack_i4_group, %function
    .thumb_func
latimer_dsp_unpack_i4_group:
    push    {{r3-r11, lr}}
    ldr     r3, [r0], #4
    mov     r12, #0x000f000f
1:  str     r1, [sp]                // tiles left
    ldm     r0!, {{r4-r7}}
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
    ldr     r1, [sp]
    subs    r1, r1, #1
    bne     1b
    pop     {{r3-r11, pc}}
    .size latimer_dsp_unpack_i4_group, . - latimer_dsp_unpack_i4_group

    .purgem LATIMER_DSP_PASS
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
