//! What the float model's linears see, and what their outputs do to the next-token distributions, while it reads the
//! calibration set.
//!
//! The cost of a small error `E` of a weight matrix is, in nats a token, half of `sum of (g^T E x)^2` over tokens, where
//! `x` is the input and `g` the derivative of the log-likelihood of a token drawn from the model's own distribution: the
//! Fisher information. Taken apart into moments of `x` and of `g` (Martens and Grosse 2015, "K-FAC") it is
//! `trace(G E A E^T)`.

use super::Sentence;
use super::moments::Moments;
use crate::derivative::algebra::Normed;
use crate::derivative::layout::{Layout, LinearAt, MatrixAt, NormAt};
use crate::derivative::network::{Network, Sink};
use crate::import::Checkpoint;
use crate::reference::{Site, softmax};
use crate::testing::SplitMix64;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Sentences whose sums are made one after the other: the order of additions, and so every bit of the result, does not
/// depend on the number of threads.
const CHUNK: usize = 64;

/// Squared derivatives of logits below this are left out of the rows' costs.
const LEAST: f32 = 1e-5;

/// Moments of a linear's input and of its output's derivatives.
#[derive(Clone, Debug)]
pub struct LinearMoments {
    /// `A`: of the input.
    pub input: Moments,
    /// `G`: of the derivatives.
    pub derivative: Moments,
}

/// What the output matrix and the embeddings see.
#[derive(Clone, Debug, Default)]
pub struct VocabularyMoments {
    /// Inputs of the output matrix, one after the other.
    pub states: Vec<f32>,
    /// For each row the inputs (by their place above) at which its logit matters, and how much.
    pub rows: BTreeMap<u32, Vec<(u32, f32)>>,
    /// How often each id was read, on the source side and on the target side.
    pub counts: [BTreeMap<u32, f64>; 2],
    /// Derivatives of the embeddings' rows, likewise.
    pub derivatives: [Option<Moments>; 2],
}

/// All that was seen.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    linears: BTreeMap<Site, LinearMoments>,
    /// See there.
    pub vocabulary: VocabularyMoments,
}

/// A part of a calibration, being made.
struct Part<'a> {
    sites: &'a BTreeMap<usize, Site>,
    seen: Calibration,
}

impl Sink for Part<'_> {
    fn linear(&mut self, at: LinearAt, x: &[f32], dy: &[f32]) {
        let MatrixAt { rows, cols, .. } = at.weight;
        let Some(site) = self.sites.get(&at.bias) else {
            return self.output(cols, rows, x, dy);
        };
        let moments = self
            .seen
            .linears
            .entry(*site)
            .or_insert_with(|| LinearMoments { input: Moments::new(cols), derivative: Moments::new(rows) });
        x.chunks_exact(cols).for_each(|x| moments.input.note(x));
        dy.chunks_exact(rows).for_each(|dy| moments.derivative.note(dy));
    }

    fn norm(&mut self, _: NormAt, _: &Normed, _: &[f32]) {}

    fn embedding(&mut self, at: MatrixAt, of_source: bool, ids: &[u32], drows: &[f32]) {
        let side = usize::from(!of_source);
        let seen = &mut self.seen.vocabulary;
        ids.iter().for_each(|id| *seen.counts[side].entry(*id).or_default() += 1.0);
        let moments = seen.derivatives[side].get_or_insert_with(|| Moments::new(at.cols));
        drows.chunks_exact(at.cols).for_each(|drow| moments.note(drow));
    }
}

impl Part<'_> {
    fn output(&mut self, cols: usize, rows: usize, x: &[f32], dy: &[f32]) {
        let seen = &mut self.seen.vocabulary;
        for (x, dy) in x.chunks_exact(cols).zip(dy.chunks_exact(rows)) {
            let place = (seen.states.len() / cols) as u32;
            seen.states.extend_from_slice(x);
            for (row, dy) in (0..).zip(dy) {
                if dy * dy > LEAST {
                    seen.rows.entry(row).or_default().push((place, dy * dy));
                }
            }
        }
    }
}

impl Calibration {
    /// Runs the model over every sentence, forwards and backwards; `done` is called after each, from any thread.
    pub fn collect(checkpoint: &Checkpoint, sentences: &[Sentence], seed: u64, done: impl Fn() + Sync) -> Self {
        let (layout, p) = Layout::of(checkpoint);
        let network = Network { config: &checkpoint.config, layout: &layout };
        let sites: BTreeMap<usize, Site> = layout.linears().into_iter().map(|(site, at)| (at.bias, site)).collect();
        let rows = layout.output.weight.rows;
        let parts: Vec<Self> = sentences
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, sentences)| {
                let mut random = SplitMix64::new(seed ^ (chunk as u64) << 32);
                let mut part = Part { sites: &sites, seen: Self::default() };
                for sentence in sentences {
                    let mut pass = network.forward(&p, sentence);
                    let mut derivative = std::mem::take(&mut pass.logits);
                    derivative.chunks_exact_mut(rows).for_each(|logits| draw(logits, &mut random));
                    network.backward(&p, &mut part, &pass, &derivative);
                    done();
                }
                part.seen
            })
            .collect();
        let mut whole = Self::default();
        parts.into_iter().for_each(|part| whole.add(part, layout.output.weight.cols));
        whole
    }

    fn add(&mut self, other: Self, cols: usize) {
        for (site, moments) in other.linears {
            match self.linears.get_mut(&site) {
                Some(sum) => {
                    sum.input.add(&moments.input);
                    sum.derivative.add(&moments.derivative);
                }
                None => drop(self.linears.insert(site, moments)),
            }
        }
        let (sum, more) = (&mut self.vocabulary, other.vocabulary);
        let first = (sum.states.len() / cols) as u32;
        sum.states.extend_from_slice(&more.states);
        for (row, places) in more.rows {
            sum.rows.entry(row).or_default().extend(places.into_iter().map(|(place, weight)| (first + place, weight)));
        }
        for (sums, counts) in sum.counts.iter_mut().zip(more.counts) {
            counts.into_iter().for_each(|(id, count)| *sums.entry(id).or_default() += count);
        }
        for (sum, moments) in sum.derivatives.iter_mut().zip(more.derivatives) {
            match (sum.as_mut(), moments) {
                (Some(sum), Some(moments)) => sum.add(&moments),
                (None, moments) => *sum = moments,
                _ => {}
            }
        }
    }

    /// Moments of the linear at `site`.
    pub fn linear(&self, site: Site) -> Option<&LinearMoments> {
        self.linears.get(&site)
    }

    /// The same, to be changed with the weights.
    pub fn linear_mut(&mut self, site: Site) -> Option<&mut LinearMoments> {
        self.linears.get_mut(&site)
    }
}

/// Logits become the derivative of the negative log-likelihood of a token drawn from their own distribution.
fn draw(logits: &mut [f32], random: &mut SplitMix64) {
    softmax(logits);
    let mut left = (random.next_u64() >> 40) as f32 / (1u64 << 24) as f32;
    let drawn = logits.iter().position(|p| {
        left -= p;
        left < 0.0
    });
    if let Some(p) = drawn.and_then(|drawn| logits.get_mut(drawn)) {
        *p -= 1.0;
    }
}
