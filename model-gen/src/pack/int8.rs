//! Quantization to the int8 engine: symmetric rows, formats from bounds.

use super::bounds::{Bound, fraction_bits};
use super::topology::{Source, Tensors, embedding_scale, phase_steps};
use super::weights::Weights;
use crate::import::Checkpoint;
use crate::import::checkpoint::{LayerNorm, Matrix};
use anyhow::{Result, ensure};
use latimer::blob::layout::{NONE, Role, TensorEntry};
use latimer::blob::tensor::dtype;
use std::fmt;

/// Largest magnitude of a quantized weight.
const WEIGHT_STEPS: f64 = 127.0;
/// Fraction bits of a linear's i32 output, where its range allows.
const OUT_FRAC: i8 = 16;
/// Fraction bits of beta in a norm.
const BETA_FRAC: i32 = 16;

/// Bits of the dynamically quantized input of each kind of linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputBits {
    /// Query, key and value projections.
    pub qkv: u8,
    /// Output projections of attention.
    pub out: u8,
    /// First feed-forward linear.
    pub fc1: u8,
    /// Second feed-forward linear.
    pub fc2: u8,
    /// Output matrix.
    pub logits: u8,
}

impl Default for InputBits {
    fn default() -> Self {
        InputBits { qkv: 8, out: 8, fc1: 8, fc2: 8, logits: 8 }
    }
}

impl fmt::Display for InputBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputBits { qkv, out, fc1, fc2, logits } = self;
        write!(f, "{qkv}/{out}/{fc1}/{fc2}/{logits} (qkv/out/fc1/fc2/logits)")
    }
}

impl InputBits {
    fn of(&self, role: Role) -> u8 {
        match role {
            Role::SelfOut | Role::CrossOut => self.out,
            Role::Fc1 => self.fc1,
            Role::Fc2 => self.fc2,
            Role::Embedding | Role::Output => self.logits,
            _ => self.qkv,
        }
    }
}

/// The most bits, up to `wanted`, with which a sum of `cols` products is proven to fit an i32.
fn provable_bits(wanted: u8, cols: usize) -> u8 {
    (8..=wanted).rev().find(|bits| cols as u64 * 128 * ((1 << (bits - 1)) - 1) < 1 << 31).unwrap_or(8)
}

