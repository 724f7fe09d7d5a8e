//! The error that rounding makes in a linear's output, as a quadratic form of the weights' errors.

use super::calibration::Moments;
use anyhow::{Context, Result};
use nalgebra::{Cholesky, DMatrix};

/// Share of the mean diagonal added to the diagonal, so that directions the calibration set does not show cost something
/// too.
const DAMPING: f64 = 0.003;

/// `e^T H e` is the mean square of what a row's error `e` adds to the output.
#[derive(Clone, Debug)]
pub struct Hessian {
    n: usize,
    /// Row-major, symmetric.
    h: Vec<f64>,
    /// Upper Cholesky factor of the inverse, row-major: row `i` says how the error of column `i` is made up for by those
    /// after it (Frantar et al. 2022, "GPTQ").
    factor: Vec<f64>,
}

impl Hessian {
    /// All columns alike and independent: rounding to nearest is best.
    pub fn identity(n: usize) -> Self {
        let mut h = vec![0.0; n * n];
        h.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
        Self { n, factor: h.clone(), h }
    }

    /// Of inputs with these moments: about their mean where the bias takes up the error of the mean.
    pub fn of(moments: &Moments, centred: bool) -> Result<Self> {
        let (n, mean) = (moments.len(), moments.mean());
        let product = |i: usize, j: usize| moments.product(i, j) - if centred { mean[i] * mean[j] } else { 0.0 };
        Self::new(n, product)
    }

    fn new(n: usize, product: impl Fn(usize, usize) -> f64) -> Result<Self> {
        let mut h = DMatrix::from_fn(n, n, product);
        let damping = DAMPING * h.trace() / n as f64 + 1e-12;
        (0..n).for_each(|i| h[(i, i)] += damping);
        Self::factored(h)
    }

    fn factored(h: DMatrix<f64>) -> Result<Self> {
        let n = h.nrows();
        let broken = "the calibration set's moments are not positive definite: give more and different sentences";
        let inverse = Cholesky::new(h.clone()).context(broken)?.inverse();
        let lower = Cholesky::new(inverse).context(broken)?.unpack();
        // Column-major storage of the lower factor is row-major storage of the upper one.
        Ok(Self { n, h: h.as_slice().to_vec(), factor: lower.as_slice().to_vec() })
    }

    /// This form plus `weight` times the sum of squares.
    pub fn plus_diagonal(&self, weight: f64) -> Result<Self> {
        let mut h = DMatrix::from_column_slice(self.n, self.n, &self.h);
        (0..self.n).for_each(|i| h[(i, i)] += weight);
        Self::factored(h)
    }

    /// Columns.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Mean of the diagonal.
    pub fn mean_diagonal(&self) -> f64 {
        self.h.iter().step_by(self.n + 1).sum::<f64>() / self.n as f64
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.h[i * self.n..][..self.n]
    }

    /// Row `i` of the inverse's factor, from column `i` on.
    pub fn factor(&self, i: usize) -> &[f64] {
        &self.factor[i * self.n + i..][..self.n - i]
    }

    /// `e^T H e`.
    pub fn error(&self, e: &[f64]) -> f64 {
        let rows =
            e.iter().enumerate().map(|(i, e_i)| e_i * self.row(i).iter().zip(e).map(|(h, e)| h * e).sum::<f64>());
        rows.sum()
    }
}
