//! Activations as the loops over weights want them: bytes, in the order of the columns of a tile.
//!
//! Activations that 8 bits hold make one *plane* of bytes. Wider ones make two: the low bytes, as signed numbers, and what
//! is left over 256, which is to be rounded and saturated, so that `low + 256 high` is the activation up to 32639; those
//! above lack 256, see [`carry`].

use core::arch::global_asm;

/// The least activation whose high byte does not fit its plane.
pub(super) const SATURATES: u16 = 0x7f80;

/// What the planes of an activation lack.
pub(super) fn carry(x: i16) -> i16 {
    if x >= SATURATES as i16 { 256 } else { 0 }
}

/// A function in assembly.
macro_rules! function {
    ($name:literal, $($body:expr),+) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", %progbits"),
            crate::kernel::cpu!(),
            ".balign 4",
            concat!(".global ", $name),
            concat!(".type ", $name, ", %function"),
            ".thumb_func",
            concat!($name, ":"),
            $($body,)+
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
        );
    };
}
pub(super) use function;

/// Next 32 activations, by words of four tiles of eight columns.
macro_rules! words8 {
    () => {
        "
        vld40.32 {{q0, q1, q2, q3}}, [r0]
        vld41.32 {{q0, q1, q2, q3}}, [r0]
        vld42.32 {{q0, q1, q2, q3}}, [r0]
        vld43.32 {{q0, q1, q2, q3}}, [r0]!
        vmaxav.s16 r12, q0
        vmaxav.s16 r12, q1
        vmaxav.s16 r12, q2
        vmaxav.s16 r12, q3
        "
    };
}

// Three instructions for eight activations.
function!(
    "latimer_mve_largest",
    "
    push {{r7, lr}}
    wls lr, r1, 3f
    2:
    vldrh.u16 q0, [r0], #16
    vmaxav.s16 r2, q0
    le lr, 2b
    3:
    mov r0, r2
    pop {{r7, pc}}
    "
);

// Five instructions for sixteen sums.
function!(
    "latimer_mve_clear",
    "
    push {{r7, lr}}
    vmov.i32 q0, #0
    lsr r2, r1, #4
    and r1, r1, #15
    wls lr, r2, 3f
    2:
    vstrw.32 q0, [r0], #16
    vstrw.32 q0, [r0], #16
    vstrw.32 q0, [r0], #16
    vstrw.32 q0, [r0], #16
    le lr, 2b
    3:
    wlstp.32 lr, r1, 5f
    4:
    vstrw.32 q0, [r0], #16
    letp lr, 4b
    5:
    pop {{r7, pc}}
    "
);

// Tiles of four columns: words (c0, c1) and (c2, c3) of four tiles apart, the bytes of the latter put between those of
// the former. Eight instructions for sixteen activations, two of them for the largest magnitude.
function!(
    "latimer_mve_order4",
    "
    push {{r7, lr}}
    mov r12, #0
    wls lr, r2, 3f
    2:
    vld20.32 {{q0, q1}}, [r0]
    vld21.32 {{q0, q1}}, [r0]!
    vmaxav.s16 r12, q0
    vmaxav.s16 r12, q1
    vmovnt.i16 q0, q1
    vstrw.32 q0, [r1]
    add r1, r1, r3
    le lr, 2b
    3:
    mov r0, r12
    pop {{r7, pc}}
    "
);

// The same with two planes.
function!(
    "latimer_mve_order4_wide",
    "
    push {{r7, lr}}
    mov r12, #0
    wls lr, r2, 3f
    2:
    vld20.32 {{q0, q1}}, [r0]
    vld21.32 {{q0, q1}}, [r0]!
    vmaxav.s16 r12, q0
    vmaxav.s16 r12, q1
    vqrshrnb.s16 q2, q0, #8
    vqrshrnt.s16 q2, q1, #8
    vmovnt.i16 q0, q1
    vstrw.32 q0, [r1]
    vstrw.32 q2, [r1, #16]
    add r1, r1, r3
    le lr, 2b
    3:
    mov r0, r12
    pop {{r7, pc}}
    "
);

// Tiles of eight columns: words (c0, c1), (c2, c3), (c4, c5) and (c6, c7) of four tiles apart. The low halves of the
// weights' bytes want the first and third, the high ones the others. Fourteen instructions for 32 activations.
function!(
    "latimer_mve_order8",
    "
    push {{r7, lr}}
    mov r12, #0
    wls lr, r2, 3f
    2:
    ",
    words8!(),
    "
    vmovnt.i16 q0, q2
    vmovnt.i16 q1, q3
    vstrw.32 q0, [r1]
    vstrw.32 q1, [r1, #16]
    add r1, r1, r3
    le lr, 2b
    3:
    mov r0, r12
    pop {{r7, pc}}
    "
);

// The same with two planes.
function!(
    "latimer_mve_order8_wide",
    "
    push {{r7, lr}}
    vpush {{d8-d9}}
    mov r12, #0
    wls lr, r2, 3f
    2:
    ",
    words8!(),
    "
    vqrshrnb.s16 q4, q0, #8
    vqrshrnt.s16 q4, q2, #8
    vmovnt.i16 q0, q2
    vstrw.32 q0, [r1]
    vstrw.32 q4, [r1, #16]
    vqrshrnb.s16 q4, q1, #8
    vqrshrnt.s16 q4, q3, #8
    vmovnt.i16 q1, q3
    vstrw.32 q1, [r1, #32]
    vstrw.32 q4, [r1, #48]
    add r1, r1, r3
    le lr, 2b
    3:
    mov r0, r12
    vpop {{d8-d9}}
    pop {{r7, pc}}
    "
);

/// Puts activations in order: of whole steps, `stride` bytes from step to step, their planes one after the other.
/// Returns the largest magnitude. The activations must be aligned to 4 bytes.
pub(super) type Order = unsafe extern "C" fn(x: *const i16, out: *mut u8, steps: usize, stride: usize) -> u32;

unsafe extern "C" {
    /// The largest magnitude of `8 * eights` activations, or `least` if none is larger.
    pub(super) fn latimer_mve_largest(x: *const i16, eights: usize, least: u32) -> u32;
    /// Zeroes sums.
    pub(super) fn latimer_mve_clear(sums: *mut i32, len: usize);
    /// [`Order`]: one plane of steps of 16 columns.
    pub(super) fn latimer_mve_order4(x: *const i16, out: *mut u8, steps: usize, stride: usize) -> u32;
    /// [`Order`]: two planes.
    pub(super) fn latimer_mve_order4_wide(x: *const i16, out: *mut u8, steps: usize, stride: usize) -> u32;
    /// [`Order`]: one plane of steps of 32 columns.
    pub(super) fn latimer_mve_order8(x: *const i16, out: *mut u8, steps: usize, stride: usize) -> u32;
    /// [`Order`]: two planes.
    pub(super) fn latimer_mve_order8_wide(x: *const i16, out: *mut u8, steps: usize, stride: usize) -> u32;
}
