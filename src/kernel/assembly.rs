//! What kernels in assembly share: their loops take whole tiles, and the rest is plain Rust.

use super::blocks::{Sums, Tile, Tiles};
use super::portable::Portable;
use super::{Packing, ROWS};

/// A loop over `count` tiles (at least one) of `B` blocks and the activations of their columns in `N` vectors. `tiles` has
/// the first tile in each block, `x` the first activation in each vector. Writes `N * B * ROWS` sums in the order of
/// [`Sums`].
pub(crate) type Loop =
    unsafe extern "C" fn(tiles: *const *const Tile, x: *const *const i16, count: usize, sums: *mut i32);

/// [`Tiles::sums`] by a loop.
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
) -> Sums<B, N> {
    // Either way a shift: division by a number of columns that is known at run time only is a call on Armv6-M.
    let whole = |len: usize| if let Packing::Int4(_) = packing { len / 8 } else { len / 4 };
    let least = |count: usize, x: &[i16]| count.min(x.len());
    let len = x.into_iter().fold(usize::MAX, least);
    let count = tiles.iter().fold(whole(len), |count, tiles| count.min(tiles.len()));
    if count == 0 {
        return Portable::sums(packing, tiles, x);
    }
    let mut sums = [[[0; ROWS]; B]; N];
    let (first_tiles, first_x) = (tiles.map(<[Tile]>::as_ptr), x.map(<[i16]>::as_ptr));
    // SAFETY: each block has `count` tiles and each vector activations for them; the caller vouches for the loop.
    unsafe { run(first_tiles.as_ptr(), first_x.as_ptr(), count, sums.as_mut_ptr().cast()) };
    if count * packing.tile_columns() < len {
        add_last(packing, tiles, count, x, &mut sums);
    }
    sums
}

/// Adds the tiles from `at` on, whose columns fill no tile.
#[inline(never)]
fn add_last<const B: usize, const N: usize>(
    packing: Packing,
    tiles: [&[Tile]; B],
    at: usize,
    x: [&[i16]; N],
    sums: &mut Sums<B, N>,
) {
    let tiles = tiles.map(|tiles| tiles.get(at..).unwrap_or_default());
    let x = x.map(|x| x.get(at * packing.tile_columns()..).unwrap_or_default());
    for (sums, last) in sums.iter_mut().zip(Portable::sums(packing, tiles, x)) {
        for (sums, last) in sums.iter_mut().zip(last) {
            sums.iter_mut().zip(last).for_each(|(sum, last)| *sum = sum.wrapping_add(last));
        }
    }
}
