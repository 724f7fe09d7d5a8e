//! A kernel with a fault, for the test that a board's self-test finds such and names the layer. Nothing else turns the
//! feature on.

use super::{Packing, chosen};

/// Columns and rows of the one shape that is multiplied wrongly, as a single vector: the second feed-forward matrix of the
/// shipped model, whose decoder takes one token at a time.
const SHAPE: (usize, usize) = (384, 128);

/// The chosen kernel's, with one wrong sum in that shape.
pub fn multiply(packing: Packing, weights: &[u8], cols: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    chosen::multiply(packing, weights, cols, x, rows, out);
    if let ((SHAPE, true), Some(sum)) = (((cols, rows), x.len() == cols), out.first_mut()) {
        *sum ^= 1 << 18;
    }
}
