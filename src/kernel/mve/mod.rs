//! Kernels for Armv8.1-M cores with MVE (Cortex-M55, Cortex-M85): 8-bit products, sixteen at a time.
//!
//! Activations of 8 bits are multiplied as such, wider ones as two planes of bytes ([`order`]): which, the vectors
//! themselves say. A *panel* of columns and vectors is put in order in a buffer on the stack, used by all row blocks, and
//! its products are added to the sums in memory; a buffer that holds the columns of all vectors reads each weight once.
//!
//! Matrices of few columns, attention's, have loops of their own ([`small`]).
//!
//! The loops are whole functions in assembly, called from here with a [`Walk`]. What they can't do is left to the
//! kernels of the DSP extension: misaligned weights, pairs, less than a step of columns, groups that are not whole steps.

#[cfg(feature = "int8")]
pub mod attention;
mod groups;
mod int8;
mod order;
mod panel;
#[cfg(feature = "int8")]
pub mod quantize;
mod small;
#[cfg(feature = "int8")]
pub mod tail;

use super::layout::TILE;
use super::{Packing, ROWS, dsp};
use core::mem::MaybeUninit;
use core::num::NonZeroUsize;

pub use dsp::specialized;

/// Row blocks of logits made at a time: the activations are put in order once for them.
pub const STRIP_BLOCKS: usize = 2 * dsp::STRIP_BLOCKS;
/// Bytes of the buffer of activations: two planes of [`panel::LEAST_COLUMNS`] columns of twelve vectors, or of one vector of
/// 768 columns. More vectors than it holds read the weights once more.
const ROOM: usize = 1536;
/// Columns of a group at most: one must fit the buffer.
const MOST_GROUP: usize = 256;
/// Bytes of weights of a step.
const STEP: usize = 4 * TILE;

/// [`portable::multiply`](super::portable::multiply).
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    if packing == Packing::Int8 && small::multiply(weights, cols, x, rows, out) {
        return;
    }
    if !large(packing, weights, cols, x, rows, out) {
        other(packing, weights, cols, x, rows, out);
    }
}

/// A matrix that the loops can do; false otherwise. Apart, for the stack that its buffer needs.
#[inline(never)]
fn large(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) -> bool {
    let some = |n| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let matrix = Matrix::of(packing, weights, some(cols), some(rows));
    if let Some(matrix) = &matrix {
        matrix.times(x, out);
    }
    matrix.is_some()
}

/// What is left to another kernel: apart, so that the way above stays short.
#[inline(never)]
fn other(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    dsp::multiply(packing, weights, cols, x, rows, out);
}

/// What a loop in assembly goes through. It has the layout of C's structures and fields of four bytes, whose places the
/// assembly knows.
#[derive(Debug)]
#[repr(C)]
struct Walk {
    /// Weights of the first block.
    weights: *const u8,
    /// The loop's own.
    passes: usize,
    /// Activations in order.
    x: *const u8,
    /// Pairs of vectors of one plane, or vectors of two or with weights in groups.
    units: usize,
    /// Sums of the first block and vector.
    out: *mut i32,
    /// Bytes from block to block.
    stride: usize,
    /// Blocks; at least one.
    blocks: usize,
    /// Whether a vector of one plane follows the pairs: 0 or 1.
    single: usize,
    /// Bytes from a vector's sums to those of the next.
    row_bytes: usize,
    /// Steps of a block, weights in no groups; at least one.
    steps: usize,
    /// The loop's own.
    entry: usize,
    /// Weights in groups: steps of a group after the first.
    more: usize,
    /// Groups of a block; at least one.
    groups: usize,
}

/// The packings that the loops can do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int8,
    Groups8,
    Groups4,
}

/// A matrix that the loops can do.
struct Matrix<'a> {
    kind: Kind,
    cols: NonZeroUsize,
    rows: NonZeroUsize,
    block_len: usize,
    /// Columns of a step.
    step: NonZeroUsize,
    /// Columns that a panel has whole, a group or a step, and their bytes in a block.
    unit: NonZeroUsize,
    unit_len: usize,
    /// Whole blocks, as many as there are rows for at most.
    weights: &'a [u8],
    blocks: usize,
}

/// The buffer of activations.
#[repr(align(16))]
struct Room([MaybeUninit<u8>; ROOM]);

impl<'a> Matrix<'a> {
    /// `None` for what is left to other kernels.
    fn of(packing: Packing, weights: &'a [u8], cols: NonZeroUsize, rows: NonZeroUsize) -> Option<Self> {
        let step = NonZeroUsize::new(4 * packing.tile_columns())?;
        let (kind, group) = match packing {
            Packing::Int8 => (Kind::Int8, step.get()),
            Packing::Int8Groups(group) => (Kind::Groups8, group),
            Packing::Int4(group) => (Kind::Groups4, group),
            Packing::Int8Pairs => return None,
        };
        let unit = NonZeroUsize::new(group).filter(|group| group.get() <= MOST_GROUP)?;
        let (fits, unit_len, block_len) = match kind {
            Kind::Int8 => (cols >= step, STEP, cols.get().div_ceil(4).checked_mul(TILE)?),
            Kind::Groups8 | Kind::Groups4 => {
                let group_len = packing.group_len(group)?;
                let whole = group.is_multiple_of(step.get()) && cols.get().is_multiple_of(group);
                (whole, group_len, (cols.get() / unit).checked_mul(group_len)?)
            }
        };
        if !fits {
            return None;
        }
        let blocks = weights.len().checked_div(block_len)?.min(rows.get().div_ceil(ROWS));
        let weights = weights.get(..blocks * block_len)?;
        let aligned = weights.as_ptr().addr().is_multiple_of(4);
        let matrix = Matrix { kind, cols, rows, block_len, step, unit, unit_len, weights, blocks };
        (aligned && blocks > 0).then_some(matrix)
    }

