//! What kernels in assembly share: their loops take whole tiles, and the rest is plain Rust.

use super::blocks::{self, Tile, Tiles};
use super::portable::Portable;
use super::{Packing, ROWS};
use core::marker::PhantomData;

/// A loop over `count` tiles (at least one) of some blocks and the activations of their columns in some vectors. `tiles`
/// has the first tile in each block, `x` the first activation in each vector; to each of `out` go a vector's `ROWS` sums a
/// block.
pub(crate) type Loop =
    unsafe extern "C" fn(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);

/// A loop over whole groups of tiles, the scales before each: how many tiles a group and how many groups, each at least
/// one, are in `shape`; the rest is as with [`Loop`].
pub(crate) type GroupLoop = unsafe extern "C" fn(
    blocks: *const *const u8,
    x: *const *const i16,
    shape: *const [usize; 2],
    out: *const *mut i32,
);

/// The loops of an instruction set.
///
/// # Safety
///
/// What `choose` and `choose_groups` give must be a loop for those weights, that many blocks and vectors, and must need
/// no more alignment than the constants say.
pub(crate) unsafe trait Loops {
    /// What tiles must be aligned to, in bytes.
    const TILES_ALIGN: usize = 1;
    /// What activations must be aligned to, in bytes, where two are not enough.
    const X_ALIGN: usize = 1;

    /// The loop for weights of `packing` and so many blocks and vectors, if there is one.
    fn choose(packing: Packing, blocks: usize, vectors: usize) -> Option<Loop>;

    /// The loop over groups, if there is one.
    fn choose_groups(packing: Packing, blocks: usize, vectors: usize) -> Option<GroupLoop>;
}

/// A kernel of such loops; the portable one does what they can't.
pub(crate) struct Assembly<L>(PhantomData<L>);

impl<L: Loops> Tiles for Assembly<L> {
    #[inline(always)]
    fn sums<const B: usize, const N: usize>(
        packing: Packing,
        tiles: [&[Tile]; B],
        x: [&[i16]; N],
        mut out: [&mut [i32]; N],
    ) {
        let len = x.iter().fold(usize::MAX, |least, x| least.min(x.len()));
        let count = tiles.iter().fold(whole_tiles(packing, len), |count, tiles| count.min(tiles.len()));
        let fits = count > 0 && out.iter().all(|out| out.len() >= B * ROWS);
        let (first_tiles, first_x) = (tiles.map(<[Tile]>::as_ptr), x.map(<[i16]>::as_ptr));
        let Some(run) = L::choose(packing, B, N).filter(|_| fits && aligned::<L, _, B, N>(&first_tiles, &first_x))
        else {
            return portable(packing, &tiles, &x, out);
        };
        let places = out.each_mut().map(|out| out.as_mut_ptr());
        // SAFETY: each block has `count` tiles, each vector activations for them and room for the sums, and the loop is the
        // one for all that.
        unsafe { run(first_tiles.as_ptr(), first_x.as_ptr(), count, places.as_ptr()) };
        if count * packing.tile_columns() < len {
            add_last(packing, &tiles, count, &x, out);
        }
    }

    /// Ends are looked at once a block and not once a group.
    #[inline(never)]
    fn groups<const B: usize, const N: usize>(
        packing: Packing,
        blocks: [&[u8]; B],
        x: [&[i16]; N],
        mut out: [&mut [i32]; N],
    ) {
        let columns = packing.group(1);
        let count = whole_tiles(packing, columns);
        let (mut block, mut vector) = (blocks.map(<[u8]>::as_ptr), x.map(<[i16]>::as_ptr));
        // Groups of whole tiles: the next one is aligned as the first.
        let whole = count > 0 && count * packing.tile_columns() == columns;
        let fits = aligned::<L, _, B, N>(&block, &vector);
        let (true, true, Some(group_len @ 1..)) = (whole, fits, packing.group_len(columns)) else {
            return portable_groups(packing, &blocks, &x, out);
        };
        let len = blocks.iter().fold(usize::MAX, |least, block| least.min(block.len()));
        let cols = x.iter().fold(usize::MAX, |least, x| least.min(x.len()));
        let groups = cols.checked_div(columns).unwrap_or(0);
        if groups.saturating_mul(group_len) > len {
            return portable_groups(packing, &blocks, &x, out);
        }
        let room = out.iter().all(|out| out.len() >= B * ROWS);
        if let Some(run) = L::choose_groups(packing, B, N).filter(|_| groups > 0 && room) {
            let places = out.each_mut().map(|out| out.as_mut_ptr());
            // SAFETY: each block has the groups, each vector activations for them and room for the sums, and the loop is
            // the one for all that.
            unsafe { run(block.as_ptr(), vector.as_ptr(), &[count, groups], places.as_ptr()) };
            if groups * columns < cols {
                add_last_group(packing, &blocks, groups * group_len, &x, groups * columns, out);
            }
            return;
        }
        let Some(run) = L::choose(packing, B, N) else {
            return portable_groups(packing, &blocks, &x, out);
        };
        // The bits of a stored scale that count.
        let mask = packing.scale(u8::MAX);
        let mut total = [[[0i32; ROWS]; B]; N];
        let mut sums = [[[0i32; ROWS]; B]; N];
        let first = (&raw mut sums).cast::<[[i32; ROWS]; B]>();
        let mut place = first.wrapping_sub(1);
        let places: [*mut i32; N] = [(); N].map(|()| {
            place = place.wrapping_add(1);
            place.cast()
        });
        for _ in 0..groups {
            let tiles = block.map(|block| block.wrapping_add(ROWS).cast());
            // SAFETY: each block has a whole group left and each vector its activations, and the loop is the one for that;
            // scales are before the tiles.
            let scales = unsafe {
                run(tiles.as_ptr(), vector.as_ptr(), count, places.as_ptr());
                block.map(|block| block.cast::<[u8; ROWS]>().read())
            };
            for (total, sums) in total.iter_mut().zip(&sums) {
                for ((total, sums), scales) in total.iter_mut().zip(sums).zip(&scales) {
                    for ((total, sum), &scale) in total.iter_mut().zip(sums).zip(scales) {
                        *total = total.wrapping_add(sum.wrapping_mul(i32::from(scale) & mask));
                    }
                }
            }
            block = block.map(|block| block.wrapping_add(group_len));
            vector = vector.map(|x| x.wrapping_add(columns));
        }
        out.iter_mut().zip(&total).for_each(|(out, total)| blocks::put(total.as_flattened(), out));
        if groups * columns < cols {
            add_last_group(packing, &blocks, groups * group_len, &x, groups * columns, out);
        }
    }
}

