//! How well the blob's weights stand for the checkpoint's: the noise of rounding, and what the scales clip.

use super::{decibels, site_name};
use crate::import::Checkpoint;
use crate::import::checkpoint::Matrix;
use half::f16;
use latimer::Model;
use latimer::blob::Tensor;
use latimer::blob::layout::{Role, SectionKind};
use latimer::blob::tensor::dtype;
use latimer::kernel::{Packing, pack_order, padded_len};
use serde::Serialize;

/// A weight further out than this share of the limit beyond it is clipped; below, it is the limit's own rounding.
const TOLERANCE: f32 = 1e-6;
/// Largest magnitude of an 8-bit weight.
const I8_STEPS: f32 = 127.0;
/// Largest magnitude of a 4-bit weight that both signs have.
const I4_STEPS: f32 = 7.0;

/// One matrix of the blob beside the checkpoint's.
#[derive(Clone, Debug, Serialize)]
pub struct WeightFit {
    /// `encoder.L.role`, `decoder.L.role` (layers from 1), `embedding`, `output`.
    pub tensor: String,
    /// Output features or vocabulary rows.
    pub rows: usize,
    /// Input features.
    pub cols: usize,
    /// Bytes of flash, scales and bias included.
    pub bytes: usize,
    /// Signal to quantization noise of the weights: `10 log10(sum w^2 / sum (w - v)^2)`. Infinite, in JSON null, where
    /// nothing differs.
    pub sqnr_db: f64,
    /// What the scales clip, where there are scales.
    pub clipping: Option<Clipping>,
}

/// Weights against the largest value that their scale can stand for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Clipping {
    /// Largest ratio of a weight's magnitude to its limit.
    pub largest_over_limit: f64,
    /// Weights beyond their limit.
    pub clipped: usize,
}

/// A blob's matrix in the checkpoint's own terms.
pub(super) struct Dequantized {
    /// The values the engine computes with.
    weights: Matrix,
    /// Of formats with scales.
    limits: Option<Limits>,
}

/// The largest magnitude that weights of a group can have.
struct Limits {
    /// Consecutive columns of a row that share a scale.
    group: usize,
    /// One a group, row by row.
    values: Vec<f32>,
}

impl Limits {
    fn of(&self, row: usize, col: usize, cols: usize) -> f32 {
        let groups = cols.div_ceil(self.group);
        self.values[row * groups + col / self.group]
    }
}

/// Every format of weights is read here and nowhere else. `None` for vectors.
pub(super) fn dequantize(model: &Model<'_>, tensor: &Tensor<'_>) -> Option<Dequantized> {
    let section = model.blob().container().section(SectionKind::Weights)?;
    let (entry, rows, cols) = (tensor.entry(), tensor.rows(), tensor.cols());
    let part = |offset: u32| section.get(offset as usize..);
    match entry.dtype {
        dtype::I8 | dtype::I8_PAIRS | dtype::I8_GROUPS | dtype::I4 => {
            // The activation quantizer's division by its steps is folded into the scales.
            let steps = f64::from((1u32 << (entry.in_bits - 1)) - 1) * 2f64.powi(-i32::from(entry.scale_shift));
            let (scales, _) = part(entry.scales)?.get(..2 * rows)?.as_chunks::<2>();
            let units: Vec<f32> = scales.iter().map(|s| (f64::from(u16::from_le_bytes(*s)) * steps) as f32).collect();
            let mut weights = Matrix::zeros(rows, cols);
            for (row, unit) in units.iter().enumerate() {
                let values = (0..cols).map(|col| tensor.weight(row, col) as f32 * unit);
                weights.data.splice(row * cols..(row + 1) * cols, values);
            }
            let limits = if matches!(entry.dtype, dtype::I8 | dtype::I8_PAIRS) {
                Limits { group: cols, values: units.iter().map(|unit| I8_STEPS * unit).collect() }
            } else {
                let group = usize::from(entry.group).max(1);
                let packing = tensor.packing()?;
                let most = if let Packing::Int4(_) = packing { I4_STEPS } else { I8_STEPS };
                let places = (0..rows).flat_map(|row| (0..cols).step_by(group).map(move |col| (row, col)));
                let scale = |(row, col)| Some(packing.scale(*tensor.packed().get(packing.scale_at(cols, row, col)?)?));
                let scales: Vec<i32> = places.map(scale).collect::<Option<_>>()?;
                let units = units.iter().flat_map(|unit| std::iter::repeat_n(*unit, cols.div_ceil(group)));
                let values = scales.iter().zip(units).map(|(scale, unit)| most * *scale as f32 * unit);
                Limits { group, values: values.collect() }
            };
            Some(Dequantized { weights, limits: Some(limits) })
        }
        dtype::F16 => {
            let (halves, _) = part(entry.data)?.get(..2 * padded_len(rows, cols)?)?.as_chunks::<2>();
            let (mut halves, mut weights) = (halves.iter(), Matrix::zeros(rows, cols));
            pack_order(rows, cols, |at| {
                if let (Some((row, col)), Some(half)) = (at, halves.next()) {
                    weights.data[row * cols + col] = f16::from_le_bytes(*half).to_f32();
                }
            });
            Some(Dequantized { weights, limits: None })
        }
        _ => None,
    }
}

