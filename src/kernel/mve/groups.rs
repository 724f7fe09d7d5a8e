//! Sums of weights in groups, of 8 bits or of 4.
//!
//! The steps of a group are summed as in [`super::int8`]; the sums of the four rows then become a register's lanes, are
//! multiplied by the scales of the group and added to the total. Vectors are taken one by one.
//!
//! A step of 4-bit weights has 32 columns, two to a byte: those of the low halves are sixteen of them, those of the high
//! halves the others, and activations lie in that order. Both become sixteen times the weight, a signed byte.
//!
//! | register | in the loops |
//! |---|---|
//! | r0 r2 r4 r6 | sums of the four rows, first plane |
//! | r8 r10 r12 lr | second plane, where there is one |
//! | r1 r3 | weights, activations |
//! | r5, or lr where it is free | groups left |
//! | r7 | steps of the group left |
//! | r9 | totals in memory |
//! | r11 | the walk |

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

/// The step of 8-bit weights with one plane; `a` adds to the sums, nothing begins them.
macro_rules! step8 {
    ($a:literal) => {
        concat!(
            weights!(),
            "vldrw.u32 q4, [r3], #16\n",
            concat!("vmladav", $a, ".s8 r0, q0, q4\n"),
            concat!("vmladav", $a, ".s8 r2, q1, q4\n"),
            concat!("vmladav", $a, ".s8 r4, q2, q4\n"),
            concat!("vmladav", $a, ".s8 r6, q3, q4\n"),
        )
    };
}

/// With two planes.
macro_rules! step8_wide {
    ($a:literal) => {
        concat!(
            step8!($a),
            "vldrw.u32 q4, [r3], #16\n",
            concat!("vmladav", $a, ".s8 r8, q0, q4\n"),
            concat!("vmladav", $a, ".s8 r10, q1, q4\n"),
            concat!("vmladav", $a, ".s8 r12, q2, q4\n"),
            concat!("vmladav", $a, ".s8 lr, q3, q4\n"),
        )
    };
}

/// Next four tiles of 4-bit weights, as signed halves of bytes. Spoils the register named.
macro_rules! weights4 {
    ($spare:literal) => {
        concat!(
            weights!(),
            concat!("vmov.i8 ", $spare, ", #0x88\n"),
            concat!("veor q0, q0, ", $spare, "\n"),
            concat!("veor q1, q1, ", $spare, "\n"),
            concat!("veor q2, q2, ", $spare, "\n"),
            concat!("veor q3, q3, ", $spare, "\n"),
        )
    };
}

/// Low halves of a row.
macro_rules! low4 {
    ($a:literal, $weights:literal, $sum:literal) => {
        concat!("vshl.i8 q5, ", $weights, ", #4\n", "vmladav", $a, ".s8 ", $sum, ", q5, q4\n")
    };
}

/// High halves of a row; q5 has ones in their place.
macro_rules! high4 {
    ($weights:literal, $sum:literal) => {
        concat!("vand ", $weights, ", ", $weights, ", q5\n", "vmladava.s8 ", $sum, ", ", $weights, ", q4\n")
    };
}

/// The step of 4-bit weights with one plane.
macro_rules! step4 {
    ($a:literal) => {
        concat!(
            weights4!("q5"),
            "vldrw.u32 q4, [r3], #16\n",
            low4!($a, "q0", "r0"),
            low4!($a, "q1", "r2"),
            low4!($a, "q2", "r4"),
            low4!($a, "q3", "r6"),
            "vldrw.u32 q4, [r3], #16\n",
            "vmov.i8 q5, #0xf0\n",
            high4!("q0", "r0"),
            high4!("q1", "r2"),
            high4!("q2", "r4"),
            high4!("q3", "r6"),
        )
    };
}

/// Low halves of a row, times both planes.
macro_rules! low4_wide {
    ($a:literal, $weights:literal, $first:literal, $second:literal) => {
        concat!(
            concat!("vshl.i8 q6, ", $weights, ", #4\n"),
            concat!("vmladav", $a, ".s8 ", $first, ", q6, q4\n"),
            concat!("vmladav", $a, ".s8 ", $second, ", q6, q5\n"),
        )
    };
}

/// High halves; q6 has ones in their place.
macro_rules! high4_wide {
    ($weights:literal, $first:literal, $second:literal) => {
        concat!(
            concat!("vand ", $weights, ", ", $weights, ", q6\n"),
            concat!("vmladava.s8 ", $first, ", ", $weights, ", q4\n"),
            concat!("vmladava.s8 ", $second, ", ", $weights, ", q5\n"),
        )
    };
}

/// With two planes.
macro_rules! step4_wide {
    ($a:literal) => {
        concat!(
            weights4!("q6"),
            "vldrw.u32 q4, [r3], #16\n",
            "vldrw.u32 q5, [r3], #16\n",
            low4_wide!($a, "q0", "r0", "r8"),
            low4_wide!($a, "q1", "r2", "r10"),
            low4_wide!($a, "q2", "r4", "r12"),
            low4_wide!($a, "q3", "r6", "lr"),
            "vldrw.u32 q4, [r3], #16\n",
            "vldrw.u32 q5, [r3], #16\n",
            "vmov.i8 q6, #0xf0\n",
            high4_wide!("q0", "r0", "r8"),
            high4_wide!("q1", "r2", "r10"),
            high4_wide!("q2", "r4", "r12"),
            high4_wide!("q3", "r6", "lr"),
        )
    };
}

