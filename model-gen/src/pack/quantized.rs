//! The quantized model: a grid of codes for every matrix, and the float model that the runtime will see.

use super::Progress;
use super::int8::{dtype_of, provable_bits, steps_of};
use super::topology::{Source, Tensors};
use crate::import::Checkpoint;
use crate::quantize::{QuantizedMatrix, Quantizer};
use crate::reference::Site;
use crate::tune::layout::{Layout, MatrixAt};
use crate::tune::{Grid, tune};
use anyhow::Result;
use std::collections::BTreeMap;

/// A quantized model.
pub struct Quantized {
    /// The matrices by their index in the blob's table.
    pub matrices: BTreeMap<usize, QuantizedMatrix>,
    /// Weights as the runtime sees them, and the biases and norms that go with them.
    pub checkpoint: Checkpoint,
}

/// A matrix of the table among the parameters.
struct Place {
    index: usize,
    at: MatrixAt,
}

/// Quantizes every matrix, then tunes them all where the settings say so.
pub fn quantized(
    original: &Checkpoint,
    checkpoint: &Checkpoint,
    quantizer: &Quantizer,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Quantized> {
    let tensors = Tensors::of(checkpoint);
    let (layout, weights) = Layout::of(checkpoint);
    let sites = layout.linears();
    let (mut values, mut places, mut matrices) = (weights.clone(), Vec::new(), BTreeMap::new());
    let total = tensors.items.len();
    for (index, item) in tensors.items.iter().enumerate() {
        let settings = quantizer.settings();
        let steps = |cols: usize| -> Result<f64> {
            let (dtype, _) = dtype_of(settings.width(index));
            Ok(steps_of(provable_bits(settings.bits.of(item.role), dtype, cols as u32)?))
        };
        let (at, matrix) = match item.source {
            Source::Positions | Source::Norm(_) => continue,
            Source::Vocabulary(matrix, _) => {
                let usage = tensors.usage(index);
                let at = match usage {
                    _ if usage.output => layout.output.weight,
                    _ if usage.target => layout.target_embedding,
                    _ => layout.source_embedding,
                };
                (at, quantizer.vocabulary(index, usage, matrix, steps(matrix.cols)?)?)
            }
            Source::Linear(linear) => {
                let site = Site::new(item.block, item.role);
                let (matrix, bias) = quantizer.linear(index, site, linear, steps(linear.weight.cols)?)?;
                let at = sites[&site];
                values[at.bias()].copy_from_slice(&bias);
                (at.weight, matrix)
            }
        };
        values[at.range()].copy_from_slice(&matrix.weights.data);
        places.push(Place { index, at });
        matrices.insert(index, matrix);
        watch(Progress { step: "quantizing", done: index + 1, total });
    }
    if let Some(schedule) = quantizer.settings().tuning {
        let (mut latents, grid) = latents(&weights, &values, &places, &matrices);
        let progress = |done, _| watch(Progress { step: "tuning", done, total: schedule.steps });
        tune(original, &mut latents, &grid, quantizer.sentences(), schedule, quantizer.seed(), progress);
        values = latents.iter().zip(&grid).map(|(latent, grid)| grid.value(*latent)).collect();
        for place in &places {
            let matrix = matrices.get_mut(&place.index).expect("made above");
            matrix.codes = latents[place.at.range()].iter().map(|code| *code as i8).collect();
            matrix.weights.data.copy_from_slice(&values[place.at.range()]);
        }
    }
    let mut checkpoint = checkpoint.clone();
    Layout::write(&values, &mut checkpoint);
    Ok(Quantized { matrices, checkpoint })
}

/// Where tuning begins: at the codes found so far, inclined to the side where the weight lies.
fn latents(
    weights: &[f32],
    values: &[f32],
    places: &[Place],
    matrices: &BTreeMap<usize, QuantizedMatrix>,
) -> (Vec<f32>, Vec<Grid>) {
    let (mut latents, mut grid) = (values.to_vec(), vec![Grid::default(); values.len()]);
    for Place { index, at } in places {
        let matrix = &matrices[index];
        for (i, &code) in matrix.codes.iter().enumerate() {
            let (row, col) = (i / at.cols, i % at.cols);
            let unit = matrix.unit(row, col) as f32;
            let (low, high) = matrix.width.codes();
            let weight = weights[at.at + i] / unit;
            latents[at.at + i] = f32::from(code) + (weight - f32::from(code)).clamp(-0.49, 0.49);
            grid[at.at + i] = Grid { unit, low, high };
        }
    }
    (latents, grid)
}
