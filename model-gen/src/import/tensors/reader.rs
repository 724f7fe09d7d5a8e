//! Takes tensors out of the file by key, as f32, and keeps the list of what does not fit.

use std::collections::BTreeSet;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use crate::import::config::Config;
use crate::import::positions::sinusoid;

/// How far a stored position may lie from the sinusoid: f16 storage errs by 5e-4, a learned table by far more.
const POSITION_TOLERANCE: f32 = 1e-3;

pub(super) struct Reader<'a> {
    tensors: SafeTensors<'a>,
    asked: BTreeSet<String>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tensors: SafeTensors<'a>) -> Self {
        Self { tensors, asked: BTreeSet::new(), problems: Vec::new() }
    }

    pub(super) fn problem(&mut self, key: &str, what: &str) {
        self.problems.push(format!("{key}: {what}"));
    }

    pub(super) fn contains(&self, key: &str) -> bool {
        self.tensors.tensor(key).is_ok()
    }

    /// The tensor's values; empty, with a problem noted, if it is not there or does not fit.
    pub(super) fn required(&mut self, key: &str, wanted: &[usize]) -> Vec<f32> {
        if !self.contains(key) {
            self.problem(key, &format!("found nothing, wanted shape {wanted:?}"));
        }
        self.optional(key, wanted).unwrap_or_default()
    }

    /// The tensor's values; none if it is not there, or (with a problem noted) does not fit.
    pub(super) fn optional(&mut self, key: &str, wanted: &[usize]) -> Option<Vec<f32>> {
        let view = self.tensors.tensor(key).ok()?;
        self.asked.insert(key.to_owned());
        if view.shape() != wanted {
            let what = format!("found shape {:?}, wanted {wanted:?}", view.shape());
            self.problem(key, &what);
            return None;
        }
        let Some(values) = floats(view.dtype(), view.data()) else {
            let what = format!("found {:?} values, wanted F32, F16 or BF16", view.dtype());
            self.problem(key, &what);
            return None;
        };
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let what = format!("found {} at index {index}, wanted finite values", values[index]);
            self.problem(key, &what);
            return None;
        }
        Some(values)
    }

    /// Positions are computed, not stored: a table in the file must be the one that is computed.
    pub(super) fn check_positions(&mut self, key: &str, config: &Config) {
        let d_model = config.d_model;
        let Some(table) = self.optional(key, &[config.max_position_embeddings, d_model]) else { return };
        for (position, row) in table.chunks_exact(d_model).enumerate() {
            let wanted = sinusoid(position, d_model);
            if let Some(i) = row.iter().zip(&wanted).position(|(a, b)| (a - b).abs() > POSITION_TOLERANCE) {
                let what = format!(
                    "found {} at position {position}, element {i}, wanted {} as a sinusoid has it; learned positions are not supported",
                    row[i], wanted[i]
                );
                return self.problem(key, &what);
            }
        }
    }

    /// All problems, tensors that nobody asked for last.
    pub(super) fn finish(mut self) -> Vec<String> {
        let mut rest: Vec<_> =
            self.tensors.tensors().into_iter().filter(|(key, _)| !self.asked.contains(key)).collect();
        rest.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (key, view) in rest {
            self.problems.push(format!("{key}: found shape {:?}, wanted no such tensor", view.shape()));
        }
        self.problems
    }
}

/// Little-endian values as f32; none for a type that holds no plain float.
fn floats(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    let halves = || bytes.as_chunks::<2>().0.iter();
    Some(match dtype {
        Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        Dtype::F16 => halves().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        Dtype::BF16 => halves().map(|b| bf16::from_le_bytes(*b).to_f32()).collect(),
        _ => return None,
    })
}
