//! Tuning: the codes of all matrices at once, led by the derivative of how far the quantized model's next-token
//! distributions are from the float model's. Rounding passes derivatives straight through (Bengio et al. 2013; Nagel et
//! al. 2020 and Cheng et al. 2023 tune codes layer by layer, this tunes the whole model).
//!
//! The arithmetic is this crate's own, not a tensor library's: those choose their products by the processor, and a blob
//! must be the same wherever it is packed.

mod algebra;
mod gradient;
pub(crate) mod layout;
mod optimizer;

use crate::import::Checkpoint;
use crate::quantize::Sentence;
use crate::testing::SplitMix64;
use gradient::{Network, divergence};
use optimizer::Optimizer;
use rayon::prelude::*;

use layout::Layout;

/// How long and how fast to tune.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Steps.
    pub steps: usize,
    /// Sentences a step.
    pub batch: usize,
    /// Most that a code's latent value moves in the first step, in codes; falls to zero.
    pub rate: f32,
    /// The same for biases and norms, in their own units.
    pub free_rate: f32,
}

/// The grid that a parameter is rounded to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    /// What one code is worth; zero for parameters that are not rounded.
    pub unit: f32,
    /// Lowest code.
    pub low: f32,
    /// Highest code.
    pub high: f32,
}

impl Grid {
    /// The value that the runtime sees for a latent one, in codes.
    pub fn value(self, latent: f32) -> f32 {
        if self.unit == 0.0 { latent } else { self.code(latent) * self.unit }
    }

    fn code(self, latent: f32) -> f32 {
        latent.round().clamp(self.low, self.high)
    }
}

/// Parts of a batch whose derivatives are summed one after the other, whatever the number of threads.
const PARTS: usize = 4;

/// Tunes `latents` (codes where the grid has a unit, values elsewhere) so that the rounded model does as `checkpoint`
/// does on `sentences`; `done` is told each step's mean divergence a token. Deterministic for a seed.
pub fn tune(
    checkpoint: &Checkpoint,
    latents: &mut [f32],
    grid: &[Grid],
    sentences: &[Sentence],
    schedule: Schedule,
    seed: u64,
    done: impl Fn(usize, f64),
) {
    let (layout, wanted) = Layout::of(checkpoint);
    let network = Network { config: &checkpoint.config, layout: &layout };
    let mut optimizer = Optimizer::new(&layout);
    let mut random = SplitMix64::new(seed);
    for step in 0..schedule.steps {
        let values: Vec<f32> = latents.iter().zip(grid).map(|(latent, grid)| grid.value(*latent)).collect();
        let batch: Vec<&Sentence> = (0..schedule.batch).map(|_| &sentences[random.below(sentences.len())]).collect();
        let parts: Vec<(Vec<f32>, f64, usize)> = batch
            .par_chunks(batch.len().div_ceil(PARTS))
            .map(|part| {
                let mut sum = (vec![0.0; layout.len], 0.0, 0);
                for sentence in part {
                    let teacher = network.forward(&wanted, sentence).logits;
                    let mut pass = network.forward(&values, sentence);
                    let mut logits = std::mem::take(&mut pass.logits);
                    sum.1 += divergence(&teacher, &mut logits, layout.output.weight.rows);
                    sum.2 += sentence.target.len();
                    network.backward(&values, &mut sum.0, &pass, &logits);
                }
                sum
            })
            .collect();
        let mut parts = parts.into_iter();
        let Some((mut gradient, mut total, mut tokens)) = parts.next() else { return };
        for (more, divergence, count) in parts {
            algebra::add(&mut gradient, &more);
            (total, tokens) = (total + divergence, tokens + count);
        }
        gradient.iter_mut().for_each(|g| *g /= tokens.max(1) as f32);
        let left = 1.0 - step as f32 / schedule.steps as f32;
        optimizer.step(latents, grid, &gradient, schedule.rate * left, schedule.free_rate * left);
        done(step + 1, total / tokens.max(1) as f64);
    }
    latents.iter_mut().zip(grid).filter(|(_, grid)| grid.unit != 0.0).for_each(|(l, grid)| *l = grid.code(*l));
}

#[cfg(test)]
mod tests;
