//! Kernels for Armv8.1-M cores with MVE (Cortex-M55, Cortex-M85): 8-bit products, sixteen at a time.
//!
//! Activations of 8 bits are multiplied as such, wider ones as two planes of bytes ([`order`]): which, the vectors
//! themselves say. A *panel* of columns and vectors is put in order in a buffer on the stack, used by all row blocks, and
//! its products are added to the sums in memory; a buffer that holds the columns of all vectors reads each weight once.
//!
//! The loops are whole functions in assembly, called from here with a [`Walk`]. What they can't do is left to the portable
//! kernel: misaligned weights, less than a step of columns, groups that are not whole steps.

mod int8;
mod order;

use super::layout::TILE;
use super::{Packing, ROWS, portable};
use core::mem::MaybeUninit;

/// Row blocks of logits made at a time: the activations are put in order once for them.
pub const STRIP_BLOCKS: usize = 32;
/// Bytes of the buffer of activations: those of sixteen tokens of 128 columns.
const ROOM: usize = 2048;
/// Columns of a panel at least, if a matrix has as many: below, entering and leaving the loops costs too much.
const LEAST_COLUMNS: usize = 64;
/// Columns of a group at most: one must fit the buffer.
const MOST_GROUP: usize = 256;
/// Bytes of weights of a step.
const STEP: usize = 4 * TILE;

/// [`portable::multiply`].
#[inline(never)]
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    match Matrix::of(packing, weights, cols, rows) {
        Some(matrix) => matrix.times(x, out),
        None => portable::multiply(packing, weights, cols, x, rows, out),
    }
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
    /// Pairs of vectors of one plane, or vectors of two; at least one.
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
    /// Steps of a block; at least one.
    steps: usize,
    /// The loop's own.
    entry: usize,
}

/// A matrix that the loops can do.
struct Matrix<'a> {
    packing: Packing,
    cols: usize,
    rows: usize,
    block_len: usize,
    /// Columns of a step.
    step: usize,
    /// Whole blocks, as many as there are rows for at most.
    weights: &'a [u8],
    blocks: usize,
}

/// Part of a matrix and of some vectors, whose activations are in order.
#[derive(Clone, Copy)]
struct Panel {
    /// Bytes of a block before its columns, and the tiles of these.
    offset: usize,
    tiles: usize,
    /// Steps, the last perhaps not whole.
    steps: usize,
    /// Vectors.
    count: usize,
    wide: bool,
}

#[repr(align(16))]
struct Room([MaybeUninit<u8>; ROOM]);

#[repr(align(16))]
struct Columns<const N: usize>([i16; N]);

#[repr(align(16))]
struct Tiles([u8; STEP]);

impl<'a> Matrix<'a> {
    /// `None` for what the portable kernel must do.
    fn of(packing: Packing, weights: &'a [u8], cols: usize, rows: usize) -> Option<Self> {
        let block_len = match packing {
            Packing::Int8 => cols.div_ceil(4).checked_mul(TILE)?,
            _ => packing.block_len(cols)?,
        };
        let step = 4 * packing.tile_columns();
        let fits = match packing {
            Packing::Int8 => cols >= step,
            _ => false,
        };
        let blocks = weights.len().checked_div(block_len)?.min(rows.div_ceil(ROWS));
        let weights = weights.get(..blocks * block_len)?;
        let aligned = weights.as_ptr().addr().is_multiple_of(4);
        (fits && aligned && blocks > 0).then_some(Matrix { packing, cols, rows, block_len, step, weights, blocks })
    }

    fn times(&self, x: &[i16], out: &mut [i32]) {
        let count = (x.len() / self.cols).min(out.len() / self.rows);
        let x = x.get(..count * self.cols).unwrap_or_default();
        let out = out.get_mut(..count * self.rows).unwrap_or_default();
        // More rows than blocks: the sums of the others stay as they are.
        let known = self.rows.min(self.blocks * ROWS);
        for out in out.chunks_exact_mut(self.rows) {
            let out = out.get_mut(..known).unwrap_or_default();
            // SAFETY: writes as many sums as the slice has.
            unsafe { order::latimer_mve_clear(out.as_mut_ptr(), out.len()) }
        }
        if count == 1 && self.one(x, out) {
            return;
        }
        let largest = largest(x);
        self.pass(x, largest > 127, false, out);
        if largest >= order::SATURATES {
            self.pass(x, true, true, out);
        }
    }

