//! Beam search as transformers 5 does it, whose figures this project's goldens are: every step looks at the best
//! `2 * beams` continuations of all beams. Those among the first `beams` that end become finished hypotheses, scored by
//! their sum of log-probabilities over their length to the power of the penalty; the best `beams` that do not end grow
//! on. Later finished hypotheses only displace worse ones. The search ends at the limit, or once `beams` are finished
//! and the best that grows, scored at its present length, is no better than the worst of them.

use super::math::log_softmax;
use super::{Decoder, Reference};

/// How wide and how long to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamOptions {
    /// Hypotheses that grow at a time.
    pub beams: usize,
    /// Power of the length that a sum of log-probabilities is divided by: more favours longer translations.
    pub length_penalty: f32,
    /// Ids at most, `</s>` included.
    pub max_tokens: usize,
}

/// A translation and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Target ids, with `</s>` if it came within the limit.
    pub ids: Vec<u32>,
    /// Sum of the ids' log-probabilities (nats) over `ids.len()` to the power of the length penalty.
    pub score: f32,
}

/// A hypothesis that grows: `ids` without the start token, the last of them not yet read by the decoder.
struct Beam<'c> {
    decoder: Decoder<'c>,
    ids: Vec<u32>,
    sum: f32,
}

#[derive(Clone, Copy)]
struct Continuation {
    beam: usize,
    id: u32,
    sum: f32,
}

impl Reference {
    /// The best hypothesis for the source `ids` (with `</s>`). Pad is never produced, yet keeps its share of the
    /// probabilities.
    pub fn beam_search(&self, ids: &[u32], options: &BeamOptions) -> Hypothesis {
        let config = &self.checkpoint.config;
        let states = self.encode(ids);
        let decoder = self.decoder(states.last().expect("the embedding is always there"));
        let mut beams = vec![Beam { decoder, ids: Vec::new(), sum: 0.0 }];
        let mut finished: Vec<Hypothesis> = Vec::new();
        for len in 1..=options.max_tokens {
            let score = |sum: f32| sum / (len as f32).powf(options.length_penalty);
            let best = self.best_continuations(&mut beams, 2 * options.beams);
            let ends = |c: &Continuation| c.id == config.eos_token_id || len == options.max_tokens;
            for end in best.iter().take(options.beams).filter(|c| ends(c)) {
                finished.push(Hypothesis { ids: extended(&beams[end.beam].ids, end.id), score: score(end.sum) });
            }
            // Stable: the earlier hypothesis stays before an equal one.
            finished.sort_by(|a, b| b.score.total_cmp(&a.score));
            finished.truncate(options.beams);

            let growing = best.iter().filter(|c| !ends(c)).take(options.beams);
            beams = growing.map(|c| beams[c.beam].grown(c)).collect();
            let worst = finished.get(options.beams.saturating_sub(1));
            let improvable = |beam: &Beam| worst.is_none_or(|worst| score(beam.sum) > worst.score);
            if !beams.first().is_some_and(improvable) {
                break;
            }
        }
        finished.into_iter().next().unwrap_or(Hypothesis { ids: Vec::new(), score: 0.0 })
    }

    /// The `count` best continuations, best first; of equal ones that of the earlier beam, then the lower id.
    fn best_continuations(&self, beams: &mut [Beam], count: usize) -> Vec<Continuation> {
        let config = &self.checkpoint.config;
        let mut best: Vec<Continuation> = Vec::with_capacity(count + 1);
        for (beam, Beam { decoder, ids, sum }) in beams.iter_mut().enumerate() {
            let previous = ids.last().copied().unwrap_or(config.decoder_start_token_id);
            let mut scores = decoder.step(previous).logits;
            log_softmax(&mut scores);
            scores[config.pad_token_id as usize] = f32::NEG_INFINITY;
            for (id, score) in (0..).zip(scores) {
                let sum = *sum + score;
                if best.len() == count && best.last().is_none_or(|last| sum <= last.sum) || sum == f32::NEG_INFINITY {
                    continue;
                }
                let place = best.partition_point(|other| other.sum >= sum);
                best.insert(place, Continuation { beam, id, sum });
                best.truncate(count);
            }
        }
        best
    }
}

impl<'c> Beam<'c> {
    fn grown(&self, continuation: &Continuation) -> Beam<'c> {
        Beam { decoder: self.decoder.clone(), ids: extended(&self.ids, continuation.id), sum: continuation.sum }
    }
}

fn extended(ids: &[u32], id: u32) -> Vec<u32> {
    ids.iter().copied().chain([id]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::load_checkpoint;
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use std::sync::Arc;

    fn reference() -> Reference {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        Reference::new(Arc::new(load_checkpoint(dir.path()).unwrap()))
    }

    fn sources() -> impl Iterator<Item = Vec<u32>> {
        (0..12).map(|n| (0..=n).map(|i| 2 + (7 * n + 11 * i) % 70).chain([0]).collect())
    }

    #[test]
    fn one_beam_without_a_length_penalty_is_greedy() {
        let reference = reference();
        let options = BeamOptions { beams: 1, length_penalty: 0.0, max_tokens: 15 };
        let mut ended = 0;
        for ids in sources() {
            let found = reference.beam_search(&ids, &options).ids;
            ended += usize::from(found.last() == Some(&0));
            assert_eq!(found, reference.greedy(&ids, 15));
        }
        assert!((1..12).contains(&ended), "{ended} ended");
    }

    #[test]
    fn the_score_is_that_of_the_ids() {
        let reference = reference();
        let options = BeamOptions { beams: 5, length_penalty: 0.7, max_tokens: 15 };
        for ids in sources() {
            let found = reference.beam_search(&ids, &options);
            let mut decoder = reference.decoder(reference.encode(&ids).last().unwrap());
            let (mut previous, mut sum) = (76, 0.0);
            for &id in &found.ids {
                let mut scores = decoder.step(previous).logits;
                log_softmax(&mut scores);
                sum += scores[id as usize];
                previous = id;
            }
            assert!(!found.ids.contains(&76), "pad");
            let wanted = sum / (found.ids.len() as f32).powf(0.7);
            assert!((found.score - wanted).abs() < 1e-4, "{found:?} {wanted}");
        }
    }
}
