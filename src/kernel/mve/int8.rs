//! Sums of 8-bit weights.
//!
//! Sixteen columns of a block are a *step*: four tiles, which `VLD4` de-interleaves so that each of `q0` to `q3` holds
//! the sixteen weights of one row. `VMLADAVA` adds a register's sixteen products to a general register, which must be an
//! even one; there are eight of them, those of four rows and two planes, so that two planes share the loads of weights.
//!
//! | register | in the loops |
//! |---|---|
//! | r0 r2 r4 r6 | sums of the four rows, first plane |
//! | r8 r10 r12 lr | second plane |
//! | r1 | weights |
//! | r3 | activations |
//! | r5 | units left |
//! | r7 | passes of the loop left |
//! | r9 | sums in memory |
//! | r11 | the walk |
//!
//! Instructions a step: 9 for one plane and 14 for two. Two steps are one pass of a loop, whose end is one instruction or,
//! where `lr` holds a sum, two; an odd number of steps enters in the middle.

use super::Walk;
use super::order::function;
use core::arch::global_asm;

/// Next four tiles.
macro_rules! weights {
    () => {
        "
        vld40.32 {{q0, q1, q2, q3}}, [r1]
        vld41.32 {{q0, q1, q2, q3}}, [r1]
        vld42.32 {{q0, q1, q2, q3}}, [r1]
        vld43.32 {{q0, q1, q2, q3}}, [r1]!
        "
    };
}

/// Next sixteen activations of the first plane, times the weights.
macro_rules! first {
    () => {
        "
        vldrw.u32 q4, [r3], #16
        vmladava.s8 r0, q0, q4
        vmladava.s8 r2, q1, q4
        vmladava.s8 r4, q2, q4
        vmladava.s8 r6, q3, q4
        "
    };
}

/// Of the second plane.
macro_rules! second {
    () => {
        "
        vldrw.u32 q4, [r3], #16
        vmladava.s8 r8, q0, q4
        vmladava.s8 r10, q1, q4
        vmladava.s8 r12, q2, q4
        vmladava.s8 lr, q3, q4
        "
    };
}

