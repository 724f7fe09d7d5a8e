//! The error that rounding makes in a linear's output, as a quadratic form of the weights' errors.

use super::moments::Moments;
use anyhow::{Context, Result};
use nalgebra::{Cholesky, DMatrix};

/// Share of the mean diagonal added to the diagonal, so that directions the calibration set does not show cost something
/// too.
const DAMPING: f64 = 0.01;

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
        let (n, mean) = (moments.width(), moments.mean());
        let product = |i: usize, j: usize| moments.product(i, j) - if centred { mean[i] * mean[j] } else { 0.0 };
        Self::new(n, product)
    }

    fn new(n: usize, product: impl Fn(usize, usize) -> f64) -> Result<Self> {
        Self::damped(DMatrix::from_fn(n, n, product), DAMPING)
    }

    /// The sum of weighted forms and of `weight * x x^T` for each given `x`.
    pub fn sum<'x>(n: usize, forms: &[(f64, &Self)], outer: impl Iterator<Item = (f64, &'x [f32])>) -> Result<Self> {
        let mut h = DMatrix::<f64>::zeros(n, n);
        for (weight, form) in forms {
            h.as_mut_slice().iter_mut().zip(&form.h).for_each(|(sum, h)| *sum += weight * h);
        }
        for (weight, x) in outer {
            for (column, &factor) in h.as_mut_slice().chunks_exact_mut(n).zip(x) {
                let factor = weight * f64::from(factor);
                column.iter_mut().zip(x).for_each(|(sum, &x)| *sum += factor * f64::from(x));
            }
        }
        Self::damped(h, DAMPING)
    }

    fn damped(mut h: DMatrix<f64>, share: f64) -> Result<Self> {
        let n = h.nrows();
        let damping = share * h.trace() / n as f64 + 1e-12;
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

    /// Columns.
    pub fn columns(&self) -> usize {
        self.n
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
