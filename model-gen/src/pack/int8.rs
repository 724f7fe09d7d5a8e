//! Tensors of the int8 engine: quantized matrices, and formats from bounds.

use super::Options;
use super::bounds::{Bound, fraction_bits};
use super::quantized::Quantized;
use super::topology::{Source, Tensors, embedding_scale, phase_steps};
use super::weights::Weights;
use crate::import::checkpoint::LayerNorm;
use crate::quantize::{QuantizedMatrix, Width};
use anyhow::{Context, Result, bail};
use latimer::blob::layout::{NONE, Role, TensorEntry};
use latimer::blob::sums_fit;
use latimer::blob::tensor::dtype;
use latimer::kernel::Packing;

/// Fraction bits of a linear's i32 output, where its range allows.
const OUT_FRAC: i8 = 16;
/// Fraction bits of beta in a norm.
const BETA_FRAC: i32 = 16;

/// The most bits, up to `wanted`, with which a sum of `cols` products is proven to fit an i32.
pub fn provable_bits(wanted: u8, packing: Packing, cols: u32) -> Result<u8> {
    let fits = (8..=wanted).rev().find(|&bits| sums_fit(packing, cols, bits));
    fits.with_context(|| format!("a matrix of {cols} columns is too wide: sums of its products could overflow 32 bits"))
}

/// What an input quantizer of `bits` bits counts to.
pub fn steps_of(bits: u8) -> f64 {
    f64::from((1u32 << (bits - 1)) - 1)
}

/// Element type and group length of a width.
pub fn dtype_of(width: Width) -> (u8, u8) {
    match width {
        Width::Int8 => (dtype::I8, 0),
        Width::Int8Groups(group) => (dtype::I8_GROUPS, group),
        Width::Int4(group) => (dtype::I4, group),
    }
}

/// How weights of a width lie.
pub fn packing_of(width: Width) -> Packing {
    match width {
        Width::Int8 => Packing::Int8,
        Width::Int8Groups(group) => Packing::Int8Groups(group.into()),
        Width::Int4(group) => Packing::Int4(group.into()),
    }
}

/// Every tensor in order as entries of the table. `tensors` are those of the quantized model's own checkpoint.
pub fn entries(
    quantized: &Quantized,
    tensors: &Tensors,
    options: &Options,
    weights: &mut Weights,
) -> Result<Vec<TensorEntry>> {
    let settings = &options.settings;
    let checkpoint = &quantized.checkpoint;
    let scale = embedding_scale(&checkpoint.config);
    let source = Bound::of_embedding(&checkpoint.source_embedding, scale);
    let target = Bound::of_embedding(&checkpoint.target_embedding, scale);
    let memory = checkpoint.encoder.last().map_or(source, |layer| Bound::of_norm(&layer.final_layer_norm));
    let mut bounds = BlockBounds { hidden: source, memory, pending: source };
    let encoders = checkpoint.encoder.len();
    let mut entries = Vec::with_capacity(tensors.items.len());
    for (index, item) in tensors.items.iter().enumerate() {
        let mut entry = TensorEntry { role: item.role as u8, block: item.block, ..blank() };
        let mut matrix = |bias: &[f32], input, entry: &mut TensorEntry| -> Result<()> {
            let matrix = &quantized.matrices[&index];
            (entry.dtype, entry.group) = dtype_of(matrix.width);
            let (wanted, cols) = (settings.bits.of(item.role), matrix.weights.cols);
            entry.in_bits = provable_bits(wanted, packing_of(matrix.width), cols as u32)?;
            // Not every number of columns has that form.
            let pairs = options.dsp_pairs && entry.in_bits == 8 && Packing::Int8Pairs.block_len(cols).is_some();
            if pairs && matrix.width == Width::Int8 {
                entry.dtype = dtype::I8_PAIRS;
            }
            matrix_entry(matrix, bias, input, entry, weights);
            Ok(())
        };
        match item.source {
            Source::Positions => {
                let steps = phase_steps(&checkpoint.config);
                (entry.dtype, entry.rows, entry.cols) = (dtype::STEPS, steps.len() as u32, 1);
                entry.data = weights.push(&steps);
            }
            Source::Norm(norm) => {
                norm_entry(norm, &mut entry, weights)
                    .with_context(|| format!("block {}, {:?}", item.block, item.role))?;
                bounds.hidden = Bound::of_norm(norm);
            }
            Source::Vocabulary(table, bias) => {
                let last = checkpoint.decoder.last().map_or(target, |layer| Bound::of_norm(&layer.final_layer_norm));
                let zeros = vec![0.0; table.rows];
                matrix(bias.unwrap_or(&zeros), last, &mut entry)?;
                embedding_entry(Bound::of_embedding(table, scale), scale, &mut entry);
            }
            Source::Linear(linear) => {
                if item.role == Role::SelfQ && item.block as usize == encoders {
                    bounds.hidden = target;
                }
                let input = bounds.input(item.role);
                matrix(&linear.bias, input, &mut entry)?;
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
    quantized: &QuantizedMatrix,
    bias: &[f32],
    input: Bound,
    entry: &mut TensorEntry,
    weights: &mut Weights,
) {
    let matrix = &quantized.weights;
    let frac = fraction_bits(input.through_rows(matrix, bias).element, 31, OUT_FRAC);
    let bias: Vec<i32> = bias.iter().map(|&b| (b as f64 * 2f64.powi(frac as i32)).round() as i32).collect();
    (entry.rows, entry.cols) = (matrix.rows as u32, matrix.cols as u32);
    let packing = if entry.dtype == dtype::I8_PAIRS { Packing::Int8Pairs } else { packing_of(quantized.width) };
    entry.data = weights.push_packed(packing, matrix.rows, matrix.cols, &quantized.codes, &quantized.group_scales);
    entry.scales = weights.push(&quantized.scales.mantissas);
    entry.bias = weights.push_unless_zero(&bias);
    (entry.scale_shift, entry.out_frac) = (quantized.scales.shift as i8, frac);
}

/// How a row becomes a hidden state: `weight * row scale * steps * sqrt(d_model)`.
fn embedding_entry(largest: Bound, scale: f64, entry: &mut TensorEntry) {
    let factor = steps_of(entry.in_bits) * scale * 2f64.powi(-(entry.scale_shift as i32));
    let shift = 30 - factor.log2().floor() as i32;
    entry.embed_scale = (factor * 2f64.powi(shift)).round().min(2f64.powi(31) - 1.0) as u32;
    entry.embed_shift = shift as i8;
    entry.embed_frac = fraction_bits(largest.element, 15, 14);
}

/// Gamma in 16 bits, beta in Q16, the output in the widest format that its bound leaves.
fn norm_entry(norm: &LayerNorm, entry: &mut TensorEntry, weights: &mut Weights) -> Result<()> {
    if let Some(beta) = norm.bias.iter().find(|beta| beta.abs() >= 255.99) {
        bail!("layer norm with a bias of {beta}: the int8 engine takes less than 256; pack with --engine f16");
    }
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
    Ok(())
}