/// The walk in `r11`; passes of a loop whose whole is at the local label 6 and whose second half at 7.
macro_rules! enter {
    () => {
        "
        push {{r4-r11, lr}}
        vpush {{d8-d9}}
        mov r11, r0
        ldr r7, [r11, #36]
        adr.w r0, 6f
        adr.w r1, 7f
        lsrs r7, r7, #1
        itt cs
        addcs r7, r7, #1
        movcs r0, r1
        adds r0, #1
        str r7, [r11, #4]
        str r0, [r11, #40]
        "
    };
}

/// The walk is at the next block; flags tell whether there is one. Spoils r1, r3, r5, r9.
macro_rules! next_block {
    () => {
        "
        ldr r1, [r11]
        ldrd r9, r3, [r11, #16]
        add r1, r1, r3
        add r9, r9, #16
        str r1, [r11]
        str r9, [r11, #16]
        ldr r5, [r11, #24]
        subs r5, r5, #1
        str r5, [r11, #24]
        "
    };
}

macro_rules! leave {
    () => {
        "
        vpop {{d8-d9}}
        pop {{r4-r11, pc}}
        "
    };
}

// One plane, one vector. Everything stays in registers: r5 has the start of the activations, r7 the passes, r8 the bytes
// between the columns of a block that are walked and those of the next, r10 the blocks left, r11 where the loop is entered.
// Ten instructions a block beside the loop.
function!(
    "latimer_mve_one",
    enter!(),
    "
    ldr r1, [r11]
    ldrd r5, r3, [r11, #8]
    ldrd r9, r8, [r11, #16]
    ldr r10, [r11, #24]
    ldr r2, [r11, #36]
    sub r8, r8, r2, lsl #6
    mov r11, r0
    2:
    ldrd r0, r2, [r9]
    ldrd r4, r6, [r9, #8]
    mov r3, r5
    dls lr, r7
    bx r11
    .balign 4
    6:
    ",
    weights!(),
    first!(),
    ".balign 4",
    "7:",
    weights!(),
    first!(),
    "
    le lr, 6b
    strd r0, r2, [r9], #8
    strd r4, r6, [r9], #8
    add r1, r8
    subs r10, r10, #1
    bne 2b
    ",
    leave!()
);

// Pairs of vectors of one plane, then perhaps a last vector. Sixteen instructions a pair and block beside the loop.
function!(
    "latimer_mve_pairs",
    enter!(),
    "
    2:
    ldrd r3, r5, [r11, #8]
    ldr r9, [r11, #16]
    3:
    ldr r7, [r11, #32]
    add r7, r7, r9
    ldrd r0, r2, [r9]
    ldrd r4, r6, [r9, #8]
    ldrd r8, r10, [r7]
    ldrd r12, lr, [r7, #8]
    ldrd r1, r7, [r11]
    ldr pc, [r11, #40]
    .balign 4
    6:
    ",
    weights!(),
    first!(),
    second!(),
    ".balign 4",
    "7:",
    weights!(),
    first!(),
    second!(),
    "
    subs r7, r7, #1
    bne 6b
    strd r0, r2, [r9]
    strd r4, r6, [r9, #8]
    ldr r7, [r11, #32]
    add r9, r9, r7
    strd r8, r10, [r9]
    strd r12, lr, [r9, #8]
    add r9, r9, r7
    subs r5, r5, #1
    bne 3b
    ldr r7, [r11, #28]
    cbz r7, 4f
    ldr r1, [r11]
    ldr lr, [r11, #36]
    ldrd r0, r2, [r9]
    ldrd r4, r6, [r9, #8]
    5:
    ",
    weights!(),
    first!(),
    "
    le lr, 5b
    strd r0, r2, [r9]
    strd r4, r6, [r9, #8]
    4:
    ",
    next_block!(),
    "bne 2b",
    leave!()
);

// Vectors of two planes: the first plus 256 times the second. Nineteen instructions a vector and block beside the loop.
function!(
    "latimer_mve_wide",
    enter!(),
    "
    2:
    ldrd r3, r5, [r11, #8]
    ldr r9, [r11, #16]
    3:
    ldrd r0, r2, [r9]
    ldrd r4, r6, [r9, #8]
    mov r8, #0
    mov r10, #0
    mov r12, #0
    mov lr, #0
    ldrd r1, r7, [r11]
    ldr pc, [r11, #40]
    .balign 4
    6:
    ",
    weights!(),
    first!(),
    second!(),
    ".balign 4",
    "7:",
    weights!(),
    first!(),
    second!(),
    "
    subs r7, r7, #1
    bne 6b
    add r0, r0, r8, lsl #8
    add r2, r2, r10, lsl #8
    add r4, r4, r12, lsl #8
    add r6, r6, lr, lsl #8
    strd r0, r2, [r9]
    strd r4, r6, [r9, #8]
    ldr r7, [r11, #32]
    add r9, r9, r7
    subs r5, r5, #1
    bne 3b
    ",
    next_block!(),
    "bne 2b",
    leave!()
);

// One vector of two planes; the walk in r11 has the end of the sums for the number of blocks, and for the bytes from block
// to block those between the columns walked and the next block's. Twenty instructions a block beside the loop.
function!(
    "latimer_mve_wide_one",
    enter!(),
    "
    ldr r1, [r11]
    ldrd r9, r3, [r11, #16]
    ldr r5, [r11, #24]
    ldr r2, [r11, #36]
    add r5, r9, r5, lsl #4
    sub r3, r3, r2, lsl #6
    str r3, [r11, #20]
    str r5, [r11, #24]
    ldr r5, [r11, #8]
    2:
    ldrd r0, r2, [r9]
    ldrd r4, r6, [r9, #8]
    mov r8, #0
    mov r10, #0
    mov r12, #0
    mov lr, #0
    mov r3, r5
    ldr r7, [r11, #4]
    ldr pc, [r11, #40]
    .balign 4
    6:
    ",
    weights!(),
    first!(),
    second!(),
    ".balign 4",
    "7:",
    weights!(),
    first!(),
    second!(),
    "
    subs r7, r7, #1
    bne 6b
    add r0, r0, r8, lsl #8
    add r2, r2, r10, lsl #8
    add r4, r4, r12, lsl #8
    add r6, r6, lr, lsl #8
    strd r0, r2, [r9], #8
    strd r4, r6, [r9], #8
    ldrd r3, r7, [r11, #20]
    add r1, r1, r3
    cmp r9, r7
    bne 2b
    ",
    leave!()
);

unsafe extern "C" {
    /// Adds to the sums of one vector of one plane.
    pub(super) fn latimer_mve_one(walk: &mut Walk);
    /// Adds to the sums of pairs of vectors, at least one pair, and perhaps of one vector more.
    pub(super) fn latimer_mve_pairs(walk: &mut Walk);
    /// Adds to the sums of vectors of two planes.
    pub(super) fn latimer_mve_wide(walk: &mut Walk);
    /// Adds to the sums of one vector of two planes.
    pub(super) fn latimer_mve_wide_one(walk: &mut Walk);
}
