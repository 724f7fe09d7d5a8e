//! Fitting a model into flash: which matrices can do with 4 bits, by what each costs where it alone is quantized.
//!
//! Costs of single matrices add up, as errors that have nothing to do with each other do: the widths that free enough
//! bytes at the least sum are found by taking, step by step, the change that costs least a byte.

use super::Progress;
use super::int8::packing_of;
use super::quantized::{Quantized, places, quantized};
use super::topology::{Source, Tensors};
use crate::derivative::layout::Layout;
use crate::derivative::network::{Network, divergence};
use crate::import::Checkpoint;
use crate::quantize::{Quantizer, Sentence, Width};
use anyhow::{Result, bail};
use rayon::prelude::*;
use std::fmt;

/// Narrower widths that are tried, beside the recipe's own.
const NARROWER: [Width; 3] = [Width::Int4(16), Width::Int4(32), Width::Int4(64)];

/// One matrix at one width.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// How its weights would be stored.
    pub width: Width,
    /// Bytes of its weights.
    pub bytes: usize,
    /// Mean divergence of the next-token distributions, in nats a token, where it alone is quantized.
    pub cost: f64,
}

/// One matrix and what was chosen for it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Index in the blob's table.
    pub index: usize,
    /// What it is: `Fc1 of block 0`, `Embedding`.
    pub name: String,
    /// What was tried, widest first.
    pub candidates: Vec<Candidate>,
    /// Which of them was taken.
    pub chosen: usize,
}

impl Choice {
    fn taken(&self) -> Candidate {
        self.candidates[self.chosen]
    }

    /// The narrower candidate that costs least a byte saved.
    fn next(&self) -> Option<(usize, f64)> {
        let now = self.taken();
        let narrower = self.candidates.iter().enumerate().skip(self.chosen + 1).filter(|(_, c)| c.bytes < now.bytes);
        let price = |c: &Candidate| (c.cost - now.cost).max(0.0) / (now.bytes - c.bytes) as f64;
        narrower.map(|(i, c)| (i, price(c))).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// The table that widths were chosen from.
#[derive(Clone, Debug)]
pub struct Fit {
    /// One a matrix, in the order of the blob's table.
    pub choices: Vec<Choice>,
    /// Bytes of the blob that are not weights of matrices.
    pub rest: usize,
}

impl Fit {
    /// Bytes of the blob.
    pub fn bytes(&self) -> usize {
        self.rest + self.choices.iter().map(|choice| choice.taken().bytes).sum::<usize>()
    }

    /// Sum of what the chosen widths cost, in nats a token.
    pub fn cost(&self) -> f64 {
        self.choices.iter().map(|choice| choice.taken().cost).sum()
    }

    /// Chooses narrower widths until the blob fits.
    fn shrink(&mut self, wanted: usize) -> Result<()> {
        while self.bytes() > wanted {
            let steps = self.choices.iter().enumerate().filter_map(|(i, choice)| Some((i, choice.next()?)));
            let cheapest = steps.min_by(|a, b| a.1.1.total_cmp(&b.1.1));
            let Some((i, (candidate, _))) = cheapest else {
                bail!(
                    "--fit-flash {wanted}: with 4 bits for every weight the blob still takes {} bytes; give at least that",
                    self.bytes()
                );
            };
            self.choices[i].chosen = candidate;
        }
        Ok(())
    }
}

/// `tensor, width, bytes, cost` a line, what was taken marked.
impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22}", "cost in nats a token")?;
        let widths = self.choices.first().into_iter().flat_map(|choice| &choice.candidates);
        widths.clone().try_for_each(|c| write!(f, "{:>22}", c.width.to_string()))?;
        writeln!(f)?;
        for choice in &self.choices {
            write!(f, "{:<22}", choice.name)?;
            for (i, candidate) in choice.candidates.iter().enumerate() {
                let mark = if i == choice.chosen { "*" } else { " " };
                write!(f, "{:>9} B {:>9.2e}{mark}", candidate.bytes, candidate.cost)?;
            }
            writeln!(f)?;
        }
        writeln!(f, "* taken: {} bytes, cost {:.2e}", self.bytes(), self.cost())
    }
}