/// Tiles that so many columns fill. Either way a shift: division by what is known at run time only is a call on Armv6-M.
#[inline(always)]
fn whole_tiles(packing: Packing, columns: usize) -> usize {
    if let Packing::Int4(_) = packing { columns / 8 } else { columns / 4 }
}

#[inline(always)]
fn aligned<L: Loops, T, const B: usize, const N: usize>(tiles: &[*const T; B], x: &[*const i16; N]) -> bool {
    tiles.iter().all(|tiles| tiles.addr().is_multiple_of(L::TILES_ALIGN))
        && x.iter().all(|x| x.addr().is_multiple_of(L::X_ALIGN))
}

/// [`Portable`]'s sums of any number of vectors.
#[inline(never)]
fn portable<const B: usize, const N: usize>(
    packing: Packing,
    tiles: &[&[Tile]; B],
    x: &[&[i16]; N],
    out: [&mut [i32]; N],
) {
    for (x, out) in x.iter().zip(out) {
        Portable::sums(packing, *tiles, [x], [out]);
    }
}

/// [`Portable`]'s groups of any number of vectors.
#[cold]
#[inline(never)]
fn portable_groups<const B: usize, const N: usize>(
    packing: Packing,
    blocks: &[&[u8]; B],
    x: &[&[i16]; N],
    out: [&mut [i32]; N],
) {
    for (x, out) in x.iter().zip(out) {
        Portable::groups::<B, 1>(packing, *blocks, [x], [out]);
    }
}

/// Adds the tiles from `at` on, whose columns fill no tile.
#[cold]
#[inline(never)]
fn add_last<const B: usize, const N: usize>(
    packing: Packing,
    tiles: &[&[Tile]; B],
    at: usize,
    x: &[&[i16]; N],
    out: [&mut [i32]; N],
) {
    let tiles = tiles.map(|tiles| tiles.get(at..).unwrap_or_default());
    for (x, out) in x.iter().zip(out) {
        let mut last = [[0; ROWS]; B];
        let x = x.get(at * packing.tile_columns()..).unwrap_or_default();
        Portable::sums(packing, tiles, [x], [last.as_flattened_mut()]);
        out.iter_mut().zip(last.as_flattened()).for_each(|(out, last)| *out = out.wrapping_add(*last));
    }
}

/// Adds the group that is shorter than the others, which begins at byte `at` and column `column`.
#[cold]
#[inline(never)]
fn add_last_group<const B: usize, const N: usize>(
    packing: Packing,
    blocks: &[&[u8]; B],
    at: usize,
    x: &[&[i16]; N],
    column: usize,
    out: [&mut [i32]; N],
) {
    let blocks = blocks.map(|block| block.get(at..).unwrap_or_default());
    let x = x.map(|x| x.get(column..).unwrap_or_default());
    let mut last = [[[0; ROWS]; B]; N];
    portable_groups(packing, &blocks, &x, last.each_mut().map(|last| last.as_flattened_mut()));
    for (out, last) in out.into_iter().zip(&last) {
        out.iter_mut().zip(last.as_flattened()).for_each(|(out, last)| *out = out.wrapping_add(*last));
    }
}
