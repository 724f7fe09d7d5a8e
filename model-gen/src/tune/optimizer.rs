//! Adam (Kingma and Ba 2014) with second moments shared, in part, within a tensor: where a row is hardly ever used its
//! derivatives are noise, and must not be scaled up until they move it.

use super::Grid;
use super::layout::Layout;
use std::ops::Range;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.98;

/// First and second moments.
pub struct Optimizer {
    tensors: Vec<Range<usize>>,
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl Optimizer {
    pub fn new(layout: &Layout) -> Self {
        Self { tensors: layout.tensors(), first: vec![0.0; layout.len], second: vec![0.0; layout.len], steps: 0 }
    }

    /// Moves the latents against the gradient (that of the values), at most by about `rate` codes, or `free_rate`.
    pub fn step(&mut self, latents: &mut [f32], grid: &[Grid], gradient: &[f32], rate: f32, free_rate: f32) {
        self.steps += 1;
        let (first_bias, second_bias) = (1.0 - BETA1.powi(self.steps), 1.0 - BETA2.powi(self.steps));
        for range in &self.tensors {
            let grid = &grid[range.clone()];
            let (first, second) = (&mut self.first[range.clone()], &mut self.second[range.clone()]);
            let mut mean = 0.0f64;
            for (i, g) in gradient[range.clone()].iter().enumerate() {
                // By latent: a code's step is worth its unit.
                let g = if grid[i].unit == 0.0 { *g } else { g * grid[i].unit };
                first[i] = BETA1 * first[i] + (1.0 - BETA1) * g;
                second[i] = BETA2 * second[i] + (1.0 - BETA2) * g * g;
                mean += f64::from(second[i]);
            }
            let mean = (mean / range.len().max(1) as f64) as f32;
            for (i, latent) in latents[range.clone()].iter_mut().enumerate() {
                let deviation = ((second[i] + mean) / second_bias).sqrt().max(1e-20);
                let rate = if grid[i].unit == 0.0 { free_rate } else { rate };
                *latent -= rate * (first[i] / first_bias) / deviation;
            }
        }
    }
}