/// Scales of four bits; the others of their byte are not theirs.
macro_rules! scales8 {
    () => {
        "vbic.i32 q7, #0xf0\n"
    };
}

/// Sums of 4-bit weights are sixteen times too large.
macro_rules! sums4 {
    () => {
        "vshr.s32 q5, q5, #4\n"
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

/// The loop over groups of one plane: beside the steps seven instructions a group, and what the weights add.
macro_rules! narrow {
    ($name:literal, $begin:expr, $more:expr, $finish:expr) => {
        function!(
            $name,
            "
            push {{r4-r11, lr}}
            vpush {{d8-d15}}
            mov r11, r0
            ldrd r7, r8, [r11, #44]
            2:
            ldrd r3, r5, [r11, #8]
            ldr r9, [r11, #16]
            3:
            ldr r1, [r11]
            vldrw.u32 q6, [r9]
            dls lr, r8
            4:
            vldrb.u32 q7, [r1], #4
            ",
            $begin,
            "
            cbnz r7, 6f
            5:
            vmov q5[2], q5[0], r0, r4
            vmov q5[3], q5[1], r2, r6
            ",
            $finish,
            "
            vmul.i32 q5, q5, q7
            vadd.i32 q6, q6, q5
            le lr, 4b
            vstrw.32 q6, [r9]
            ldr r1, [r11, #32]
            add r9, r9, r1
            subs r5, r5, #1
            bne 3b
            ",
            next_block!(),
            "
            bne 2b
            vpop {{d8-d15}}
            pop {{r4-r11, pc}}
            6:
            ",
            $more,
            "
            subs r7, r7, #1
            bne 6b
            ldr r7, [r11, #44]
            b 5b
            "
        );
    };
}

/// Loads or stores the totals, or does not.
macro_rules! total {
    ($move:literal, true) => {
        concat!($move, " q6, [r9]\n")
    };
    ($move:literal, false) => {
        ""
    };
}

/// The loop over groups of two planes, which leave no register for the vectors left. Totals are in q6: from vector to
/// vector, or, where the steps spoil it, from group to group.
macro_rules! wide {
    ($name:literal, $begin:expr, $more:expr, $finish:expr, $by_vector:tt, $by_group:tt) => {
        function!(
            $name,
            "
            push {{r4-r11, lr}}
            vpush {{d8-d15}}
            mov r11, r0
            2:
            ldrd r3, r1, [r11, #8]
            str r1, [r11, #28]
            ldr r9, [r11, #16]
            3:
            ldr r1, [r11]
            ldrd r7, r5, [r11, #44]
            ",
            total!("vldrw.u32", $by_vector),
            "
            4:
            vldrb.u32 q7, [r1], #4
            ",
            $begin,
            "
            cmp r7, #0
            bne 6f
            5:
            add r0, r0, r8, lsl #8
            add r2, r2, r10, lsl #8
            add r4, r4, r12, lsl #8
            add r6, r6, lr, lsl #8
            vmov q5[2], q5[0], r0, r4
            vmov q5[3], q5[1], r2, r6
            ",
            total!("vldrw.u32", $by_group),
            $finish,
            "
            vmul.i32 q5, q5, q7
            vadd.i32 q6, q6, q5
            ",
            total!("vstrw.32", $by_group),
            "
            subs r5, r5, #1
            bne 4b
            ",
            total!("vstrw.32", $by_vector),
            "
            ldr r1, [r11, #32]
            add r9, r9, r1
            ldr r1, [r11, #28]
            subs r1, r1, #1
            str r1, [r11, #28]
            bne 3b
            ",
            next_block!(),
            "
            bne 2b
            vpop {{d8-d15}}
            pop {{r4-r11, pc}}
            6:
            ",
            $more,
            "
            subs r7, r7, #1
            bne 6b
            ldr r7, [r11, #44]
            b 5b
            "
        );
    };
}

narrow!("latimer_mve_groups8", step8!(""), step8!("a"), scales8!());
narrow!("latimer_mve_groups4", step4!(""), step4!("a"), sums4!());
wide!("latimer_mve_groups8_wide", step8_wide!(""), step8_wide!("a"), scales8!(), true, false);
wide!("latimer_mve_groups4_wide", step4_wide!(""), step4_wide!("a"), sums4!(), false, true);

unsafe extern "C" {
    /// Adds to the totals of vectors of one plane, 8-bit weights.
    pub(super) fn latimer_mve_groups8(walk: &mut Walk);
    /// Of one plane, 4-bit weights.
    pub(super) fn latimer_mve_groups4(walk: &mut Walk);
    /// Of two planes, 8-bit weights.
    pub(super) fn latimer_mve_groups8_wide(walk: &mut Walk);
    /// Of two planes, 4-bit weights.
    pub(super) fn latimer_mve_groups4_wide(walk: &mut Walk);
}