    #[inline(always)]
    fn times(&self, x: &[i16], out: &mut [i32]) {
        let count = (x.len() / self.cols).min(out.len() / self.rows);
        let x = x.get(..count * self.cols.get()).unwrap_or_default();
        let out = out.get_mut(..count * self.rows.get()).unwrap_or_default();
        // More rows than blocks: the sums of the others stay as they are.
        let known = self.rows.get().min(self.blocks * ROWS);
        for out in out.chunks_exact_mut(self.rows.get()) {
            let out = out.get_mut(..known).unwrap_or_default();
            // SAFETY: writes as many sums as the slice has.
            unsafe { order::latimer_mve_clear(out.as_mut_ptr(), out.len()) }
        }
        let mut room = Room([MaybeUninit::uninit(); ROOM]);
        if count == 1 && self.one(x, &mut room, out) {
            return;
        }
        let largest = largest(x);
        self.pass(x, largest > 127, false, &mut room, out);
        if largest >= order::SATURATES {
            self.pass(x, true, true, &mut room, out);
        }
    }

    /// Adds the products with one vector of whole steps, what decoding asks for, and no more than the buffer holds; false
    /// where that is not so.
    fn one(&self, x: &[i16], room: &mut Room, out: &mut [i32]) -> bool {
        let (steps, aligned) = (x.len() / self.step, x.as_ptr().addr().is_multiple_of(4));
        if !x.len().is_multiple_of(self.step.get()) || 2 * x.len() > ROOM || !aligned || self.blocks * ROWS > out.len()
        {
            return false;
        }
        // SAFETY: as many steps, and room for two planes of them.
        let largest = unsafe { self.order_of(false)(x.as_ptr(), room.0.as_mut_ptr().cast(), steps, self.step.get()) };
        let wide = largest > 127;
        if largest >= order::SATURATES.into() {
            return false;
        }
        if wide {
            // SAFETY: the same.
            unsafe { self.order_of(true)(x.as_ptr(), room.0.as_mut_ptr().cast(), steps, 2 * self.step.get()) };
        }
        let mut walk = self.walk(self.weights, &room.0, out, steps);
        (walk.units, walk.single) = self.units(wide, 1);
        // SAFETY: the blocks are whole steps, and there are rows for all of them.
        unsafe { self.run(wide, &mut walk) }
        true
    }

    fn order_of(&self, wide: bool) -> order::Order {
        match (self.kind, wide) {
            (Kind::Groups4, true) => order::latimer_mve_order8_wide,
            (Kind::Groups4, false) => order::latimer_mve_order8,
            (_, true) => order::latimer_mve_order4_wide,
            (_, false) => order::latimer_mve_order4,
        }
    }

    /// Whether vectors of one plane are taken in pairs.
    fn pairs(&self, wide: bool) -> bool {
        self.kind == Kind::Int8 && !wide
    }

    /// Units of so many vectors, and whether one is left.
    fn units(&self, wide: bool, count: usize) -> (usize, usize) {
        if self.pairs(wide) { (count / 2, count % 2) } else { (count, 0) }
    }

    /// The walk through all blocks from `weights` on, `steps` steps each, without its units.
    fn walk(&self, weights: &[u8], x: &[MaybeUninit<u8>], out: &mut [i32], steps: usize) -> Walk {
        let (more, groups) = match self.kind {
            Kind::Int8 => (0, 0),
            Kind::Groups8 | Kind::Groups4 => (self.unit.get() / self.step - 1, steps * self.step.get() / self.unit),
        };
        Walk {
            weights: weights.as_ptr(),
            passes: 0,
            x: x.as_ptr().cast(),
            units: 0,
            out: out.as_mut_ptr(),
            stride: self.block_len,
            blocks: self.blocks,
            single: 0,
            row_bytes: self.rows.get() * size_of::<i32>(),
            steps,
            entry: 0,
            more,
            groups,
        }
    }

    /// Runs the loop for a walk.
    ///
    /// # Safety
    /// Weights, activations and sums must be there as the fields say; there must be a step, a block and a vector.
    #[inline(always)]
    unsafe fn run(&self, wide: bool, walk: &mut Walk) {
        // SAFETY: the caller's.
        unsafe {
            match (self.kind, wide) {
                (Kind::Int8, false) if walk.units == 0 => int8::latimer_mve_one(walk),
                (Kind::Int8, false) => int8::latimer_mve_pairs(walk),
                (Kind::Int8, true) if walk.units == 1 => int8::latimer_mve_wide_one(walk),
                (Kind::Int8, true) => int8::latimer_mve_wide(walk),
                (Kind::Groups8, false) => groups::latimer_mve_groups8(walk),
                (Kind::Groups8, true) => groups::latimer_mve_groups8_wide(walk),
                (Kind::Groups4, false) => groups::latimer_mve_groups4(walk),
                (Kind::Groups4, true) => groups::latimer_mve_groups4_wide(walk),
            }
        }
    }
}

/// The largest magnitude.
fn largest(x: &[i16]) -> u16 {
    let (eights, rest) = x.as_chunks::<8>();
    let least = rest.iter().fold(0, |most, x| most.max(x.unsigned_abs()));
    // SAFETY: there are as many.
    unsafe { order::latimer_mve_largest(eights.as_ptr().cast(), eights.len(), least.into()) as u16 }
}
