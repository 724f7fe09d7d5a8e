//! What errors in a row of an embedding or of the output matrix cost.

use super::Usage;
use super::calibration::VocabularyMoments;
use super::hessian::Hessian;
use anyhow::Result;

/// A cost for each row.
pub struct Vocabulary<'a> {
    seen: &'a VocabularyMoments,
    usage: Usage,
    cols: usize,
    /// Of the logits, the mean over rows; of the source's and the target's embeddings, for one token.
    shared: [Option<(f64, Hessian)>; 3],
}

impl<'a> Vocabulary<'a> {
    /// `share` of the mean cost goes into every row's.
    pub fn new(seen: &'a VocabularyMoments, usage: Usage, cols: usize, share: f64) -> Result<Self> {
        let mut output = None;
        if usage.output {
            // The weight of all rows at each place.
            let mut weights = vec![0.0; seen.states.len() / cols];
            for (place, weight) in seen.rows.values().flatten() {
                weights[*place as usize] += f64::from(*weight);
            }
            let places = weights.into_iter().zip(seen.states.chunks_exact(cols));
            let rows = seen.rows.len().max(1) as f64;
            output = Some((share / rows, Hessian::sum(cols, &[], places)?));
        }
        let derivative = |side: usize, used: bool| -> Result<Option<(f64, Hessian)>> {
            let moments = seen.derivatives[side].as_ref().filter(|_| used);
            moments.map(|moments| Ok((1.0, Hessian::of(moments, false)?))).transpose()
        };
        let shared = [output, derivative(0, usage.source)?, derivative(1, usage.target)?];
        Ok(Self { seen, usage, cols, shared })
    }

    /// The cost of errors in row `id`.
    pub fn row(&self, id: u32) -> Result<Hessian> {
        let count = |side: usize| self.seen.counts[side].get(&id).copied().unwrap_or(0.0);
        // An id that was never read is read now and then all the same.
        let weights = [1.0, count(0).max(0.1), count(1).max(0.1)];
        let forms: Vec<(f64, &Hessian)> = self
            .shared
            .iter()
            .zip(weights)
            .filter_map(|(shared, weight)| shared.as_ref().map(|(share, form)| (share * weight, form)))
            .collect();
        let places = self.seen.rows.get(&id).filter(|_| self.usage.output).into_iter().flatten();
        let states = places
            .map(|(place, weight)| (f64::from(*weight), &self.seen.states[*place as usize * self.cols..][..self.cols]));
        Hessian::sum(self.cols, &forms, states)
    }
}
