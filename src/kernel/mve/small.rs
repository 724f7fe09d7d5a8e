//! Matrices of 16 or 32 columns times one vector: the products of attention.
//!
//! Both planes of the activations stay in registers, `q4` to `q7`, whatever their bits. Where a high byte would not fit
//! (see [`super::order`]), the vector is negated, and so are the sums in the end.

use super::order::function;
use core::arch::global_asm;

/// Next four tiles times two planes; `a` adds to the sums, nothing begins them.
macro_rules! step {
    ($a:literal, $low:literal, $high:literal) => {
        concat!(
            "vld40.32 {{q0, q1, q2, q3}}, [r1]\n",
            "vld41.32 {{q0, q1, q2, q3}}, [r1]\n",
            "vld42.32 {{q0, q1, q2, q3}}, [r1]\n",
            "vld43.32 {{q0, q1, q2, q3}}, [r1]!\n",
            concat!("vmladav", $a, ".s8 r0, q0, ", $low, "\n"),
            concat!("vmladav", $a, ".s8 r2, q1, ", $low, "\n"),
            concat!("vmladav", $a, ".s8 r4, q2, ", $low, "\n"),
            concat!("vmladav", $a, ".s8 r6, q3, ", $low, "\n"),
            concat!("vmladav", $a, ".s8 r8, q0, ", $high, "\n"),
            concat!("vmladav", $a, ".s8 r10, q1, ", $high, "\n"),
            concat!("vmladav", $a, ".s8 r12, q2, ", $high, "\n"),
            concat!("vmladav", $a, ".s8 lr, q3, ", $high, "\n"),
        )
    };
}

/// Sixteen activations in two registers, as they were loaded, become a plane in each.
macro_rules! planes {
    ($low:literal, $high:literal) => {
        concat!(
            concat!("vqrshrnb.s16 q0, ", $low, ", #8\n"),
            concat!("vqrshrnt.s16 q0, ", $high, ", #8\n"),
            concat!("vmovnt.i16 ", $low, ", ", $high, "\n"),
            concat!("vmov ", $high, ", q0\n"),
        )
    };
}

/// An instruction for each register of activations.
macro_rules! each {
    ($before:literal, $($register:literal),+) => {
        concat!($($before, $register, "\n"),+)
    };
}

macro_rules! negated {
    ($($register:literal),+) => {
        concat!($("vneg.s16 ", $register, ", ", $register, "\n"),+)
    };
}

/// r0 weights, r1 activations, r2 sums, r3 blocks. In the loop r1 has the weights, r5 the blocks left, r9 the sums, the even
/// registers those of four rows and two planes; r7 and r11 tell how many sums to negate and where they begin.
macro_rules! small {
    ($name:literal, $load:expr, [$($register:literal),+], $planes:expr, $steps:expr) => {
        function!(
            $name,
            "
            push {{r4-r11, lr}}
            vpush {{d8-d15}}
            mov r9, r2
            mov r5, r3
            mov r7, #0
            ",
            $load,
            each!("vmaxv.s16 r7, ", $($register),+),
            "
            mov r1, r0
            cmp r7, #0x7f80
            mov r7, #0
            bge 6f
            3:
            ",
            $planes,
            "
            2:
            ",
            $steps,
            "
            add r0, r0, r8, lsl #8
            add r2, r2, r10, lsl #8
            add r4, r4, r12, lsl #8
            add r6, r6, lr, lsl #8
            strd r0, r2, [r9], #8
            strd r4, r6, [r9], #8
            subs r5, r5, #1
            bne 2b
            mov r0, #1
            cbnz r7, 7f
            5:
            vpop {{d8-d15}}
            pop {{r4-r11, pc}}
            6:
            ",
            each!("vminv.s16 r7, ", $($register),+),
            "
            mov r0, #0
            cmn r7, #0x7f80
            ble 5b
            ",
            negated!($($register),+),
            "
            mov r7, r5
            mov r11, r9
            b 3b
            7:
            dls lr, r7
            8:
            vldrw.u32 q0, [r11]
            vneg.s32 q0, q0
            vstrw.32 q0, [r11], #16
            le lr, 8b
            b 5b
            "
        );
    };
}

small!(
    "latimer_mve_small16",
    "
    vld20.32 {{q4, q5}}, [r1]
    vld21.32 {{q4, q5}}, [r1]
    ",
    ["q4", "q5"],
    planes!("q4", "q5"),
    step!("", "q4", "q5")
);

small!(
    "latimer_mve_small32",
    "
    vld20.32 {{q4, q5}}, [r1]
    vld21.32 {{q4, q5}}, [r1]!
    vld20.32 {{q6, q7}}, [r1]
    vld21.32 {{q6, q7}}, [r1]
    ",
    ["q4", "q5", "q6", "q7"],
    concat!(planes!("q4", "q5"), planes!("q6", "q7")),
    concat!(step!("", "q4", "q5"), step!("a", "q6", "q7"))
);

/// Sums of `blocks` blocks, at least one; `x` must be aligned to 4 bytes. Zero, with nothing written, where activations
/// saturate whatever their sign.
type Small = unsafe extern "C" fn(weights: *const u8, x: *const i16, out: *mut i32, blocks: usize) -> u32;

unsafe extern "C" {
    /// [`Small`] of 16 columns.
    fn latimer_mve_small16(weights: *const u8, x: *const i16, out: *mut i32, blocks: usize) -> u32;
    /// [`Small`] of 32 columns.
    fn latimer_mve_small32(weights: *const u8, x: *const i16, out: *mut i32, blocks: usize) -> u32;
}

/// Rows that several vectors read again, each for itself.
const FEW_ROWS: usize = 64;

/// A matrix times vectors; false, with sums that are to be made anew, where it is not of this kind.
// Not inlined: its place on the stack is the larger matrices' too.
#[inline(never)]
pub(super) fn multiply(weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) -> bool {
    let small: Small = match cols {
        16 => latimer_mve_small16,
        32 => latimer_mve_small32,
        _ => return false,
    };
    let aligned = (x.as_ptr().addr() | weights.as_ptr().addr()).is_multiple_of(4);
    if !aligned || rows == 0 {
        return false;
    }
    if x.len() == cols && out.len() == rows {
        return vector(small, weights, cols, x, out);
    }
    rows <= FEW_ROWS
        && x.chunks_exact(cols).zip(out.chunks_exact_mut(rows)).all(|(x, out)| vector(small, weights, cols, x, out))
}

/// One vector of `cols` activations.
#[inline(always)]
fn vector(small: Small, weights: &[u8], cols: usize, x: &[i16], out: &mut [i32]) -> bool {
    let blocks = weights.len() / 4 / cols;
    let (whole, rest) = out.as_chunks_mut::<4>();
    let count = whole.len().min(blocks);
    // SAFETY: all is aligned, `x` is one vector, and there are so many blocks of weights and of sums.
    if count > 0 && unsafe { small(weights.as_ptr(), x.as_ptr(), whole.as_mut_ptr().cast(), count) } == 0 {
        return false;
    }
    if count < blocks && !rest.is_empty() {
        let mut last = [0; 4];
        let weights = weights.get(count * 4 * cols..).unwrap_or_default();
        // SAFETY: the same, and one more block of weights.
        if unsafe { small(weights.as_ptr(), x.as_ptr(), last.as_mut_ptr(), 1) } == 0 {
            return false;
        }
        rest.iter_mut().zip(last).for_each(|(out, sum)| *out = sum);
    }
    true
}
