//! Quantization: which width, scale and code each weight gets.
//!
//! ```text
//! calibration set ─ float model ─ moments of every linear's input ─┬─ smoothing of the weights
//!                                                                  └─ cost of an error ─ codes, row by row ─ bias
//! ```

mod calibration;
mod equalize;
mod hessian;
mod matrix;
mod round;
mod scales;
mod settings;

use crate::import::checkpoint::{Linear, Matrix};
use crate::reference::Site;
use anyhow::Result;
use hessian::Hessian;
use std::borrow::Cow;

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

/// What a row's error costs as an embedding, in ratio to what it costs in the logits, where an id is as frequent as the
/// average one.
const EMBEDDING_COST: f64 = 0.3;

/// Quantizes the matrices of one model.
#[derive(Clone, Debug, Default)]
pub struct Quantizer {
    settings: Settings,
    calibration: Option<Calibration>,
    sentences: Vec<Sentence>,
    seed: u64,
}

impl Quantizer {
    /// By `settings`; where they ask for calibration, with the moments of the very weights that will be quantized.
    pub fn new(settings: Settings, calibration: Option<Calibration>) -> Self {
        Self { settings, calibration, ..Self::default() }
    }

    /// With sentences to tune on, drawn by `seed`.
    pub fn with_sentences(mut self, sentences: Vec<Sentence>, seed: u64) -> Self {
        (self.sentences, self.seed) = (sentences, seed);
        self
    }

    /// The sentences to tune on.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// What draws them.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The choices made.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How tensor `index` is rounded and what errors cost there.
    fn calibrated(&self) -> Option<&Calibration> {
        self.calibration.as_ref().filter(|_| self.settings.rounding == Rounding::Calibrated)
    }

    /// A linear and the bias that goes with it. `steps` is what the runtime's input quantizer counts to.
    pub fn linear(&self, index: usize, site: Site, linear: &Linear, steps: f64) -> Result<(QuantizedMatrix, Vec<f32>)> {
        let width = self.settings.width(index);
        let moments = self.calibration.as_ref().and_then(|calibration| calibration.moments(site));
        let (rounding, hessian) = match (self.calibrated(), moments) {
            (Some(_), Some(moments)) => (Rounding::Calibrated, Hessian::of(moments, true)?),
            _ => (Rounding::Nearest, Hessian::identity(linear.weight.cols)),
        };
        let quantized = matrix::quantize(&linear.weight, steps, width, rounding, &|_| Cow::Borrowed(&hessian));
        let mut bias = linear.bias.clone();
        if let Some(moments) = moments.filter(|_| self.settings.bias_correction) {
            let mean = moments.mean();
            let rows = linear.weight.iter_rows().zip(quantized.weights.iter_rows());
            for (bias, (wanted, found)) in bias.iter_mut().zip(rows) {
                let error = wanted.iter().zip(found).map(|(a, b)| f64::from(*a) - f64::from(*b));
                *bias += error.zip(&mean).map(|(e, m)| e * m).sum::<f64>() as f32;
            }
        }
        Ok((quantized, bias))
    }

    /// An embedding, an output matrix, or both in one.
    pub fn vocabulary(&self, index: usize, usage: Usage, matrix: &Matrix, steps: f64) -> Result<QuantizedMatrix> {
        let width = self.settings.width(index);
        let identity = Hessian::identity(matrix.cols);
        let calibration = self.calibrated();
        let moments = calibration.filter(|_| usage.output).and_then(|c| c.moments(Site::OUTPUT));
        let (Some(calibration), Some(moments)) = (calibration, moments) else {
            // Columns of an embedding are alike: rounding to nearest cannot be bettered.
            return Ok(matrix::quantize(matrix, steps, width, Rounding::Nearest, &|_| Cow::Borrowed(&identity)));
        };
        let output = Hessian::of(moments, false)?;
        let average = EMBEDDING_COST * output.mean_diagonal() * matrix.rows as f64;
        let hessians: Vec<Cow<'_, Hessian>> = (0..matrix.rows as u32)
            .map(|id| {
                let source = if usage.source { calibration.source_share(id) } else { 0.0 };
                let target = if usage.target { calibration.target_share(id) } else { 0.0 };
                let weight = average * (source + target);
                if weight == 0.0 { Ok(Cow::Borrowed(&output)) } else { output.plus_diagonal(weight).map(Cow::Owned) }
            })
            .collect::<Result<_>>()?;
        let hessian = |row: usize| Cow::Borrowed(hessians[row].as_ref());
        Ok(matrix::quantize(matrix, steps, width, Rounding::Calibrated, &hessian))
    }
}
