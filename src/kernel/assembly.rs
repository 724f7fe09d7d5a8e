//! What kernels in assembly share: their loops take whole tiles, and the rest is plain Rust.

use super::blocks::{Tile, Tiles};
use super::portable::Portable;
use super::{Packing, ROWS};

/// A loop over `count` tiles (at least one) of `B` blocks and the activations of their columns in `N` vectors. `tiles` has
/// the first tile in each block, `x` the first activation in each vector; to each of `out` go a vector's `B * ROWS` sums.
pub(crate) type Loop =
    unsafe extern "C" fn(tiles: *const *const Tile, x: *const *const i16, count: usize, out: *const *mut i32);

/// [`Tiles::sums`] by a loop, or by the portable one where a loop finds too little to work on.
///
/// # Safety
///
/// `run` must be a loop for weights of `packing`, `B` blocks and `N` vectors, and may need no alignment that `tiles` and
/// `x` have not.
#[inline(always)]
pub(crate) unsafe fn sums<const B: usize, const N: usize>(
    run: Loop,
    packing: Packing,
    tiles: [&[Tile]; B],
    x: [&[i16]; N],
    mut out: [&mut [i32]; N],
) {
    // Either way a shift: division by a number of columns that is known at run time only is a call on Armv6-M.
    let whole = |len: usize| if let Packing::Int4(_) = packing { len / 8 } else { len / 4 };
    let len = x.iter().fold(usize::MAX, |least, x| least.min(x.len()));
    let count = tiles.iter().fold(whole(len), |count, tiles| count.min(tiles.len()));
    if count == 0 || out.iter().any(|out| out.len() < B * ROWS) {
        return portable(packing, &tiles, &x, out);
    }
    let (first_tiles, first_x) = (tiles.map(<[Tile]>::as_ptr), x.map(<[i16]>::as_ptr));
    let places = out.each_mut().map(|out| out.as_mut_ptr());
    // SAFETY: each block has `count` tiles, each vector activations for them and room for the sums; the caller vouches for
    // the loop.
    unsafe { run(first_tiles.as_ptr(), first_x.as_ptr(), count, places.as_ptr()) };
    if count * packing.tile_columns() < len {
        add_last(packing, &tiles, count, &x, out);
    }
}

/// [`Portable`]'s sums of any number of vectors.
#[inline(never)]
pub(crate) fn portable<const B: usize, const N: usize>(
    packing: Packing,
    tiles: &[&[Tile]; B],
    x: &[&[i16]; N],
    out: [&mut [i32]; N],
) {
    for (x, out) in x.iter().zip(out) {
        Portable::sums(packing, *tiles, [x], [out]);
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
