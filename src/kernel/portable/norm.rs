//! Layer norm's two passes over a vector: residual and sums, then scale and shift.

use crate::num::{high_product, saturate_i16};
use core::hint::black_box;

/// Bits below the output's last one in which product and beta are added.
pub const GUARD: i32 = 8;

/// What the first pass finds; all of it wraps around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sums {
    /// Sum of the elements.
    pub sum: i32,
    /// Bits that the upper word of `squares` has had after every second element, and after each of the last that do not
    /// fill four. A square is at most 2^62: what is below 2^61 here has never wrapped.
    pub seen: u32,
    /// Sum of the squares.
    pub squares: u64,
}

impl Sums {
    #[inline(always)]
    pub(crate) fn take(&mut self, r: &mut i32, h: i16, factor: i32) -> u32 {
        *r = r.wrapping_add((h as i32).wrapping_mul(factor));
        self.sum = self.sum.wrapping_add(*r);
        self.squares = self.squares.wrapping_add((*r as i64 * *r as i64) as u64);
        (self.squares >> 32) as u32
    }
}

/// `wide += hidden * factor`, wrapping, and the result's sums; `factor` is a power of two, 256 at most.
// Not inlined: the loop needs the registers for itself, and there is nothing in it to vectorize.
#[inline(never)]
pub fn add(hidden: &[i16], wide: &mut [i32], factor: i32) -> Sums {
    // Not known as a power of two, so that cores that multiply and add in one step do.
    let factor = black_box(factor);
    let mut sums = Sums::default();
    let len = hidden.len().min(wide.len());
    let (hidden, wide) = (hidden.get(..len).unwrap_or_default(), wide.get_mut(..len).unwrap_or_default());
    let (wide, last_wide) = wide.as_chunks_mut::<4>();
    let (hidden, last_hidden) = hidden.as_chunks::<4>();
    for ([r0, r1, r2, r3], &[h0, h1, h2, h3]) in wide.iter_mut().zip(hidden) {
        sums.take(r0, h0, factor);
        sums.seen |= sums.take(r1, h1, factor);
        sums.take(r2, h2, factor);
        sums.seen |= sums.take(r3, h3, factor);
    }
    for (r, &h) in last_wide.iter_mut().zip(last_hidden) {
        sums.seen |= sums.take(r, h, factor);
    }
    sums
}

/// The second pass: `(r * up + offset) * (inverse * gamma)` and beta.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Affine {
    /// What makes the most of an element's 32 bits.
    pub up: i32,
    /// Minus the mean, times `up`.
    pub offset: i32,
    /// Mantissa of the deviation's reciprocal.
    pub inverse: i32,
    /// What brings beta to the output's format with [`GUARD`] bits.
    pub beta_up: i32,
}

/// The product's upper word after the factor's upper 32 of 48 bits, plus beta, rounded and saturated; each step before that
/// wraps.
#[inline(always)]
pub fn apply(affine: &Affine, wide: &[i32], gamma: &[i16], beta: &[i32], out: &mut [i16]) {
    let Affine { up, offset, inverse, beta_up } = black_box(*affine);
    for (((out, &r), &gamma), &beta) in out.iter_mut().zip(wide).zip(gamma).zip(beta) {
        let centred = r.wrapping_mul(up).wrapping_add(offset);
        let factor = ((inverse as i64 * gamma as i64) >> 16) as i32;
        let sum = high_product(centred, factor).wrapping_add(beta.wrapping_mul(beta_up));
        *out = saturate_i16(sum.wrapping_add(1 << (GUARD - 1)) >> GUARD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_are_those_of_wide_integers(
            pairs in proptest::collection::vec((any::<i16>(), -(1i32 << 26)..1 << 26), 0..50), align in 0u32..=8,
        ) {
            let (hidden, mut wide): (std::vec::Vec<i16>, std::vec::Vec<i32>) = pairs.iter().copied().unzip();
            let wanted: std::vec::Vec<i64> = pairs.iter().map(|&(h, w)| w as i64 + ((h as i64) << align)).collect();
            let sums = add(&hidden, &mut wide, 1 << align);
            prop_assert!(wide.iter().map(|&r| r as i64).eq(wanted.iter().copied()));
            prop_assert_eq!(sums.sum, wanted.iter().sum::<i64>() as i32);
            prop_assert_eq!(sums.squares, wanted.iter().map(|r| (r * r) as u64).sum::<u64>());
            prop_assert!(sums.seen >= (sums.squares >> 32) as u32);
        }
    }

    /// Squares that come to 2^64 and leave nothing there are seen.
    #[test]
    fn a_sum_that_wraps_is_seen() {
        let mut wide = [i32::MIN; 4];
        let sums = add(&[0; 4], &mut wide, 1);
        assert_eq!((sums.squares, sums.seen), (0, 1 << 31));
    }
}