/// Every matrix of the blob, in the order of its table. The blob fits the checkpoint.
pub(super) fn fits(model: &Model<'_>, checkpoint: &Checkpoint) -> Vec<WeightFit> {
    let fit = |(index, tensor): (usize, Tensor<'_>)| {
        let wanted = original(model, checkpoint, index as u32, &tensor)?;
        Some(fit(name(model, index as u32, &tensor), wanted, &tensor, &dequantize(model, &tensor)?))
    };
    model.blob().tensors().enumerate().filter_map(fit).collect()
}

fn fit(name: String, wanted: &Matrix, tensor: &Tensor<'_>, found: &Dequantized) -> WeightFit {
    let (rows, cols) = (tensor.rows(), tensor.cols());
    let (mut signal, mut noise) = (0f64, 0f64);
    for (wanted, found) in wanted.data.iter().zip(&found.weights.data) {
        let (wanted, found) = (f64::from(*wanted), f64::from(*found));
        signal += wanted * wanted;
        noise += (wanted - found) * (wanted - found);
    }
    let clipping = found.limits.as_ref().map(|limits| {
        let mut clipping = Clipping { largest_over_limit: 0.0, clipped: 0 };
        for (row, weights) in wanted.iter_rows().enumerate() {
            for (col, weight) in weights.iter().enumerate() {
                let (weight, limit) = (weight.abs(), limits.of(row, col, cols));
                if limit > 0.0 {
                    clipping.largest_over_limit = clipping.largest_over_limit.max(f64::from(weight / limit));
                }
                clipping.clipped += usize::from(weight > limit * (1.0 + TOLERANCE));
            }
        }
        clipping
    });
    WeightFit { tensor: name, rows, cols, bytes: tensor.flash_bytes(), sqnr_db: decibels(signal, noise), clipping }
}

fn name(model: &Model<'_>, index: u32, tensor: &Tensor<'_>) -> String {
    let (spec, entry) = (model.blob().spec(), tensor.entry());
    let header = spec.header();
    if entry.block != u16::MAX {
        return Role::ALL
            .get(usize::from(entry.role))
            .map_or_else(String::new, |role| site_name(spec.encoder_blocks(), entry.block, *role));
    }
    let name = if index == header.source_embedding && index == header.target_embedding {
        "embedding"
    } else if index == header.source_embedding {
        "source_embedding"
    } else if index == header.target_embedding {
        "target_embedding"
    } else {
        "output"
    };
    name.to_owned()
}

