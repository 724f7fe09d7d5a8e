//! Kernels for Arm cores with the DSP extension (Armv7E-M, Armv8-M Mainline): two products an instruction (`SMLAD`).
//!
//! Weights lie as everywhere ([`layout`](super::layout)): `SXTB16` of a word, and of the word turned by a byte, give four
//! columns in order. Matrices whose columns fill no whole tiles, and data that is not at multiples of four bytes, are
//! multiplied a row at a time in plain Rust.

#[cfg(all(feature = "int8", not(latimer_mve)))]
pub mod attention;
mod many;
#[cfg(feature = "int8")]
pub mod norm;
mod one;
#[cfg(feature = "int8")]
mod softmax;
#[cfg(all(feature = "int8", not(latimer_mve)))]
pub mod tail;

use super::layout::{PAIR_COLUMNS, TILE};
use super::{Packing, ROWS, portable};
use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
pub use portable::{STRIP_BLOCKS, specialized};
#[cfg(feature = "int8")]
pub use softmax::softmax;

/// Whether a slice begins at a multiple of four bytes.
#[inline(always)]
pub(super) fn aligned<T>(slice: &[T]) -> bool {
    slice.as_ptr().addr().is_multiple_of(4)
}

/// [`portable::multiply`].
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    if multiply_short(packing, weights, cols, x, rows, out).is_none() {
        multiply_any(packing, weights, cols, x, rows, out);
    }
}

/// Apart, so that it has the place of its caller on the stack.
#[inline(never)]
fn multiply_any(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let Some(matrix) = Matrix::of(packing, weights, cols, rows).filter(|_| aligned(x)) else {
        return multiply_odd(packing, weights, cols, x, rows, out);
    };
    match (x.len() / matrix.cols).min(out.len() / matrix.rows) {
        0 => {}
        1 => matrix.times_one(x.get(..cols).unwrap_or_default(), out.get_mut(..rows).unwrap_or_default()),
        vectors if matrix.group.get() <= many::PANEL || packing.scale_len() == 0 => matrix.times_many(x, out, vectors),
        // A group that no panel holds.
        _ => {
            for (x, out) in x.chunks_exact(matrix.cols.get()).zip(out.chunks_exact_mut(matrix.rows.get())) {
                matrix.times_one(x, out);
            }
        }
    }
}

/// What the loops in assembly can't do, a row at a time: no trained model is known to have such shapes, so that it is worth
/// little code. It stops where [`portable::multiply`] does.
#[cold]
#[inline(never)]
fn multiply_odd(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (cols, rows) = (cols.max(1), rows.max(1));
    let Some(block_len @ 1..) = packing.block_len(cols) else { return };
    let sums = out.len() / rows * rows;
    for (number, out) in out.iter_mut().take(sums).enumerate() {
        let (vector, row) = (number / rows, number % rows);
        let block = weights.get((row / ROWS).saturating_mul(block_len)..).and_then(|rest| rest.get(..block_len));
        let Some(x) = x.get(vector.saturating_mul(cols)..).and_then(|rest| rest.get(..cols)) else { return };
        if let Some(block) = block {
            *out = packing.dot(block, row, x);
        }
    }
}

/// One vector and whole blocks of 8-bit weights, with the few looks that takes: matrices of attention cost no more than all
/// the other looks would. `None`: not done.
#[inline(always)]
fn multiply_short(
    packing: Packing,
    weights: &[u8],
    cols: usize,
    x: &[i16],
    rows: usize,
    out: &mut [i32],
) -> Option<()> {
    let whole = (cols | rows).is_multiple_of(4) && (x.as_ptr().addr() | weights.as_ptr().addr()).is_multiple_of(4);
    let one = packing == Packing::Int8 && x.len() == cols && out.len() == rows && rows > 0 && cols > 0;
    if !whole || !one || weights.len() < rows.checked_mul(cols)? {
        return None;
    }
    let (weights, blocks, tiles) = (weights.as_ptr(), rows / ROWS, cols / 4);
    let job = one::Job { weights, x: x.as_ptr(), out: out.as_mut_ptr(), blocks, tiles, groups: 1 };
    // SAFETY: `weights` holds all blocks, of whole tiles, `x` a row's activations, both at multiples of four bytes, and `out`
    // all sums, as has just been looked at.
    unsafe { one::latimer_dsp_one_i8(&job) };
    Some(())
}

/// A matrix whose groups are whole tiles.
struct Matrix<'a> {
    packing: Packing,
    /// Whole blocks, at a multiple of four bytes.
    weights: &'a [u8],
    block_len: NonZeroUsize,
    cols: NonZeroUsize,
    rows: NonZeroUsize,
    /// Columns of a group.
    group: NonZeroUsize,
}

