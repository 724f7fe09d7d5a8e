//! Takes tensors out of the files by key, as f32, and keeps the list of what does not fit.

use std::collections::{BTreeMap, BTreeSet};

use super::stored::Stored;
use crate::import::config::Config;

/// How far a stored position may lie from the sinusoid: bf16 storage errs by 2e-3, a learned table by far more.
const POSITION_TOLERANCE: f32 = 4e-3;

pub(in crate::import) struct Reader<'a> {
    tensors: BTreeMap<String, Stored<'a>>,
    asked: BTreeSet<String>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(in crate::import) fn new(tensors: BTreeMap<String, Stored<'a>>) -> Self {
        Self { tensors, asked: BTreeSet::new(), problems: Vec::new() }
    }

    pub(in crate::import) fn problem(&mut self, key: &str, what: &str) {
        self.problems.push(format!("{key}: {what}"));
    }

    pub(in crate::import) fn contains(&self, key: &str) -> bool {
        self.tensors.contains_key(key)
    }

    /// The tensor's values; empty, with a problem noted, if it is not there or does not fit.
    pub(in crate::import) fn required(&mut self, key: &str, wanted: &[usize]) -> Vec<f32> {
        if !self.contains(key) {
            self.problem(key, &format!("found nothing, wanted shape {wanted:?}"));
        }
        self.optional(key, wanted).unwrap_or_default()
    }

    /// The tensor's values; none if it is not there, or (with a problem noted) does not fit.
    pub(in crate::import) fn optional(&mut self, key: &str, wanted: &[usize]) -> Option<Vec<f32>> {
        let tensor = self.tensors.get(key)?;
        self.asked.insert(key.to_owned());
        if tensor.shape() != wanted {
            let what = format!("found shape {:?}, wanted {wanted:?}", tensor.shape());
            self.problem(key, &what);
            return None;
        }
        let Some(values) = tensor.values() else {
            let what = format!("found {} values, wanted F32, F16, BF16 or F64", tensor.element());
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
    pub(in crate::import) fn check_positions(&mut self, key: &str, config: &Config) {
        let d_model = config.d_model;
        let Some(table) = self.optional(key, &[config.max_position_embeddings, d_model]) else { return };
        for (position, row) in table.chunks_exact(d_model).enumerate() {
            let wanted = config.frequencies.sinusoid(position, d_model);
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
    pub(in crate::import) fn finish(mut self) -> Vec<String> {
        let rest = self.tensors.iter().filter(|(key, _)| !self.asked.contains(*key));
        self.problems.extend(
            rest.map(|(key, tensor)| format!("{key}: found shape {:?}, wanted no such tensor", tensor.shape())),
        );
        self.problems
    }
}
