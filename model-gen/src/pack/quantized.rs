//! The quantized model: a grid of codes for every matrix, and the float model that the runtime will see.

use super::Progress;
use super::int8::{packing_of, provable_bits, steps_of};
use super::topology::{Source, Tensors};
use crate::derivative::layout::Layout;
use crate::import::Checkpoint;
use crate::quantize::{QuantizedMatrix, Quantizer};
use crate::reference::Site;
use anyhow::Result;
use std::collections::BTreeMap;
use std::ops::Range;

/// A quantized model.
pub struct Quantized {
    /// The matrices by their index in the blob's table.
    pub matrices: BTreeMap<usize, QuantizedMatrix>,
    /// Weights as the runtime sees them, and the biases and norms that go with them.
    pub checkpoint: Checkpoint,
}

/// Where each matrix of the table, and the bias that goes with it, lies among the parameters.
pub fn places(layout: &Layout, tensors: &Tensors) -> BTreeMap<usize, Vec<Range<usize>>> {
    let sites = layout.linears();
    let items = tensors.items.iter().enumerate();
    let places = items.filter_map(|(index, item)| match item.source {
        Source::Positions | Source::Norm(_) => None,
        Source::Vocabulary(..) => {
            let usage = tensors.usage(index);
            let at = match usage {
                _ if usage.output => layout.output.weight,
                _ if usage.target => layout.target_embedding,
                _ => layout.source_embedding,
            };
            Some((index, vec![at.range()]))
        }
        Source::Linear(_) => {
            let at = sites[&Site::new(item.block, item.role)];
            Some((index, vec![at.weight.range(), at.bias()]))
        }
    });
    places.collect()
}

/// Quantizes every matrix.
pub fn quantized(
    checkpoint: &Checkpoint,
    quantizer: &Quantizer,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Quantized> {
    let tensors = Tensors::of(checkpoint);
    let (layout, mut values) = Layout::of(checkpoint);
    let places = places(&layout, &tensors);
    let mut matrices = BTreeMap::new();
    let total = tensors.items.len();
    for (index, item) in tensors.items.iter().enumerate() {
        let settings = quantizer.settings();
        let steps = |cols: usize| -> Result<f64> {
            Ok(steps_of(provable_bits(settings.bits.of(item.role), packing_of(settings.width), cols as u32)?))
        };
        let Some(ranges) = places.get(&index) else { continue };
        let matrix = match item.source {
            Source::Vocabulary(matrix, _) => quantizer.vocabulary(tensors.usage(index), matrix, steps(matrix.cols)?)?,
            Source::Linear(linear) => {
                let site = Site::new(item.block, item.role);
                let (matrix, bias) = quantizer.linear(site, linear, steps(linear.weight.cols)?)?;
                values[ranges[1].clone()].copy_from_slice(&bias);
                matrix
            }
            Source::Positions | Source::Norm(_) => continue,
        };
        values[ranges[0].clone()].copy_from_slice(&matrix.weights.data);
        matrices.insert(index, matrix);
        watch(Progress { step: "quantizing", done: index + 1, total });
    }
    let mut checkpoint = checkpoint.clone();
    Layout::write(&values, &mut checkpoint);
    Ok(Quantized { matrices, checkpoint })
}