    /// Adds the products with one vector of whole steps, what decoding asks for, and no more than the buffer holds; false
    /// where that is not so.
    fn one(&self, x: &[i16], out: &mut [i32]) -> bool {
        let (steps, aligned) = (x.len() / self.step, x.as_ptr().addr().is_multiple_of(4));
        if steps * self.step != x.len() || 2 * x.len() > ROOM || !aligned || self.blocks * ROWS > out.len() {
            return false;
        }
        let mut room = Room([MaybeUninit::uninit(); ROOM]);
        // SAFETY: as many steps, and room for two planes of them.
        let largest = unsafe { self.order_of(false)(x.as_ptr(), room.0.as_mut_ptr().cast(), steps, self.step) };
        let wide = largest > 127;
        if largest >= order::SATURATES.into() {
            return false;
        }
        if wide {
            // SAFETY: the same.
            unsafe { self.order_of(true)(x.as_ptr(), room.0.as_mut_ptr().cast(), steps, 2 * self.step) };
        }
        let mut walk = Walk {
            weights: self.weights.as_ptr(),
            passes: 0,
            x: room.0.as_ptr().cast(),
            units: usize::from(wide),
            out: out.as_mut_ptr(),
            stride: self.block_len,
            blocks: self.blocks,
            single: 1,
            row_bytes: 0,
            steps,
            entry: 0,
        };
        // SAFETY: the blocks are whole steps, and there are rows for all of them.
        unsafe { run(wide, &mut walk) }
        true
    }

    fn order_of(&self, wide: bool) -> order::Order {
        if wide { order::latimer_mve_order4_wide } else { order::latimer_mve_order4 }
    }

    /// Adds the products with all vectors, or with what their planes lack.
    fn pass(&self, x: &[i16], wide: bool, carry: bool, out: &mut [i32]) {
        let (planes, count) = (1 + usize::from(wide), x.len() / self.cols);
        let columns = self.panel_columns(planes * count);
        let vectors = match ROOM / (planes * columns) {
            // Pairs remain pairs.
            odd @ 3.. if odd % 2 == 1 => odd - 1,
            vectors => vectors,
        };
        let mut room = Room([MaybeUninit::uninit(); ROOM]);
        for (x, out) in x.chunks(vectors * self.cols).zip(out.chunks_mut(vectors * self.rows)) {
            for first in (0..self.cols).step_by(columns) {
                let columns = columns.min(self.cols - first);
                let steps = columns.div_ceil(self.step);
                let (offset, tiles) = (self.offset(first), columns.div_ceil(self.packing.tile_columns()));
                let panel = Panel { offset, tiles, steps, count: x.len() / self.cols, wide };
                for (i, x) in x.chunks_exact(self.cols).enumerate() {
                    let x = x.get(first..first + columns).unwrap_or_default();
                    self.order(&panel, i, x, carry, &mut room);
                }
                self.add(&panel, &room, out);
            }
        }
    }

    /// Columns of a panel for so many planes, in whole steps.
    fn panel_columns(&self, planes: usize) -> usize {
        let most = (ROOM / planes.max(1)).max(LEAST_COLUMNS) / self.step * self.step;
        let panels = self.cols.div_ceil(most.max(self.step));
        self.cols.div_ceil(panels).next_multiple_of(self.step)
    }

    /// Where a column's tile lies in a block, a multiple of a step.
    fn offset(&self, column: usize) -> usize {
        column / self.step * STEP
    }

    /// Puts a vector's activations in order: pairs of one plane, and two planes of a vector, step by step in turn.
    fn order(&self, panel: &Panel, vector: usize, x: &[i16], carry: bool, room: &mut Room) {
        let plane = panel.steps * self.step;
        let paired = !panel.wide && vector / 2 * 2 + 1 < panel.count;
        let (start, stride) = match (panel.wide, paired) {
            (true, _) => (2 * vector * plane, 2 * self.step),
            (false, true) => (vector / 2 * 2 * plane + vector % 2 * self.step, 2 * self.step),
            (false, false) => (vector * plane, self.step),
        };
        let Some(room) =
            room.0.get_mut(start..start + (panel.steps - 1) * stride + self.step * (1 + usize::from(panel.wide)))
        else {
            return;
        };
        let f = self.order_of(panel.wide);
        let whole = if carry || !x.as_ptr().addr().is_multiple_of(4) { 0 } else { x.len() / self.step };
        // SAFETY: `x` has as many steps and is aligned; of `room` the planes of the first steps are written.
        unsafe { f(x.as_ptr(), room.as_mut_ptr().cast(), whole, stride) };
        let rest = x.get(whole * self.step..).unwrap_or_default();
        let places = room.chunks_mut(stride).skip(whole);
        for (x, place) in rest.chunks(self.step).zip(places) {
            let mut columns = Columns([0; 16]);
            for (column, &x) in columns.0.iter_mut().zip(x) {
                *column = if carry { order::carry(x) } else { x };
            }
            // SAFETY: one step, and a place has room for its planes.
            unsafe { f(columns.0.as_ptr(), place.as_mut_ptr().cast(), 1, stride) };
        }
    }

