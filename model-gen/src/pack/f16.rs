//! Conversion to the f16 engine: weights rounded to f16, everything small in f32.

use super::topology::{Source, Tensors, embedding_scale, phase_steps};
use super::weights::Weights;
use crate::import::Checkpoint;
use crate::import::checkpoint::Matrix;
use anyhow::{Result, ensure};
use latimer::blob::layout::{NONE, TensorEntry};
use latimer::blob::tensor::dtype;

/// Converts every tensor in order; returns the table's entries.
pub fn convert(checkpoint: &Checkpoint, tensors: &Tensors, weights: &mut Weights) -> Result<Vec<TensorEntry>> {
    let scale = embedding_scale(&checkpoint.config) as f32;
    let mut entries = Vec::with_capacity(tensors.items.len());
    for item in &tensors.items {
        let mut entry = TensorEntry {
            role: item.role as u8,
            block: item.block,
            scales: NONE,
            bias: NONE,
            ..TensorEntry::default()
        };
        match item.source {
            Source::Positions => {
                let steps = phase_steps(&checkpoint.config);
                (entry.dtype, entry.rows, entry.cols) = (dtype::STEPS, steps.len() as u32, 1);
                entry.data = weights.push(&steps);
            }
            Source::Norm(norm) => {
                (entry.dtype, entry.rows, entry.cols) = (dtype::NORM, norm.weight.len() as u32, 1);
                entry.in_bits = 32;
                entry.data = weights.push(&norm.weight);
                entry.bias = weights.push(&norm.bias);
            }
            Source::Vocabulary(matrix, bias) => {
                let role = format!("{:?}", item.role);
                matrix_entry(matrix, bias.unwrap_or_default(), &role, &mut entry, weights)?;
                entry.embed_scale = scale.to_bits();
            }
            Source::Linear(linear) => {
                let name = format!("{:?} of block {}", item.role, item.block);
                matrix_entry(&linear.weight, &linear.bias, &name, &mut entry, weights)?;
            }
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn matrix_entry(
    matrix: &Matrix,
    bias: &[f32],
    name: &str,
    entry: &mut TensorEntry,
    weights: &mut Weights,
) -> Result<()> {
    let halves: Vec<half::f16> = matrix.data.iter().map(|&w| half::f16::from_f32(w)).collect();
    let overflow = halves.iter().zip(&matrix.data).find(|(half, _)| !half.is_finite());
    if let Some((_, value)) = overflow {
        ensure!(false, "{name}: weight {value} is beyond f16's 65504; pack the int8 engine instead");
    }
    entry.dtype = dtype::F16;
    (entry.rows, entry.cols) = (matrix.rows as u32, matrix.cols as u32);
    entry.data = weights.push_matrix(matrix.rows, matrix.cols, bytemuck::cast_slice::<half::f16, u16>(&halves));
    entry.bias = weights.push_unless_zero(bias);
    Ok(())
}