impl<'a> Matrix<'a> {
    /// `None` for what the loops can't do.
    fn of(packing: Packing, weights: &'a [u8], cols: usize, rows: usize) -> Option<Self> {
        let group = packing.group(cols);
        let whole = cols.is_multiple_of(group) && group.is_multiple_of(packing.tile_columns());
        let block_len = NonZeroUsize::new(packing.block_len(cols)?)?;
        let blocks = (weights.len() / block_len).min(rows.div_ceil(ROWS));
        let weights = weights.get(..blocks * block_len.get())?;
        let [cols, rows, group] = [NonZeroUsize::new(cols)?, NonZeroUsize::new(rows)?, NonZeroUsize::new(group)?];
        (whole && aligned(weights) && blocks > 0).then_some(Matrix { packing, weights, block_len, cols, rows, group })
    }

    /// One vector, of `cols` activations, to `rows` sums.
    fn times_one(&self, x: &[i16], out: &mut [i32]) {
        match self.packing.built() {
            Packing::Int8Pairs => self.spread_times_one(x, out),
            _ => self.all_times_one(x, out),
        }
    }

    /// The same of a matrix in pairs: apart, for the stack that its buffer needs.
    #[inline(never)]
    fn spread_times_one(&self, x: &[i16], out: &mut [i32]) {
        let mut room = MaybeUninit::<[u32; PAIR_COLUMNS / 2]>::uninit();
        // No packed matrix has more columns, and callers cut `x`.
        if x.len() != self.cols.get() || x.len() > PAIR_COLUMNS {
            return;
        }
        // SAFETY: `x` has `cols` activations, which are whole tiles, at a multiple of four bytes; `room` is for as many.
        let spread = unsafe {
            one::latimer_dsp_spread(x.as_ptr(), x.len() / 4, room.as_mut_ptr().cast());
            core::slice::from_raw_parts(room.as_ptr().cast(), x.len())
        };
        self.all_times_one(spread, out);
    }

    /// All blocks times activations as their loop wants them.
    fn all_times_one(&self, x: &[i16], out: &mut [i32]) {
        let blocks = self.weights.len() / self.block_len;
        let (whole, _) = out.as_chunks_mut::<ROWS>();
        let whole = whole.len().min(blocks);
        self.blocks_times_one(self.weights, whole, x, out);
        if whole < blocks {
            let mut last = [0; ROWS];
            let weights = self.weights.get(whole * self.block_len.get()..).unwrap_or_default();
            self.blocks_times_one(weights, 1, x, &mut last);
            portable::put(whole, last, out);
        }
    }

    /// The first `blocks` of `weights` to four sums each.
    fn blocks_times_one(&self, weights: &[u8], blocks: usize, x: &[i16], out: &mut [i32]) {
        if blocks == 0
            || weights.len() < blocks * self.block_len.get()
            || out.len() < blocks * ROWS
            || x.len() < self.cols.get()
        {
            return;
        }
        let job = one::Job {
            weights: weights.as_ptr(),
            x: x.as_ptr(),
            out: out.as_mut_ptr(),
            blocks,
            tiles: self.group.get() / self.packing.built().tile_columns(),
            groups: self.cols.get() / self.group,
        };
        // SAFETY: `weights` holds the blocks, `out` their sums and `x` a row's activations, as has just been looked at;
        // `of` and `multiply` have seen to it that weights and activations are at multiples of four bytes and that a group
        // is one or more whole tiles.
        unsafe {
            match self.packing.built() {
                Packing::Int8 => one::latimer_dsp_one_i8(&job),
                Packing::Int8Pairs => one::latimer_dsp_one_pairs(&job),
                Packing::Int8Groups(_) => one::latimer_dsp_one_i8_groups(&job),
                Packing::Int4(_) => one::latimer_dsp_one_i4(&job),
            }
        }
    }

