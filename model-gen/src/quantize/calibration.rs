//! What the float model's linears see while it reads the calibration set: moments of every linear's input.

use super::Sentence;
use crate::reference::{Reference, Site, Tap};
use latimer::blob::layout::Role;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Sentences whose sums are made one after the other: the order of additions, and so every bit of the result, does not
/// depend on the number of threads.
const CHUNK: usize = 32;

/// First and second moments of a vector.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Vectors seen.
    pub count: f64,
    /// Sum of the vectors.
    sum: Vec<f64>,
    /// Sum of the outer products, row-major, the part right of the diagonal and on it.
    outer: Vec<f64>,
}

impl Moments {
    fn new(len: usize) -> Self {
        Self { count: 0.0, sum: vec![0.0; len], outer: vec![0.0; len * len] }
    }

    fn note(&mut self, x: &[f32]) {
        self.count += 1.0;
        self.sum.iter_mut().zip(x).for_each(|(sum, &x)| *sum += f64::from(x));
        for (i, row) in self.outer.chunks_exact_mut(x.len()).enumerate() {
            let factor = f64::from(x[i]);
            if factor != 0.0 {
                row[i..].iter_mut().zip(&x[i..]).for_each(|(sum, &x)| *sum += factor * f64::from(x));
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.iter_mut().zip(&other.sum).for_each(|(a, b)| *a += b);
        self.outer.iter_mut().zip(&other.outer).for_each(|(a, b)| *a += b);
    }

    /// As if each element of every vector had been divided by its factor.
    pub fn divide(&mut self, factors: &[f64]) {
        self.sum.iter_mut().zip(factors).for_each(|(sum, f)| *sum /= f);
        for (row, f) in self.outer.chunks_exact_mut(factors.len()).zip(factors) {
            row.iter_mut().zip(factors).for_each(|(sum, g)| *sum /= f * g);
        }
    }

    /// Elements of the vectors.
    #[expect(clippy::len_without_is_empty, reason = "a linear without inputs is refused on import")]
    pub fn len(&self) -> usize {
        self.sum.len()
    }

    /// Mean of each element.
    pub fn mean(&self) -> Vec<f64> {
        self.sum.iter().map(|sum| sum / self.count.max(1.0)).collect()
    }

    /// Mean of the products of elements `i` and `j`.
    pub fn product(&self, i: usize, j: usize) -> f64 {
        self.outer[i.min(j) * self.len() + i.max(j)] / self.count.max(1.0)
    }
}

/// Moments of every distinct input of a linear, and how often each id was read.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    moments: BTreeMap<Site, Moments>,
    source_counts: BTreeMap<u32, f64>,
    target_counts: BTreeMap<u32, f64>,
    source_tokens: f64,
    target_tokens: f64,
}

/// Linears that read the same vector share its moments.
fn shared(site: Site) -> Site {
    match site.role() {
        Role::SelfK | Role::SelfV => Site::new(site.block, Role::SelfQ),
        Role::CrossV => Site::new(site.block, Role::CrossK),
        _ => site,
    }
}

impl Tap for Calibration {
    fn input(&mut self, site: Site, x: &[f32]) {
        if shared(site) == site {
            self.moments.entry(site).or_insert_with(|| Moments::new(x.len())).note(x);
        }
    }
}

impl Calibration {
    /// Runs the model over every sentence, its target teacher-forced; `done` is called after each, from any thread.
    pub fn collect(reference: &Reference, sentences: &[Sentence], done: impl Fn() + Sync) -> Self {
        let parts: Vec<Self> = sentences
            .par_chunks(CHUNK)
            .map(|chunk| {
                let mut part = Self::default();
                for sentence in chunk {
                    part.read(reference, sentence);
                    done();
                }
                part
            })
            .collect();
        let mut whole = Self::default();
        parts.iter().for_each(|part| whole.add(part));
        whole
    }

    fn read(&mut self, reference: &Reference, sentence: &Sentence) {
        let states = reference.encode_tapped(&sentence.source, self);
        let mut decoder = reference.decoder_tapped(states.last().expect("the embedding is always there"), self);
        let mut previous = reference.checkpoint().config.decoder_start_token_id;
        for &id in &sentence.target {
            decoder.step_tapped(previous, self);
            *self.target_counts.entry(previous).or_default() += 1.0;
            self.target_tokens += 1.0;
            previous = id;
        }
        for &id in &sentence.source {
            *self.source_counts.entry(id).or_default() += 1.0;
            self.source_tokens += 1.0;
        }
    }

    fn add(&mut self, other: &Self) {
        for (site, moments) in &other.moments {
            self.moments.entry(*site).or_insert_with(|| Moments::new(moments.len())).add(moments);
        }
        for (sums, others) in
            [(&mut self.source_counts, &other.source_counts), (&mut self.target_counts, &other.target_counts)]
        {
            others.iter().for_each(|(id, count)| *sums.entry(*id).or_default() += count);
        }
        self.source_tokens += other.source_tokens;
        self.target_tokens += other.target_tokens;
    }

    /// Moments of the input of the linear at `site`.
    pub fn moments(&self, site: Site) -> Option<&Moments> {
        self.moments.get(&shared(site))
    }

    /// The same, to be changed with the weights.
    pub fn moments_mut(&mut self, site: Site) -> Option<&mut Moments> {
        self.moments.get_mut(&shared(site))
    }

    /// Share of the source tokens that are `id`.
    pub fn source_share(&self, id: u32) -> f64 {
        self.source_counts.get(&id).copied().unwrap_or(0.0) / self.source_tokens.max(1.0)
    }

    /// Share of the target tokens that are `id`.
    pub fn target_share(&self, id: u32) -> f64 {
        self.target_counts.get(&id).copied().unwrap_or(0.0) / self.target_tokens.max(1.0)
    }
}