/// Bytes of a matrix's weights.
fn weight_bytes(width: Width, rows: usize, cols: usize) -> usize {
    let bytes = packing_of(width).matrix_len(rows, cols);
    bytes.expect("the matrix is in memory").next_multiple_of(4)
}

/// Chooses widths so that the blob takes at most `wanted` bytes, by what they cost on `sentences`. `size` is the blob's
/// with the quantizer's own widths.
pub fn fit(
    checkpoint: &Checkpoint,
    quantizer: &Quantizer,
    sentences: &[Sentence],
    wanted: usize,
    own: Quantized,
    size: usize,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<(Fit, Quantized)> {
    let mut models = vec![own];
    for width in NARROWER {
        models.push(quantized(checkpoint, &quantizer.clone().with_width(width), watch)?);
    }
    let (layout, float) = Layout::of(checkpoint);
    let network = Network { config: &checkpoint.config, layout: &layout };
    let vocabulary = layout.output.weight.rows;
    let logits: Vec<Vec<f32>> = sentences.par_iter().map(|s| network.forward(&float, s).logits).collect();
    let cost = |values: &[f32]| -> f64 {
        let parts = sentences.par_iter().zip(&logits).map(|(sentence, wanted)| {
            let mut found = network.forward(values, sentence).logits;
            divergence(wanted, &mut found, vocabulary)
        });
        // In the order of the sentences, whatever the number of threads.
        let parts: Vec<f64> = parts.collect();
        parts.iter().sum::<f64>() / (logits.iter().map(Vec::len).sum::<usize>() / vocabulary).max(1) as f64
    };

    let values: Vec<Vec<f32>> = models.iter().map(|model| Layout::of(&model.checkpoint).1).collect();
    let places = places(&layout, &Tensors::of(checkpoint));
    let mut choices = Vec::new();
    let mut tried = float.clone();
    for (done, (index, ranges)) in places.iter().enumerate() {
        let candidates = models.iter().zip(&values).map(|(model, values)| {
            let matrix = &model.matrices[index];
            ranges.iter().for_each(|range| tried[range.clone()].copy_from_slice(&values[range.clone()]));
            let cost = cost(&tried);
            ranges.iter().for_each(|range| tried[range.clone()].copy_from_slice(&float[range.clone()]));
            let bytes = weight_bytes(matrix.width, matrix.weights.rows, matrix.weights.cols);
            Candidate { width: matrix.width, bytes, cost }
        });
        let candidates = candidates.collect();
        choices.push(Choice { index: *index, name: name(checkpoint, *index), candidates, chosen: 0 });
        watch(Progress { step: "measuring", done: done + 1, total: places.len() });
    }
    let taken = choices.iter().map(|choice| choice.taken().bytes).sum::<usize>();
    let mut fit = Fit { choices, rest: size.saturating_sub(taken) };
    fit.shrink(wanted)?;

    let mut chosen = float;
    let mut matrices = std::collections::BTreeMap::new();
    for (choice, ranges) in fit.choices.iter().zip(places.values()) {
        let values = &values[choice.chosen];
        ranges.iter().for_each(|range| chosen[range.clone()].copy_from_slice(&values[range.clone()]));
        matrices.insert(choice.index, models[choice.chosen].matrices[&choice.index].clone());
    }
    let mut checkpoint = checkpoint.clone();
    Layout::write(&chosen, &mut checkpoint);
    Ok((fit, Quantized { matrices, checkpoint }))
}

fn name(checkpoint: &Checkpoint, index: usize) -> String {
    let item = Tensors::of(checkpoint).items[index];
    match item.source {
        Source::Vocabulary(..) => format!("{:?}", item.role),
        _ => format!("{:?} of block {}", item.role, item.block),
    }
}