/// Quantizes every tensor in order; returns the table's entries.
pub fn quantize(
    checkpoint: &Checkpoint,
    tensors: &Tensors,
    bits: &InputBits,
    weights: &mut Weights,
) -> Result<Vec<TensorEntry>> {
    let scale = embedding_scale(&checkpoint.config);
    let source = Bound::of_embedding(&checkpoint.source_embedding, scale);
    let target = Bound::of_embedding(&checkpoint.target_embedding, scale);
    let memory = checkpoint.encoder.last().map_or(source, |layer| Bound::of_norm(&layer.final_layer_norm));
    let mut bounds = BlockBounds { hidden: source, memory, pending: source };
    let encoders = checkpoint.encoder.len();
    let mut entries = Vec::with_capacity(tensors.items.len());
    for item in &tensors.items {
        let mut entry = TensorEntry { role: item.role as u8, block: item.block, ..blank() };
        match item.source {
            Source::Positions => {
                let steps = phase_steps(&checkpoint.config);
                (entry.dtype, entry.rows, entry.cols) = (dtype::STEPS, steps.len() as u32, 1);
                entry.data = weights.push(&steps);
            }
            Source::Norm(norm) => {
                norm_entry(norm, &mut entry, weights);
                bounds.hidden = Bound::of_norm(norm);
            }
            Source::Vocabulary(matrix, bias) => {
                let largest = Bound::of_embedding(matrix, scale);
                let last = checkpoint.decoder.last().map_or(target, |layer| Bound::of_norm(&layer.final_layer_norm));
                let zeros = vec![0.0; matrix.rows];
                let bias = bias.unwrap_or(&zeros);
                matrix_entry(matrix, bias, bits.of(item.role), last, &mut entry, weights)?;
                embedding_entry(largest, scale, &mut entry);
            }
            Source::Linear(linear) => {
                if item.role == Role::SelfQ && item.block as usize == encoders {
                    bounds.hidden = target;
                }
                let input = bounds.input(item.role);
                matrix_entry(&linear.weight, &linear.bias, bits.of(item.role), input, &mut entry, weights)?;
                bounds.after(item.role, input.through(linear));
            }
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn blank() -> TensorEntry {
    TensorEntry { scales: NONE, bias: NONE, ..TensorEntry::default() }
}

/// Follows the range of the data through a block.
struct BlockBounds {
    /// The residual stream.
    hidden: Bound,
    /// The encoder's output.
    memory: Bound,
    /// Values of an attention, or the output of fc1: a context is a mean of values, an activation never enlarges.
    pending: Bound,
}

impl BlockBounds {
    fn input(&self, role: Role) -> Bound {
        match role {
            Role::CrossK | Role::CrossV => self.memory,
            Role::SelfOut | Role::CrossOut | Role::Fc2 => self.pending,
            _ => self.hidden,
        }
    }

    fn after(&mut self, role: Role, output: Bound) {
        if matches!(role, Role::SelfV | Role::CrossV | Role::Fc1) {
            self.pending = output;
        }
    }
}

/// Weights, row scales, bias and formats of a matrix.
fn matrix_entry(
    matrix: &Matrix,
    bias: &[f32],
    wanted_bits: u8,
    input: Bound,
    entry: &mut TensorEntry,
    weights: &mut Weights,
) -> Result<()> {
    let bits = provable_bits(wanted_bits, matrix.cols);
    ensure!(
        matrix.cols as u64 * 128 * 127 < 1 << 31,
        "a matrix of {} columns is too wide: its sums of 8-bit products could overflow 32 bits",
        matrix.cols
    );
    let steps = ((1u32 << (bits - 1)) - 1) as f64;
    let (scales, shift) = row_scales(matrix, steps);
    let mut quantized = Vec::with_capacity(matrix.data.len());
    for (row, &scale) in matrix.iter_rows().zip(&scales) {
        let unit = scale as f64 * 2f64.powi(-shift) * steps;
        quantized.extend(row.iter().map(|&w| (w as f64 / unit).round().clamp(-WEIGHT_STEPS, WEIGHT_STEPS) as i8));
    }
    let frac = fraction_bits(input.through_rows(matrix, bias).element, 31, OUT_FRAC);
    let bias: Vec<i32> = bias.iter().map(|&b| (b as f64 * 2f64.powi(frac as i32)).round() as i32).collect();
    entry.dtype = dtype::I8;
    (entry.rows, entry.cols) = (matrix.rows as u32, matrix.cols as u32);
    entry.data = weights.push_matrix(matrix.rows, matrix.cols, &quantized);
    entry.scales = weights.push(&scales);
    entry.bias = weights.push_unless_zero(&bias);
    (entry.in_bits, entry.scale_shift, entry.out_frac) = (bits, shift as i8, frac);
    Ok(())
}

/// Row scales as 16-bit mantissas with one shift, each rounded up so that no weight exceeds 127 steps; the quantizer's
/// division by `steps` is folded in.
fn row_scales(matrix: &Matrix, steps: f64) -> (Vec<u16>, i32) {
    let ideal: Vec<f64> = matrix
        .iter_rows()
        .map(|row| row.iter().fold(0f64, |m, &w| m.max(w.abs() as f64)) / WEIGHT_STEPS / steps)
        .collect();
    let largest = ideal.iter().fold(0f64, |m, &s| m.max(s)).max(2f64.powi(-100));
    let shift = ((65_535.0 / largest).log2().floor() as i32).clamp(-100, 100);
    let mantissas = ideal.iter().map(|&s| (s * 2f64.powi(shift)).ceil().clamp(1.0, 65_535.0) as u16).collect();
    (mantissas, shift)
}

/// How a row becomes a hidden state: `weight * row scale * steps * sqrt(d_model)`.
fn embedding_entry(largest: Bound, scale: f64, entry: &mut TensorEntry) {
    let steps = ((1u32 << (entry.in_bits - 1)) - 1) as f64;
    let factor = steps * scale * 2f64.powi(-(entry.scale_shift as i32));
    let shift = 30 - factor.log2().floor() as i32;
    entry.embed_scale = (factor * 2f64.powi(shift)).round().min(2f64.powi(31) - 1.0) as u32;
    entry.embed_shift = shift as i8;
    entry.embed_frac = fraction_bits(largest.element, 15, 14);
}

/// Gamma in 16 bits, beta in Q16, the output in the widest format that its bound leaves.
fn norm_entry(norm: &LayerNorm, entry: &mut TensorEntry, weights: &mut Weights) {
    let largest = norm.weight.iter().fold(0f64, |m, &g| m.max(g.abs() as f64));
    let gamma_frac = fraction_bits(largest, 15, 15).max(0);
    let gamma: Vec<i16> = norm
        .weight
        .iter()
        .map(|&g| (g as f64 * 2f64.powi(gamma_frac as i32)).round().clamp(-32767.0, 32767.0) as i16)
        .collect();
    let beta: Vec<i32> = norm.bias.iter().map(|&b| (b as f64 * 2f64.powi(BETA_FRAC)).round() as i32).collect();
    entry.dtype = dtype::NORM;
    (entry.rows, entry.cols, entry.in_bits) = (gamma.len() as u32, 1, 16);
    entry.data = weights.push(&gamma);
    entry.bias = weights.push(&beta);
    entry.scale_shift = gamma_frac;
    entry.out_frac = fraction_bits(Bound::of_norm(norm).element, 15, 14);
}
