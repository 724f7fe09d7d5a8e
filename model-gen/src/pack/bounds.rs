//! Fixed-point formats from proven bounds: no calibration, no saturation on any input.
//!
//! A normalized vector of `d` elements has a norm of at most `sqrt(d)`; from there Cauchy-Schwarz bounds each output
//! of a linear by the row's norm times the input's, and norms add.

use crate::import::checkpoint::{LayerNorm, Linear, Matrix};

/// Bounds of a vector.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Of each element.
    pub element: f64,
    /// Of the Euclidean norm.
    pub norm: f64,
}

fn norm_of(row: &[f32]) -> f64 {
    row.iter().map(|&w| w as f64 * w as f64).sum::<f64>().sqrt()
}

impl Bound {
    /// Output of a layer norm.
    pub fn of_norm(norm: &LayerNorm) -> Self {
        let root = (norm.weight.len() as f64).sqrt();
        let largest = |v: &[f32]| v.iter().fold(0f64, |m, &x| m.max(x.abs() as f64));
        let element =
            norm.weight.iter().zip(&norm.bias).fold(0f64, |m, (&g, &b)| m.max(g.abs() as f64 * root + b.abs() as f64));
        Bound { element, norm: largest(&norm.weight) * root + norm_of(&norm.bias) }
    }

    /// An embedded token: a scaled row plus sinusoids, whose norm is `sqrt(d/2)`.
    pub fn of_embedding(matrix: &Matrix, scale: f64) -> Self {
        let largest = matrix.data.iter().fold(0f64, |m, &x| m.max(x.abs() as f64));
        let norm = matrix.iter_rows().map(norm_of).fold(0f64, f64::max);
        Bound { element: largest * scale + 1.0, norm: norm * scale + (matrix.cols as f64 / 2.0).sqrt() + 1.0 }
    }

    /// Output of a linear whose input is within `self`.
    pub fn through(self, linear: &Linear) -> Self {
        self.through_rows(&linear.weight, &linear.bias)
    }

    /// [`Bound::through`] for a matrix and a bias apart.
    pub fn through_rows(self, weight: &Matrix, bias: &[f32]) -> Self {
        let rows = weight.iter_rows().zip(bias).map(|(row, &b)| norm_of(row) * self.norm + b.abs() as f64);
        let (element, squares) = rows.fold((0f64, 0f64), |(m, s), x| (m.max(x), s + x * x));
        Bound { element, norm: squares.sqrt() }
    }
}

/// Most fraction bits, up to `most`, in which magnitudes up to `element` stay within `bits` bits and a sign.
pub fn fraction_bits(element: f64, bits: i32, most: i8) -> i8 {
    let whole = (element * (1.0 + 1e-6)).max(f64::MIN_POSITIVE).log2();
    (bits as f64 - whole).floor().clamp(-16.0, most as f64) as i8
}
