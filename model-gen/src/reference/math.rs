//! The vector operations the layers are written in.

use super::tap::{At, Tap};
use crate::import::checkpoint::{LayerNorm, Linear, Matrix};
use crate::import::config::Activation;
use latimer::blob::layout::Role;
use std::f32::consts::FRAC_1_SQRT_2;
use wide::f32x8;

/// Rows that a matrix is multiplied by at a time: an addition takes several cycles, so that independent ones must be
/// under way, and more rows than these need more registers than x86-64 is sure to have.
const ROWS: usize = 2;

/// Sum of products.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let [sum] = dots([a], b);
    sum
}

/// Sums of products of each row with `x`, each in the same order however many rows there are: eight running sums, then
/// what eight does not divide.
#[inline(always)]
fn dots<const N: usize>(rows: [&[f32]; N], x: &[f32]) -> [f32; N] {
    let (x, x_rest) = x.as_chunks();
    let rows = rows.map(|row| row.as_chunks());
    // Of one length, so that the loop needs no checks.
    let whole = rows.map(|(row, _)| &row[..x.len()]);
    let mut sums = [f32x8::ZERO; N];
    for (i, x) in x.iter().enumerate() {
        let x = f32x8::new(*x);
        for (sum, row) in sums.iter_mut().zip(whole) {
            *sum += f32x8::new(row[i]) * x;
        }
    }
    std::array::from_fn(|n| {
        let rest: f32 = rows[n].1.iter().zip(x_rest).map(|(a, b)| a * b).sum();
        sums[n].to_array().iter().sum::<f32>() + rest
    })
}

/// `weight x + bias`.
pub(super) fn linear(linear: &Linear, x: &[f32]) -> Vec<f32> {
    matrix_vector(&linear.weight, &linear.bias, x)
}

/// `matrix x + bias`.
pub(super) fn matrix_vector(matrix: &Matrix, bias: &[f32], x: &[f32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(matrix.rows);
    let whole = matrix.rows - matrix.rows % ROWS;
    for first in (0..whole).step_by(ROWS) {
        out.extend(dots::<ROWS>(std::array::from_fn(|i| matrix.row(first + i)), x));
    }
    out.extend((whole..matrix.rows).map(|row| dot(matrix.row(row), x)));
    out.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
    out
}

/// Normalizes `residual + x` (post-norm).
pub(super) fn add_and_norm(norm: &LayerNorm, eps: f64, residual: &[f32], x: &[f32]) -> Vec<f32> {
    let sum: Vec<f32> = residual.iter().zip(x).map(|(a, b)| a + b).collect();
    let n = sum.len() as f32;
    let mean = sum.iter().sum::<f32>() / n;
    let variance = sum.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
    let scale = 1.0 / (variance + eps as f32).sqrt();
    let affine = norm.weight.iter().zip(&norm.bias);
    sum.iter().zip(affine).map(|(x, (gamma, beta))| (x - mean) * scale * gamma + beta).collect()
}

/// `fc2(activation(fc1(x)))`.
pub(super) fn feed_forward<T: Tap>(
    fc1: &Linear,
    fc2: &Linear,
    activation: Activation,
    x: &[f32],
    at: &mut At<'_, T>,
) -> Vec<f32> {
    let mut inner = at.linear(Role::Fc1, fc1, x);
    for x in &mut inner {
        *x = match activation {
            Activation::Relu => x.max(0.0),
            Activation::Silu => *x / (1.0 + (-*x).exp()),
            Activation::Gelu => *x * 0.5 * (1.0 + libm::erff(*x * FRAC_1_SQRT_2)),
        };
    }
    at.linear(Role::Fc2, fc2, &inner)
}

/// Turns scores into probabilities in place.
pub(crate) fn softmax(scores: &mut [f32]) {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|x| *x = (*x - max).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|x| *x /= sum);
}

/// Turns scores into logarithms of probabilities (nats) in place.
pub(super) fn log_softmax(scores: &mut [f32]) {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_sum = scores.iter().map(|x| (x - max).exp()).sum::<f32>().ln();
    scores.iter_mut().for_each(|x| *x = *x - max - log_sum);
}

/// Index of the largest value, the first of several.
pub(super) fn argmax(values: &[f32]) -> usize {
    let larger = |best, (i, x)| if x > values[best] { i } else { best };
    values.iter().copied().enumerate().fold(0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_of_lengths_that_eight_does_not_divide() {
        for n in [0, 1, 7, 8, 9, 36, 50] {
            let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let wanted: usize = (0..n).map(|i| i * i).sum();
            assert_eq!(dot(&a, &a), wanted as f32);
        }
    }

    #[test]
    fn a_matrix_is_its_rows_whatever_their_number() {
        for rows in 0..10 {
            let value = |i: usize| (i as f32 * 0.37).sin();
            let matrix = Matrix { rows, cols: 19, data: (0..rows * 19).map(value).collect() };
            let (x, bias): (Vec<f32>, Vec<f32>) = ((0..19).map(|i| value(i + 5)).collect(), vec![0.5; rows]);
            let wanted: Vec<f32> = matrix.iter_rows().map(|row| dot(row, &x) + 0.5).collect();
            assert_eq!(matrix_vector(&matrix, &bias, &x), wanted);
        }
    }

    #[test]
    fn norm_has_mean_beta_and_deviation_gamma() {
        let norm = LayerNorm { weight: vec![2.0; 4], bias: vec![1.0; 4] };
        let out = add_and_norm(&norm, 1e-5, &[1.0, 2.0, 3.0, 4.0], &[0.0; 4]);
        // Mean 2.5, variance 1.25.
        let wanted = [-1.5f32, -0.5, 0.5, 1.5].map(|x| 2.0 * x / 1.25001f32.sqrt() + 1.0);
        out.iter().zip(wanted).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{out:?}"));
    }

    #[test]
    fn softmax_of_large_scores_stays_finite() {
        let mut scores = [1000.0, 1000.0, 0.0];
        softmax(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0]);
    }

    #[test]
    fn log_softmax_is_the_logarithm_of_softmax() {
        let mut logs = [1000.0, 1001.0, 998.5];
        let mut probabilities = logs;
        log_softmax(&mut logs);
        softmax(&mut probabilities);
        logs.iter().zip(probabilities).for_each(|(log, p)| assert!((log.exp() - p).abs() < 1e-6, "{log} {p}"));
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, f32::NEG_INFINITY]), 1);
    }

    #[test]
    fn activations() {
        let identity = Linear { weight: Matrix { rows: 1, cols: 1, data: vec![1.0] }, bias: vec![0.0] };
        let apply =
            |activation, x| feed_forward(&identity, &identity, activation, &[x], &mut At { tap: &mut (), block: 0 })[0];
        assert_eq!([apply(Activation::Relu, -2.0), apply(Activation::Relu, 2.0)], [0.0, 2.0]);
        // 1 * sigmoid(1)
        assert!((apply(Activation::Silu, 1.0) - 0.731_058_6).abs() < 1e-6);
        assert_eq!(apply(Activation::Silu, -200.0), 0.0);
        // 1 * Phi(1) and -2 * Phi(-2), from a table of the normal distribution.
        assert!((apply(Activation::Gelu, 1.0) - 0.841_344_7).abs() < 1e-6);
        assert!((apply(Activation::Gelu, -2.0) + 2.0 * 0.022_750_13).abs() < 1e-6);
        assert_eq!(apply(Activation::Gelu, -200.0), 0.0);
    }
}