/// The checkpoint's matrix that entry `index` stands for.
fn original<'c>(model: &Model<'_>, checkpoint: &'c Checkpoint, index: u32, tensor: &Tensor<'_>) -> Option<&'c Matrix> {
    let (header, entry) = (model.blob().spec().header(), tensor.entry());
    let role = *Role::ALL.get(usize::from(entry.role))?;
    let block = usize::from(entry.block);
    match role {
        Role::Embedding | Role::Output if index == header.source_embedding => Some(&checkpoint.source_embedding),
        Role::Embedding | Role::Output if index == header.target_embedding => Some(&checkpoint.target_embedding),
        Role::Embedding | Role::Output => Some(&checkpoint.output),
        _ => {
            let decoder = block.checked_sub(checkpoint.encoder.len());
            let (own, cross, fc1, fc2) = match decoder {
                None => {
                    let layer = checkpoint.encoder.get(block)?;
                    (&layer.self_attn, None, &layer.fc1, &layer.fc2)
                }
                Some(decoder) => {
                    let layer = checkpoint.decoder.get(decoder)?;
                    (&layer.self_attn, Some(&layer.encoder_attn), &layer.fc1, &layer.fc2)
                }
            };
            let linear = match role {
                Role::SelfQ => &own.q_proj,
                Role::SelfK => &own.k_proj,
                Role::SelfV => &own.v_proj,
                Role::SelfOut => &own.out_proj,
                Role::CrossQ => &cross?.q_proj,
                Role::CrossK => &cross?.k_proj,
                Role::CrossV => &cross?.v_proj,
                Role::CrossOut => &cross?.out_proj,
                Role::Fc1 => fc1,
                Role::Fc2 => fc2,
                _ => return None,
            };
            Some(&linear.weight)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::AlignedBytes;
    use crate::import::load_checkpoint;
    use crate::pack::{Options, Width, pack};
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use latimer::EngineKind;

    #[test]
    fn weights_of_a_blob_are_near_those_it_was_packed_from() {
        let dir = tempfile::tempdir().unwrap();
        let spec = RandomSpec { target_vocab: Some(61), tied_output: false, ..RandomSpec::default() };
        write_random_checkpoint(dir.path(), &spec).unwrap();
        let checkpoint = load_checkpoint(dir.path()).unwrap();
        for (engine, least, most) in [(EngineKind::Int8, 35.0, 60.0), (EngineKind::F16, 65.0, 90.0)] {
            let blob = AlignedBytes::copy_of(&pack(dir.path(), &Options::new(engine)).unwrap().bytes);
            let model = Model::from_bytes(&blob).unwrap();
            let fits = fits(&model, &checkpoint);
            assert_eq!(fits.len(), 3 + 6 * spec.encoder_layers + 10 * spec.decoder_layers);
            assert_eq!(fits[1].tensor, "target_embedding");
            assert_eq!(fits.last().unwrap().tensor, "decoder.3.fc2");
            for fit in &fits {
                assert!((least..most).contains(&fit.sqnr_db), "{fit:?}");
                assert_eq!(fit.clipping.is_some(), engine == EngineKind::Int8);
                if let Some(clipping) = fit.clipping {
                    // The packer clips where that makes the error smaller, and never much.
                    assert!((0.99..1.25).contains(&clipping.largest_over_limit), "{fit:?}");
                }
            }
        }
    }

    /// The scales of groups lie where the format says: hardly a weight is beyond its own.
    #[test]
    fn weights_in_groups_are_read_with_their_scales() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let checkpoint = load_checkpoint(dir.path()).unwrap();
        for (width, least, most) in [(Width::Int8Groups(5), 38.0, 60.0), (Width::Int4(7), 16.0, 30.0)] {
            let mut options = Options::new(EngineKind::Int8);
            options.settings.width = width;
            let blob = AlignedBytes::copy_of(&pack(dir.path(), &options).unwrap().bytes);
            let model = Model::from_bytes(&blob).unwrap();
            for fit in fits(&model, &checkpoint) {
                let clipping = fit.clipping.unwrap();
                assert!((least..most).contains(&fit.sqnr_db), "{width}: {fit:?}");
                assert!((0.8..1.7).contains(&clipping.largest_over_limit), "{width}: {fit:?}");
                assert!(clipping.clipped * 5 < fit.rows * fit.cols, "{width}: {fit:?}");
            }
        }
    }

    #[test]
    fn what_lies_beyond_the_limits_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let blob = AlignedBytes::copy_of(&pack(dir.path(), &Options::new(EngineKind::Int8)).unwrap().bytes);
        let model = Model::from_bytes(&blob).unwrap();
        let mut checkpoint = load_checkpoint(dir.path()).unwrap();
        let clipping = |checkpoint: &Checkpoint| {
            let fits = fits(&model, checkpoint);
            fits.into_iter().find(|fit| fit.tensor == "encoder.1.fc1").unwrap().clipping.unwrap()
        };
        // None of the first weights is clipped as it is: they are not their row's largest.
        let weight = &mut checkpoint.encoder[0].fc1.weight;
        let largest = weight.row(0).iter().fold(0f32, |m, w| m.max(w.abs()));
        weight.data[..3].fill(0.0);
        let before = clipping(&checkpoint);
        checkpoint.encoder[0].fc1.weight.data[..2].copy_from_slice(&[-2.0 * largest, 1.5 * largest]);
        let after = clipping(&checkpoint);
        assert_eq!(after.clipped, before.clipped + 2);
        assert!((1.99..2.5).contains(&after.largest_over_limit), "{after:?}");
    }
}
