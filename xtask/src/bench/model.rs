//! What the model itself asks for: multiply-accumulates of a phrase, bytes of weights, and where they lie in a firmware.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use latimer::Model;
use latimer::blob::layout::{Role, SectionKind};
use latimer::blob::tensor::dtype;
use model_gen::aligned::AlignedBytes;
use object::{Object, ObjectSection};

/// Addresses of the weights section of `blob`, if that is linked into `elf`: firmware of kernels alone has none.
pub fn weights(elf: &Path, blob: &Path) -> Result<Option<Range<u64>>> {
    let bytes = AlignedBytes::read(blob).with_context(|| format!("cannot read `{}`", blob.display()))?;
    let model = Model::from_bytes(&bytes)?;
    let section = model.blob().container().section(SectionKind::Weights).context("no weights")?;
    let data = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
    let file = object::File::parse(&*data)?;
    for part in file.sections().filter(|part| part.size() >= section.len() as u64) {
        let found = part.data()?.windows(section.len()).step_by(4).position(|window| window == section);
        if let Some(index) = found {
            let start = part.address() + 4 * index as u64;
            return Ok(Some(start..start + section.len() as u64));
        }
    }
    Ok(None)
}

/// Multiply-accumulates, and the fewest bytes of weights that must be read, for a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Products of weights and activations, of queries and keys, of softmax weights and values.
    pub macs: u64,
    /// Each matrix of the encoder and each projection of cross-attention keys and values once, each of the decoder once
    /// a step, embedding rows once a token: weights, scales and biases.
    pub weight_bytes: u64,
}

/// What a phrase of `source` and `target` tokens asks of `blob`.
pub fn work(blob: &Path, source: u64, target: u64) -> Result<Work> {
    let bytes = AlignedBytes::read(blob).with_context(|| format!("cannot read `{}`", blob.display()))?;
    let model = Model::from_bytes(&bytes)?;
    let (spec, header) = (model.blob().spec(), model.blob().spec().header());
    let (d, encoders) = (spec.d_model() as u64, spec.encoder_blocks() as u16);
    let mut work = Work { macs: 0, weight_bytes: 0 };
    for (index, tensor) in model.blob().tensors().enumerate() {
        let entry = tensor.entry();
        let (elements, bytes) = ((tensor.rows() * tensor.cols()) as u64, tensor.flash_bytes() as u64);
        let role = Role::ALL.into_iter().find(|role| *role as u8 == entry.role).context("an unknown role")?;
        let is_cross_kv = matches!(role, Role::CrossK | Role::CrossV);
        let index = index as u32;
        match role {
            Role::Embedding | Role::Output => {
                // One tensor may be all three.
                if index == header.output {
                    work.macs += elements * target;
                    work.weight_bytes += bytes * target;
                }
                let row = bytes / tensor.rows().max(1) as u64;
                work.weight_bytes += u64::from(index == header.source_embedding) * row * source;
                work.weight_bytes += u64::from(index == header.target_embedding) * row * target;
            }
            Role::Positions => work.weight_bytes += bytes,
            _ => {
                let in_encoder = entry.block < encoders;
                let (tokens, passes) = if in_encoder || is_cross_kv { (source, 1) } else { (target, target) };
                work.weight_bytes += bytes * passes;
                if entry.dtype != dtype::NORM {
                    work.macs += elements * tokens;
                }
                work.macs += match role {
                    Role::SelfQ if in_encoder => 2 * d * source * source,
                    // Each step sees itself and those before.
                    Role::SelfQ => d * target * (target + 1),
                    Role::CrossQ => 2 * d * source * target,
                    _ => 0,
                };
            }
        }
    }
    Ok(work)
}
