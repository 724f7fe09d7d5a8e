//! Quantization: which width, scale and code each weight gets.
//!
//! ```text
//! calibration set ─ float model ─ moments of every linear's input ─┬─ smoothing of the weights
//!                                                                  └─ cost of an error ─ codes, row by row ─ bias
//! ```

mod calibration;
mod costs;
mod equalize;
mod hessian;
mod matrix;
mod moments;
mod round;
mod scales;
mod settings;

use crate::import::checkpoint::{Linear, Matrix};
use crate::reference::Site;
use anyhow::Result;
use hessian::Hessian;
use matrix::Cost;
use rayon::prelude::*;

pub use calibration::Calibration;
pub use equalize::equalize;
pub use matrix::{QuantizedMatrix, Rounding, Width};
pub use settings::{InputBits, Recipe, Settings};

/// A sentence of the calibration set, as ids, end of sentence included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// What is translated.
    pub source: Vec<u32>,
    /// A translation.
    pub target: Vec<u32>,
}

/// What an embedding or output matrix is used for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Its rows are the source's embeddings.
    pub source: bool,
    /// Its rows are the target's embeddings.
    pub target: bool,
    /// It makes the logits.
    pub output: bool,
}

/// Weight of the mean cost in each row of the output matrix, in ratio to the row's own: where few tokens tell what a row
/// costs, all of them do.
const SHARED_COST: f64 = 0.05;

/// Quantizes the matrices of one model.
#[derive(Clone, Debug, Default)]
pub struct Quantizer {
    settings: Settings,
    calibration: Option<Calibration>,
}

impl Quantizer {
    /// By `settings`; where they ask for calibration, with the moments of the very weights that will be quantized.
    pub fn new(settings: Settings, calibration: Option<Calibration>) -> Self {
        Self { settings, calibration }
    }

    /// With another width for all matrices.
    pub fn with_width(mut self, width: Width) -> Self {
        self.settings.width = width;
        self
    }

    /// The choices made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    fn calibrated(&self) -> Option<&Calibration> {
        self.calibration.as_ref().filter(|_| self.settings.rounding == Rounding::Calibrated)
    }

    /// A linear and the bias that goes with it. `steps` is what the runtime's input quantizer counts to.
    pub fn linear(&self, site: Site, linear: &Linear, steps: f64) -> Result<(QuantizedMatrix, Vec<f32>)> {
        let width = self.settings.width;
        let quantized = match self.calibrated().and_then(|calibration| calibration.linear(site)) {
            Some(seen) => {
                let input = Hessian::of(&seen.input, self.settings.bias_correction)?;
                let output = Hessian::of(&seen.derivative, false)?;
                matrix::quantize(&linear.weight, steps, width, &Cost::TwoSided { input: &input, output: &output })
            }
            None => matrix::quantize(&linear.weight, steps, width, &Cost::Alike),
        };
        let mut bias = linear.bias.clone();
        let seen = self.calibration.as_ref().and_then(|calibration| calibration.linear(site));
        if let Some(seen) = seen.filter(|_| self.settings.bias_correction) {
            let mean = seen.input.mean();
            let rows = linear.weight.iter_rows().zip(quantized.weights.iter_rows());
            for (bias, (wanted, found)) in bias.iter_mut().zip(rows) {
                let error = wanted.iter().zip(found).map(|(a, b)| f64::from(*a) - f64::from(*b));
                *bias += error.zip(&mean).map(|(e, m)| e * m).sum::<f64>() as f32;
            }
        }
        Ok((quantized, bias))
    }

    /// An embedding, an output matrix, or both in one.
    pub fn vocabulary(&self, usage: Usage, matrix: &Matrix, steps: f64) -> Result<QuantizedMatrix> {
        let width = self.settings.width;
        let Some(calibration) = self.calibrated() else {
            return Ok(matrix::quantize(matrix, steps, width, &Cost::Alike));
        };
        let costs = costs::Vocabulary::new(&calibration.vocabulary, usage, matrix.cols, SHARED_COST)?;
        let hessians = (0..matrix.rows as u32).into_par_iter().map(|row| costs.row(row)).collect::<Result<Vec<_>>>()?;
        Ok(matrix::quantize(matrix, steps, width, &Cost::Rows(&hessians)))
    }
}