    /// Adds the products of a panel to the sums.
    fn add(&self, panel: &Panel, room: &Room, out: &mut [i32]) {
        // The loops read whole steps and write whole blocks: a last block that has less is done apart.
        let ragged = panel.tiles < 4 * panel.steps || self.blocks * ROWS > self.rows;
        let whole = self.blocks - usize::from(ragged);
        if whole > 0 {
            let Some(weights) = self.weights.get(panel.offset..) else { return };
            let (units, single) = if panel.wide { (panel.count, 0) } else { (panel.count / 2, panel.count % 2) };
            let mut walk = Walk {
                weights: weights.as_ptr(),
                passes: 0,
                x: room.0.as_ptr().cast(),
                units,
                out: out.as_mut_ptr(),
                stride: self.block_len,
                blocks: whole,
                single,
                row_bytes: self.rows * size_of::<i32>(),
                steps: panel.steps,
                entry: 0,
            };
            // SAFETY: the last step of the last of these blocks ends at most three tiles after the block, and then one
            // of at least four tiles follows; the room has the activations of all vectors in order; `out` has as many rows for
            // each vector as these blocks.
            unsafe { run(panel.wide, &mut walk) }
        }
        if ragged {
            self.add_last(panel, room, out);
        }
    }

    /// Adds the products of the last block.
    #[inline(never)]
    fn add_last(&self, panel: &Panel, room: &Room, out: &mut [i32]) {
        let first = (self.blocks - 1) * ROWS;
        let start = (self.blocks - 1) * self.block_len + panel.offset;
        let Some(weights) = self.weights.get(start..) else { return };
        let weights = weights.get(..panel.tiles * TILE).unwrap_or(weights);
        let whole = panel.tiles / 4;
        let (together, plane) = (if panel.wide { 1 } else { 2 }, panel.steps * self.step);
        let planes = 1 + usize::from(panel.wide);
        for (i, out) in out.chunks_mut(together * self.rows).enumerate() {
            // The sums of one vector or of two.
            let mut sums = [[0; ROWS]; 2];
            let rows =
                |out: usize| (out * self.rows + first, ((out + 1) * self.rows).min(out * self.rows + first + ROWS));
            for (n, sums) in sums.iter_mut().enumerate() {
                let (start, end) = rows(n);
                let out = out.get(start..end).unwrap_or_default();
                sums.iter_mut().zip(out).for_each(|(sum, &out)| *sum = out);
            }
            let pair = !panel.wide && out.len() > self.rows;
            let Some(x) = room.0.get(i * together * planes * plane..) else { return };
            let mut walk = Walk {
                weights: weights.as_ptr(),
                passes: 0,
                x: x.as_ptr().cast(),
                units: usize::from(panel.wide || pair),
                out: sums.as_mut_ptr().cast(),
                stride: 0,
                blocks: 1,
                single: usize::from(!panel.wide && !pair),
                row_bytes: size_of_val(&sums[0]),
                steps: whole,
                entry: 0,
            };
            if whole > 0 {
                // SAFETY: there are as many tiles, and the activations of these vectors follow.
                unsafe { run(panel.wide, &mut walk) }
            }
            let rest = weights.get(whole * STEP..).unwrap_or_default();
            if !rest.is_empty() {
                let mut tiles = Tiles([0; STEP]);
                tiles.0.iter_mut().zip(rest).for_each(|(tile, &rest)| *tile = rest);
                let done = whole * self.step * if panel.wide || pair { 2 } else { 1 };
                let Some(x) = x.get(done..) else { return };
                walk = Walk {
                    weights: tiles.0.as_ptr(),
                    x: x.as_ptr().cast(),
                    units: usize::from(panel.wide || pair),
                    out: sums.as_mut_ptr().cast(),
                    blocks: 1,
                    steps: 1,
                    ..walk
                };
                // SAFETY: one step of tiles; the last activations follow.
                unsafe { run(panel.wide, &mut walk) }
            }
            for (n, sums) in sums.iter().enumerate() {
                let (start, end) = rows(n);
                let out = out.get_mut(start..end).unwrap_or_default();
                out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = sum);
            }
        }
    }
}

/// Runs the loop for a walk.
///
/// # Safety
/// Weights, activations and sums must be there as the fields say.
unsafe fn run(wide: bool, walk: &mut Walk) {
    // SAFETY: the caller's.
    unsafe {
        match (wide, walk.units) {
            (true, 1) => int8::latimer_mve_wide_one(walk),
            (true, _) => int8::latimer_mve_wide(walk),
            (false, 0) => int8::latimer_mve_one(walk),
            (false, _) => int8::latimer_mve_pairs(walk),
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
