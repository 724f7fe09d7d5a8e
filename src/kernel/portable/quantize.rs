//! Dynamic quantization: the largest magnitude, and codes.

use crate::num::high_product;

/// Not for other types: kernels tell elements and codes by their size.
trait Sealed {}
impl Sealed for i16 {}
impl Sealed for i32 {}
impl Sealed for u8 {}

/// What can be quantized: i16 and i32.
#[expect(private_bounds, reason = "sealed")]
pub trait Element: Copy + Sealed {
    /// Its value.
    fn wide(self) -> i32;
}

/// What holds a code: i16 and bytes.
#[expect(private_bounds, reason = "sealed")]
pub trait Code: Copy + Sealed {
    /// The code, which fits.
    fn of(code: i32) -> Self;
}

impl Element for i16 {
    #[inline(always)]
    fn wide(self) -> i32 {
        self.into()
    }
}

impl Element for i32 {
    #[inline(always)]
    fn wide(self) -> i32 {
        self
    }
}

impl Code for i16 {
    #[inline(always)]
    fn of(code: i32) -> Self {
        code as i16
    }
}

/// A key or value: an i8 as caches hold it.
impl Code for u8 {
    #[inline(always)]
    fn of(code: i32) -> Self {
        code as u8
    }
}

/// How elements become codes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Step {
    /// The inverse of the scale.
    pub inverse: i32,
    /// Bits that elements go up before they are multiplied.
    pub up: i32,
    /// Bits that products go down, one at least; they are rounded to nearest, halves up.
    pub shift: i32,
}

/// The largest of `x` and, for those that are negative, of `-x - 1`; zero for none.
#[inline(always)]
pub fn largest<E: Element>(x: &[E]) -> i32 {
    x.iter().fold(0, |largest, x| {
        let x = x.wide();
        (x ^ (x >> 31)).max(largest)
    })
}

/// Codes from products, which 32 bits hold; elements do not go up.
#[inline(always)]
pub fn from_products<E: Element, C: Code>(step: Step, x: &[E], out: &mut [C]) {
    let half = 1 << (step.shift - 1);
    for (out, x) in out.iter_mut().zip(x) {
        *out = C::of(x.wide().wrapping_mul(step.inverse).wrapping_add(half) >> step.shift);
    }
}

/// Codes from the upper words of products.
#[inline(always)]
pub fn from_upper_words<E: Element, C: Code>(step: Step, x: &[E], out: &mut [C]) {
    let half = 1 << (step.shift - 1);
    for (out, x) in out.iter_mut().zip(x) {
        *out = C::of(high_product(x.wide() << step.up, step.inverse).wrapping_add(half) >> step.shift);
    }
}