    /// Several vectors: blocks outside, so that each is read from flash once. Apart, for the stack that a panel needs.
    #[inline(never)]
    fn times_many(&self, x: &[i16], out: &mut [i32], vectors: usize) {
        let (cols, rows) = (self.cols.get(), self.rows.get());
        let (Some(x), Some(out)) = (x.get(..vectors * cols), out.get_mut(..vectors * rows)) else { return };
        let done = self.whole_times_many(x, out, vectors);
        for (b, block) in self.weights.chunks_exact(self.block_len.get()).enumerate().skip(done) {
            let row = b * ROWS;
            if row + ROWS <= rows {
                self.block_times_many(block, x, out.get_mut(row..).unwrap_or_default(), rows, vectors);
            } else if let Some(left) = NonZeroUsize::new(rows - row) {
                let last = Matrix { weights: block, rows: left, ..*self };
                for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(rows)) {
                    last.times_one(x, out.get_mut(row..).unwrap_or_default());
                }
            }
        }
    }

    /// The whole blocks of a matrix that one panel holds, if it does; returns how many. `x` and `out` are `vectors` long.
    fn whole_times_many(&self, x: &[i16], out: &mut [i32], vectors: usize) -> usize {
        let (cols, rows) = (self.cols.get(), self.rows.get());
        if self.packing.built().scale_len() > 0 || cols > many::PANEL {
            return 0;
        }
        if x.len() < vectors * cols || out.len() < vectors * rows {
            return 0;
        }
        let whole = (rows / ROWS).min(self.weights.len() / self.block_len);
        let mut panel = MaybeUninit::<many::Panel>::uninit();
        let mut job = many::Job {
            panel: panel.as_ptr(),
            quads: cols / 4,
            x: x.as_ptr(),
            x_step: cols * size_of::<i16>(),
            out: out.as_mut_ptr(),
            out_step: rows * size_of::<i32>(),
            vectors,
            add: false,
        };
        let unpack = match self.packing.built() {
            Packing::Int8Pairs => many::latimer_dsp_unpack_pairs,
            _ => many::latimer_dsp_unpack_i8,
        };
        let mut weights = self.weights.as_ptr();
        for _ in 0..whole {
            // SAFETY: a block has `quads` tiles, at a multiple of four bytes, and the panel, which has room for more columns
            // than `cols`, is not used but through these pointers; `x` and `out` have `vectors` times `cols` activations, at
            // a multiple of four bytes, and `rows` sums, and this block's four are below the last row.
            unsafe {
                unpack(weights, job.quads, panel.as_mut_ptr().cast());
                many::latimer_dsp_panel(&job);
            }
            (weights, job.out) = (weights.wrapping_add(self.block_len.get()), job.out.wrapping_add(ROWS));
        }
        whole
    }

    /// A block to four sums a vector, which lie `step` apart in `out`.
    fn block_times_many(&self, block: &[u8], x: &[i16], out: &mut [i32], step: usize, vectors: usize) {
        if out.len() < (vectors - 1) * step + ROWS {
            return;
        }
        let mut panel = MaybeUninit::uninit();
        let (mut rest, mut first) = (block, 0);
        while first < self.cols.get() {
            let wanted = many::PANEL.min(self.cols.get() - first);
            let Some((columns, after)) = self.unpack(rest, wanted, &mut panel) else { return };
            rest = after;
            let job = many::Job {
                panel: panel.as_ptr(),
                quads: columns / 4,
                x: x.get(first..).unwrap_or_default().as_ptr(),
                x_step: self.cols.get() * size_of::<i16>(),
                out: out.as_mut_ptr(),
                out_step: step * size_of::<i32>(),
                vectors,
                add: first > 0,
            };
            // SAFETY: `columns` of the panel are unpacked; every vector has `cols` activations, of which `first + columns`
            // are no more, the first at a multiple of four bytes and so all, as `cols` is one of four; the last vector's
            // sums end within `out`.
            unsafe { many::latimer_dsp_panel(&job) };
            first += columns;
        }
    }

    /// Unpacks at most `wanted` columns of a block; returns how many, one tile at least, and the block's rest.
    fn unpack<'b>(
        &self,
        block: &'b [u8],
        wanted: usize,
        panel: &mut MaybeUninit<many::Panel>,
    ) -> Option<(usize, &'b [u8])> {
        let panel: *mut u32 = panel.as_mut_ptr().cast();
        if self.packing.built().scale_len() == 0 {
            let tiles = wanted / 4;
            let (weights, rest) = block.split_at_checked(tiles * TILE)?;
            // SAFETY: the tiles are there, at a multiple of four bytes; a panel has room for `PANEL` columns.
            unsafe {
                match self.packing.built() {
                    Packing::Int8Pairs => many::latimer_dsp_unpack_pairs(weights.as_ptr(), tiles, panel),
                    _ => many::latimer_dsp_unpack_i8(weights.as_ptr(), tiles, panel),
                }
            }
            return Some((wanted, rest));
        }
        let group = self.group.get();
        let tiles = group / self.packing.built().tile_columns();
        let (mut rest, mut columns) = (block, 0);
        while columns + group <= wanted {
            let (weights, after) = rest.split_at_checked(ROWS + tiles * TILE)?;
            // SAFETY: scales and tiles are there, at a multiple of four bytes; a panel has a word a column and pair of rows,
            // and these columns are below `wanted`, which is at most `PANEL`.
            unsafe {
                let place = panel.add(columns);
                match self.packing.built() {
                    Packing::Int4(_) => many::latimer_dsp_unpack_i4_group(weights.as_ptr(), tiles, place),
                    _ => many::latimer_dsp_unpack_i8_group(weights.as_ptr(), tiles, place),
                }
            }
            (rest, columns) = (after, columns + group);
        }
        (columns > 0).then_some((columns, rest))
    }
}
