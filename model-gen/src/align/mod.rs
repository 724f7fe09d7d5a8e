//! Word alignment: which source token each target token stands for, learned from pairs alone.
//!
//! IBM model 1 (Brown et al., "The Mathematics of Statistical Machine Translation" (1993), section 4.1) with the prior
//! over positions of Dyer et al., "A Simple, Fast, and Effective Reparameterization of IBM Model 2" (2013), `fast_align`:
//! links near the diagonal are likelier, and one number, learned too, says by how much. Expectation maximization, with the
//! variational M-step of that tool, which keeps rare source tokens from claiming whatever stands nearby.
//!
//! The order of sums is fixed by the pairs, not by the threads: the same pairs give the same bits.

mod prior;
mod table;

use prior::Prior;
use rayon::prelude::*;

pub use table::Lexicon;

/// Parts that a pass over the pairs is cut into, whatever the number of threads.
const PARTS: usize = 4;
/// Passes of model 1 alone, and passes with the prior over positions.
const PASSES: [usize; 2] = [2, 5];

/// Passes over the pairs that [`Aligner::learn`] makes.
pub const ALL_PASSES: usize = PASSES[0] + PASSES[1];

/// Token ids of a source and of its translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Ids of the source, of any kind: pieces or words.
    pub source: Vec<u16>,
    /// Ids of the target.
    pub target: Vec<u16>,
}

/// A target token's link: how likely it stands for a source token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Position in the target.
    pub target: usize,
    /// Position in the source; `None` for the target token that stands for nothing there.
    pub source: Option<usize>,
    /// Posterior probability; those of a target position sum to 1.
    pub probability: f32,
}

/// Lexical probabilities and the prior over positions.
#[derive(Clone, Debug)]
pub struct Aligner {
    lexicon: Lexicon,
    prior: Prior,
}

/// What a pass over some of the pairs counts.
#[derive(Default)]
struct Counts {
    /// Expected links of each entry of the lexicon.
    links: Vec<f64>,
    /// Expected distance from the diagonal, summed over links that are to a source token, and their number.
    distance: f64,
    linked: f64,
    /// The distance that the prior itself expects for as many.
    expected: f64,
}

impl Aligner {
    /// Learns from pairs; `done` is called after each of [`ALL_PASSES`] passes.
    pub fn learn(pairs: &[Pair], done: impl Fn()) -> Self {
        let mut aligner = Aligner { lexicon: Lexicon::of(pairs), prior: Prior::flat() };
        for (stage, passes) in PASSES.into_iter().enumerate() {
            if stage == 1 {
                aligner.prior = Prior::diagonal();
            }
            for _ in 0..passes {
                let counts = aligner.count(pairs);
                aligner.lexicon.maximize(&counts.links);
                if stage == 1 {
                    aligner.prior.adapt(counts.distance, counts.expected, counts.linked);
                }
                done();
            }
        }
        aligner
    }

    /// Lexical probabilities.
    pub const fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Every possible link of a pair, target positions in order and for each "nothing" last.
    pub fn posteriors(&self, pair: &Pair) -> Vec<Link> {
        let mut links = Vec::with_capacity((pair.source.len() + 1) * pair.target.len());
        self.visit(pair, |target, source, probability, _| {
            links.push(Link { target, source, probability: probability as f32 });
        });
        links
    }

    /// The likeliest link of each target position; of equal ones the first source token's.
    pub fn links(&self, pair: &Pair) -> Vec<Link> {
        let mut best: Vec<Link> = Vec::with_capacity(pair.target.len());
        for link in self.posteriors(pair) {
            match best.get_mut(link.target) {
                Some(best) if link.probability > best.probability => *best = link,
                Some(_) => {}
                None => best.push(link),
            }
        }
        best
    }

    /// Calls `link` with target position, source position, posterior and index in the lexicon.
    fn visit(&self, pair: &Pair, mut link: impl FnMut(usize, Option<usize>, f64, Option<usize>)) {
        let (Pair { source, target }, mut weights) = (pair, Vec::with_capacity(pair.source.len() + 1));
        for (j, &id) in target.iter().enumerate() {
            weights.clear();
            let prior = self.prior.row(j, source.len(), target.len());
            let tokens = source.iter().copied().map(Some).chain([None]);
            for (token, prior) in tokens.zip(prior) {
                let place = self.lexicon.place(token, id);
                weights.push((place, prior * place.map_or(0.0, |place| self.lexicon.at(place))));
            }
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
            let null = weights.len() - 1;
            for (i, &(place, weight)) in weights.iter().enumerate() {
                // A token that was never seen beside any of these stands for nothing known.
                let posterior = if total > 0.0 { weight / total } else { f64::from(i == null) };
                link(j, (i != null).then_some(i), posterior, place);
            }
        }
    }

    /// The expectation step.
    fn count(&self, pairs: &[Pair]) -> Counts {
        let part = pairs.len().div_ceil(PARTS).max(1);
        let parts: Vec<Counts> = pairs.par_chunks(part).map(|pairs| self.count_part(pairs)).collect();
        let mut all = Counts { links: vec![0.0; self.lexicon.len()], ..Counts::default() };
        for part in parts {
            all.links.iter_mut().zip(&part.links).for_each(|(all, part)| *all += part);
            all.distance += part.distance;
            all.linked += part.linked;
            all.expected += part.expected;
        }
        all
    }

    fn count_part(&self, pairs: &[Pair]) -> Counts {
        let mut counts = Counts { links: vec![0.0; self.lexicon.len()], ..Counts::default() };
        for pair in pairs {
            let (m, n) = (pair.source.len(), pair.target.len());
            let mut linked = vec![0.0; n];
            self.visit(pair, |j, i, posterior, place| {
                if let Some(place) = place {
                    counts.links[place] += posterior;
                }
                if let Some(i) = i {
                    counts.distance += posterior * Prior::distance(i, j, m, n);
                    linked[j] += posterior;
                }
            });
            for (j, linked) in linked.into_iter().enumerate() {
                counts.linked += linked;
                counts.expected += linked * self.prior.expected_distance(j, m, n);
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests;
