//! Panels: the columns of some vectors that the buffer of activations holds.

use super::order;
use super::{Matrix, ROOM, Room, STEP, Walk};
use crate::kernel::ROWS;
use crate::kernel::layout::TILE;

/// Columns of a panel at least, if a matrix has as many: below, entering and leaving the loops costs too much.
pub(super) const LEAST_COLUMNS: usize = 64;

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

/// Activations of a step at most.
#[repr(align(16))]
struct Columns([i16; 32]);

/// Weights of a step.
#[repr(align(16))]
struct Tiles([u8; STEP]);

impl Matrix<'_> {
    /// Adds the products with all vectors, or with what their planes lack.
    pub(super) fn pass(&self, x: &[i16], wide: bool, carry: bool, room: &mut Room, out: &mut [i32]) {
        let (planes, count) = (1 + usize::from(wide), x.len() / self.cols);
        let columns = self.panel_columns(planes * count);
        let vectors = match ROOM.checked_div(planes * columns).unwrap_or(0) {
            // Pairs remain pairs.
            odd @ 3.. if odd % 2 == 1 => odd - 1,
            vectors => vectors,
        };
        for (x, out) in
            x.chunks((vectors * self.cols.get()).max(1)).zip(out.chunks_mut((vectors * self.rows.get()).max(1)))
        {
            for first in (0..self.cols.get()).step_by(columns.max(1)) {
                let columns = columns.min(self.cols.get() - first);
                let steps = columns.div_ceil(self.step.get());
                let (offset, tiles) = (self.offset(first), (4 * columns).div_ceil(self.step.get()));
                let panel = Panel { offset, tiles, steps, count: x.len() / self.cols, wide };
                for (i, x) in x.chunks_exact(self.cols.get()).enumerate() {
                    let x = x.get(first..first + columns).unwrap_or_default();
                    self.order(&panel, i, x, carry, room);
                }
                // The loops read whole steps and write whole blocks: a last block that has less is done apart.
                let ragged = panel.tiles < 4 * panel.steps || self.blocks * ROWS > self.rows.get();
                self.add(&panel, self.blocks - usize::from(ragged), room, out);
                if ragged {
                    self.add_last(&panel, room, out);
                }
            }
        }
    }

    /// Columns of a panel for so many planes, whole units.
    fn panel_columns(&self, planes: usize) -> usize {
        let most = (ROOM / planes.max(1)).max(LEAST_COLUMNS) / self.unit * self.unit.get();
        let panels = self.cols.get().div_ceil(most.max(self.unit.get()));
        self.cols.get().div_ceil(panels.max(1)).next_multiple_of(self.unit.get())
    }

    /// Where a unit's first column lies in a block.
    fn offset(&self, column: usize) -> usize {
        column / self.unit * self.unit_len
    }

    // Neither is inlined: their places on the stack are the last block's too.
    /// Puts a vector's activations in order: pairs of one plane, and two planes of a vector, step by step in turn.
    #[inline(never)]
    fn order(&self, panel: &Panel, vector: usize, x: &[i16], carry: bool, room: &mut Room) {
        let plane = panel.steps * self.step.get();
        let paired = self.pairs(panel.wide) && vector / 2 * 2 + 1 < panel.count;
        let (start, stride) = match (panel.wide, paired) {
            (true, _) => (2 * vector * plane, 2 * self.step.get()),
            (false, true) => (vector / 2 * 2 * plane + vector % 2 * self.step.get(), 2 * self.step.get()),
            (false, false) => (vector * plane, self.step.get()),
        };
        let Some(room) =
            room.0.get_mut(start..start + (panel.steps - 1) * stride + self.step.get() * (1 + usize::from(panel.wide)))
        else {
            return;
        };
        let f = self.order_of(panel.wide);
        let whole = if carry || !x.as_ptr().addr().is_multiple_of(4) { 0 } else { x.len() / self.step };
        // SAFETY: `x` has as many steps and is aligned; of `room` the planes of the first steps are written.
        unsafe { f(x.as_ptr(), room.as_mut_ptr().cast(), whole, stride) };
        let rest = x.get(whole * self.step.get()..).unwrap_or_default();
        let places = room.chunks_mut(stride.max(1)).skip(whole);
        for (x, place) in rest.chunks(self.step.get()).zip(places) {
            let mut columns = Columns([0; 32]);
            for (column, &x) in columns.0.iter_mut().zip(x) {
                *column = if carry { order::carry(x) } else { x };
            }
            // SAFETY: one step, and a place has room for its planes.
            unsafe { f(columns.0.as_ptr(), place.as_mut_ptr().cast(), 1, stride) };
        }
    }

    /// Adds the products of a panel to the sums of the first `whole` blocks.
    #[inline(never)]
    fn add(&self, panel: &Panel, whole: usize, room: &Room, out: &mut [i32]) {
        let Some(weights) = self.weights.get(panel.offset..).filter(|_| whole > 0) else { return };
        let mut walk = self.walk(weights, &room.0, out, panel.steps);
        (walk.units, walk.single) = self.units(panel.wide, panel.count);
        walk.blocks = whole;
        // SAFETY: the last step of the last of these blocks ends at most three tiles after the block, and then one
        // of at least four tiles follows; the room has the activations of all vectors in order; `out` has as many rows for
        // each vector as these blocks.
        unsafe { self.run(panel.wide, &mut walk) }
    }

    /// Adds the products of the last block.
    #[inline(never)]
    fn add_last(&self, panel: &Panel, room: &Room, out: &mut [i32]) {
        let first = (self.blocks - 1) * ROWS;
        let start = (self.blocks - 1) * self.block_len + panel.offset;
        let Some(weights) = self.weights.get(start..) else { return };
        let whole = panel.tiles / 4;
        let (together, plane) = (1 + usize::from(self.pairs(panel.wide)), panel.steps * self.step.get());
        let planes = 1 + usize::from(panel.wide);
        for (i, out) in out.chunks_mut((together * self.rows.get()).max(1)).enumerate() {
            // The sums of one vector or of two.
            let mut sums = [[0; ROWS]; 2];
            let rows = |out: usize| {
                (out * self.rows.get() + first, ((out + 1) * self.rows.get()).min(out * self.rows.get() + first + ROWS))
            };
            for (n, sums) in sums.iter_mut().enumerate() {
                let (start, end) = rows(n);
                let out = out.get(start..end).unwrap_or_default();
                sums.iter_mut().zip(out).for_each(|(sum, &out)| *sum = out);
            }
            let vectors = out.len() / self.rows;
            let (units, single) = self.units(panel.wide, vectors);
            let Some(x) = room.0.get(i * together * planes * plane..) else { return };
            let mut walk = Walk {
                units,
                single,
                blocks: 1,
                row_bytes: size_of::<[i32; ROWS]>(),
                ..self.walk(weights, x, sums.as_flattened_mut(), whole)
            };
            if whole > 0 {
                // SAFETY: there are as many tiles, and the activations of these vectors follow.
                unsafe { self.run(panel.wide, &mut walk) }
            }
            let rest = weights.get(whole * STEP..panel.tiles * TILE).unwrap_or_default();
            if !rest.is_empty() {
                let mut tiles = Tiles([0; STEP]);
                tiles.0.iter_mut().zip(rest).for_each(|(tile, &rest)| *tile = rest);
                let Some(x) = x.get(whole * self.step.get() * planes * vectors..) else { return };
                walk = Walk {
                    units,
                    single,
                    blocks: 1,
                    row_bytes: size_of::<[i32; ROWS]>(),
                    ..self.walk(&tiles.0, x, sums.as_flattened_mut(), 1)
                };
                // SAFETY: one step of tiles; the last activations follow.
                unsafe { self.run(panel.wide, &mut walk) }
            }
            for (n, sums) in sums.iter().enumerate() {
                let (start, end) = rows(n);
                let out = out.get_mut(start..end).unwrap_or_default();
                out.iter_mut().zip(sums).for_each(|(out, &sum)| *out = sum);
            }
        }
    }
}
