//! Beam search in fixed point: the bits agree on every machine, whatever the engine.
//!
//! Each step looks at the best `2 * beams` continuations of all beams, but for tokens that are less likely than the best of
//! their beam by 14 nats. Those among the first `beams` that end become
//! finished hypotheses, scored by their sum of log-probabilities over their length to the power of the length penalty; the
//! best `beams` that do not end grow on. The search ends at the limit, or once `beams` are finished and the best that grows,
//! scored at its present length, is no better than the worst of them. This is what transformers' `generate` does, but that
//! nothing ends with the first token: only an empty text has an empty translation.

use crate::arena::{Carver, MAX_BEAMS};
use crate::error::Error;
use crate::num::log2::LOG2_E;
use crate::num::{exp2_neg, exp2_parts, high_product, ln, pow, round_shift, saturate_i32};
use crate::observe::Logits;
use bytemuck::{Pod, Zeroable};
use core::cmp::Ordering;

/// Tokens whose logits are lower than the highest by more, nats in Q16, have less than a millionth of its probability: they are
/// neither summed nor chosen.
const FAR: i32 = 14 << 16;
/// Fraction bits of a finished hypothesis' score.
const SCORE_FRAC: u32 = 24;

/// A token of a hypothesis that grew.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Node {
    /// Beam of the token before.
    parent: u16,
    id: u16,
}

/// One of the best tokens of a beam.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Choice {
    /// Its logit, Q16.
    logit: i32,
    id: u32,
}

/// A finished hypothesis.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Finished {
    /// Q24.
    score: i64,
    /// Tokens, the last included.
    len: u16,
    /// Beam of the token before the last.
    parent: u16,
    /// The last.
    id: u16,
    pad: u16,
}

/// Bytes that a search by so many beams and steps remembers; nothing for one beam.
pub(crate) const fn book_bytes(beams: usize, steps: usize) -> usize {
    if beams < 2 {
        return 0;
    }
    (beams * steps * size_of::<Node>()).next_multiple_of(16)
        + (2 * beams * beams * size_of::<Choice>()).next_multiple_of(16)
        + (beams * size_of::<Finished>()).next_multiple_of(16)
}

/// A hypothesis that grows.
#[derive(Clone, Copy, Debug)]
struct Live {
    /// Sum of its tokens' log-probabilities, nats in Q16.
    sum: i32,
    /// Its last token.
    id: u16,
    /// Where its keys and values lie.
    place: u8,
    /// How many of the best next tokens are known, and their highest logit.
    choice_count: u8,
    allowed: i32,
    /// The highest logit, of a token that may not be chosen too, and the sum of all relative to that, Q30.
    highest: i32,
    total: u64,
}

impl Live {
    const fn new(sum: i32, id: u16, place: u8) -> Self {
        Live { sum, id, place, choice_count: 0, allowed: i32::MIN, highest: i32::MIN, total: 0 }
    }
}

/// How long a search may be, and what it may choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub beams: usize,
    /// Tokens at most.
    pub steps: usize,
    /// Q16.
    pub length_penalty: u32,
    pub start: u16,
    pub eos: u16,
    pub pad: u16,
}

/// A search.
pub(crate) struct BeamSearch<'b> {
    rules: Rules,
    nodes: &'b mut [Node],
    choices: &'b mut [Choice],
    finished: &'b mut [Finished],
    finished_count: usize,
    live: [Live; MAX_BEAMS],
    live_count: usize,
    step: usize,
}

/// Keys and values of one place that go to another.
pub(crate) type Fork = (u8, u8);

impl<'b> BeamSearch<'b> {
    /// A search with the start token as its one hypothesis.
    pub fn new(book: &'b mut [u8], rules: Rules) -> Result<Self, Error> {
        let beams = rules.beams;
        let mut carver = Carver::new(book);
        let live = [Live::new(0, rules.start, 0); MAX_BEAMS];
        Ok(BeamSearch {
            nodes: carver.take(beams * rules.steps)?,
            choices: carver.take(2 * beams * beams)?,
            finished: carver.take(beams)?,
            finished_count: 0,
            live,
            live_count: 1,
            step: 0,
            rules,
        })
    }

    /// A search that has ended, by its book and the number of its finished hypotheses.
    pub fn reopened(book: &'b mut [u8], rules: Rules, finished: usize) -> Result<Self, Error> {
        Ok(BeamSearch { finished_count: finished, ..Self::new(book, rules)? })
    }

    /// Hypotheses that have finished.
    pub const fn count(&self) -> usize {
        self.finished_count
    }

    /// Tokens that the decoder reads next, and the places of their keys and values.
    pub fn next(&self) -> impl ExactSizeIterator<Item = (u16, u8)> {
        self.live.iter().take(self.live_count).map(|live| (live.id, live.place))
    }

    /// Logits of the ids from `first` on that follow a hypothesis; they come in order.
    pub fn offer(&mut self, beam: usize, first: usize, logits: Logits<'_>) {
        match logits {
            Logits::Fixed { values, frac } => {
                let shift = frac as i32 - 16;
                let to_q16 = |v| saturate_i32(round_shift(v as i64, shift));
                self.offer_each(beam, first, values, to_q16, |q16| saturate_i32(round_shift(q16 as i64, -shift)));
            }
            #[cfg(feature = "f16")]
            Logits::Float(values) => {
                self.offer_each(beam, first, values, |v| (v * 65536.0) as i32, |q16| q16 as f32 / 65536.0);
            }
            #[cfg(not(feature = "f16"))]
            Logits::Float(_) => {}
        }
    }

    #[inline(always)]
    fn offer_each<T: Copy + PartialOrd>(
        &mut self,
        beam: usize,
        first: usize,
        values: &[T],
        to_q16: impl Fn(T) -> i32,
        of_q16: impl Fn(i32) -> T,
    ) {
        let most = 2 * self.rules.beams;
        let Some(live) = self.live.get_mut(beam) else { return };
        let Some(choices) = self.choices.get_mut(beam * most..(beam + 1) * most) else { return };
        let mut least = of_q16(live.allowed.saturating_sub(FAR));
        for (id, &value) in (first as u32..).zip(values) {
            // Most are too low to count, and no NaN does.
            if value.partial_cmp(&least).is_none_or(Ordering::is_lt) {
                continue;
            }
            let logit = to_q16(value);
            let below = live.highest.saturating_sub(logit);
            if below < 0 {
                live.total = scaled(live.total, to_log2(below.saturating_neg()));
                live.highest = logit;
            }
            if below <= FAR {
                let (part, down) = exp2_parts(to_log2(below.max(0)));
                live.total += u64::from(part >> down.min(31));
            }
            if id == self.rules.pad as u32 || (self.step == 0 && id == self.rules.eos as u32) {
                continue;
            }
            if logit > live.allowed {
                live.allowed = logit;
                least = of_q16(logit.saturating_sub(FAR));
            }
            let full = live.choice_count as usize == most;
            if full && choices.last().is_none_or(|last| last.logit >= logit) {
                continue;
            }
            let len = (live.choice_count as usize + usize::from(!full)).min(choices.len());
            live.choice_count = len as u8;
            let Some(choices) = choices.get_mut(..len) else { continue };
            // Ids come in order: behind those that are equal.
            let place = choices.iter().take(len.saturating_sub(1)).take_while(|choice| choice.logit >= logit).count();
            insert(choices.get_mut(place..).unwrap_or_default(), Choice { logit, id });
        }
    }

    /// Chooses among what was offered. Says which keys and values are to be copied, or that the search has ended.
    pub fn advance(&mut self, mut copy: impl FnMut(Fork)) -> bool {
        let Rules { beams, steps, length_penalty, eos, .. } = self.rules;
        let len = self.step + 1;
        let norm = pow(len as u32, length_penalty).max(1) as i64;
        let score = |sum: i32| ((sum as i64) << SCORE_FRAC) / norm;
        let old = self.live;
        let sums = old.map(|live| live.sum.saturating_sub(live.highest).saturating_sub(ln(live.total.max(1), 30)));
        let mut used = [0usize; MAX_BEAMS];
        let (mut grown, mut children) = (0, [false; MAX_BEAMS]);
        for rank in 0..2 * beams {
            // The best of each beam's best; of equal ones the earlier beam's.
            let mut best: Option<(i32, usize, u16)> = None;
            for (beam, (live, &used)) in old.iter().zip(&used).enumerate().take(self.live_count) {
                let Some(choice) =
                    self.choices.get(beam * 2 * beams + used).filter(|_| used < live.choice_count as usize)
                else {
                    continue;
                };
                let sum = sums.get(beam).map_or(i32::MIN, |sum| sum.saturating_add(choice.logit));
                if best.is_none_or(|(other, ..)| sum > other) {
                    best = Some((sum, beam, choice.id as u16));
                }
            }
            let Some((sum, beam, id)) = best else { break };
            if let Some(used) = used.get_mut(beam) {
                *used += 1;
            }
            let parent = beam as u16;
            if id == eos || len == steps {
                if rank < beams {
                    self.finish(Finished { score: score(sum), len: len as u16, parent, id, pad: 0 });
                }
            } else if grown < beams {
                if let Some(node) = self.nodes.get_mut(self.step * beams + grown) {
                    *node = Node { parent, id };
                }
                let place = old.get(beam).map_or(0, |live| live.place);
                if let Some(live) = self.live.get_mut(grown) {
                    *live = Live::new(sum, id, place);
                }
                if let Some(child) = children.get_mut(usize::from(place)) {
                    *child = true;
                }
                grown += 1;
            }
        }
        self.live_count = grown;
        self.step = len;
        let worst = self.finished.get(beams.saturating_sub(1)).filter(|_| self.finished_count == beams);
        let improvable = |live: &Live| worst.is_none_or(|worst| score(live.sum) > worst.score);
        if grown == 0 || !self.live.first().is_some_and(improvable) {
            return false;
        }
        // The first child of a hypothesis keeps its place; others get places that nobody keeps.
        let (mut taken, mut free) = ([false; MAX_BEAMS], 0u8);
        for live in self.live.iter_mut().take(grown) {
            let place = live.place;
            let Some(taken) = taken.get_mut(place as usize) else { continue };
            if !core::mem::replace(taken, true) {
                continue;
            }
            while children.get(free as usize).copied().unwrap_or(false) {
                free += 1;
            }
            live.place = free;
            copy((place, free));
            free += 1;
        }
        true
    }

    /// Remembers a hypothesis if it is one of the best, behind those that are equal.
    fn finish(&mut self, new: Finished) {
        let count = self.finished_count;
        let place = self.finished.iter().take(count).take_while(|other| other.score >= new.score).count();
        let len = (count + 1).min(self.finished.len());
        self.finished_count = len;
        insert(self.finished.get_mut(place..len).unwrap_or_default(), new);
    }

    /// Writes the ids of a finished hypothesis, the best being number zero; its length and its score, Q24.
    pub fn read(&self, number: usize, ids: &mut [u16]) -> Option<(usize, i64)> {
        let finished = self.finished.get(number).filter(|_| number < self.finished_count)?;
        let len = finished.len as usize;
        let ids = ids.get_mut(..len)?;
        let (last, before) = ids.split_last_mut()?;
        *last = finished.id;
        let mut beam = finished.parent as usize;
        for (step, id) in before.iter_mut().enumerate().rev() {
            let node = self.nodes.get(step * self.rules.beams + beam)?;
            (*id, beam) = (node.id, node.parent as usize);
        }
        Some((len, finished.score))
    }
}

/// Puts `new` first; the others move up, and the last falls out.
fn insert<T>(places: &mut [T], new: T) {
    let mut moving = new;
    places.iter_mut().for_each(|place| core::mem::swap(place, &mut moving));
}

/// Nats to powers of two, Q16; of less than 2^29.
fn to_log2(nats: i32) -> i32 {
    high_product(nats.min((1 << 29) - 1) << 2, LOG2_E)
}

/// A sum in Q30 times `2^-log`.
fn scaled(total: u64, log: i32) -> u64 {
    let factor = exp2_neg(log.saturating_neg()) as u64;
    // A sum has at most 2^16 terms of at most 2^30.
    (((total >> 32) * factor) << 2) + (((total & 0xffff_ffff) * factor) >> 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const VOCAB: usize = 9;
    const EOS: u16 = 0;
    const PAD: u16 = 8;

    /// Logits that follow a history, Q16: any, but the same for the same history.
    fn logits(seed: u64, history: &[u16]) -> Vec<i32> {
        let mix = |h: u64, v: u64| (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let state = history.iter().fold(seed | 1, |h, &id| mix(h, u64::from(id) + 1));
        (0..VOCAB as u64).map(|id| (mix(mix(state, id), 7) >> 44) as i32 - (1 << 19)).collect()
    }

    /// ln of the probability of `id` after `history`.
    fn log_probability(seed: u64, history: &[u16], id: u16) -> f64 {
        let logits: Vec<f64> = logits(seed, history).iter().map(|&v| f64::from(v) / 65536.0).collect();
        logits[id as usize] - logits.iter().map(|v| v.exp()).sum::<f64>().ln()
    }

    /// Searches with caches that hold the ids themselves; returns every finished hypothesis.
    fn search(seed: u64, beams: usize, steps: usize) -> Vec<(Vec<u16>, f64)> {
        let mut book = std::vec![0u128; book_bytes(MAX_BEAMS, steps).div_ceil(16)];
        let rules = Rules { beams, steps, length_penalty: 1 << 16, start: PAD, eos: EOS, pad: PAD };
        let mut search = BeamSearch::new(bytemuck::cast_slice_mut(&mut book), rules).unwrap();
        let mut caches = std::vec![Vec::new(); beams];
        for _ in 0..steps {
            let next: Vec<(u16, u8)> = search.next().collect();
            assert!((1..=beams).contains(&next.len()));
            for (beam, &(id, place)) in next.iter().enumerate() {
                assert!(next[..beam].iter().all(|&(_, other)| other != place), "two beams in a place");
                caches[place as usize].push(id);
                let all = logits(seed, &caches[place as usize]);
                for first in (0..VOCAB).step_by(4) {
                    let values = &all[first..(first + 4).min(VOCAB)];
                    search.offer(beam, first, Logits::Fixed { values, frac: 16 });
                }
            }
            if !search.advance(|(from, to)| caches[to as usize] = caches[from as usize].clone()) {
                break;
            }
        }
        let mut ids = std::vec![0; steps];
        let mut found = Vec::new();
        while let Some((len, score)) = search.read(found.len(), &mut ids) {
            found.push((ids[..len].to_vec(), score as f64 / f64::from(1 << SCORE_FRAC)));
        }
        found
    }

    /// Tokens that may not be chosen hide no others, however likely they are.
    #[test]
    fn what_is_banned_hides_nothing() {
        let mut book = [0u128; 64];
        let rules = Rules { beams: 2, steps: 3, length_penalty: 1 << 16, start: PAD, eos: EOS, pad: PAD };
        let mut search = BeamSearch::new(bytemuck::cast_slice_mut(&mut book), rules).unwrap();
        for step in 0..3 {
            // The end of sentence leads by 30 nats at first, padding always.
            let end = if step == 0 { 30 << 16 } else { 0 };
            let count = search.next().len();
            for beam in 0..count {
                let values = [end, 3 << 16, 2 << 16, -(40 << 16), 0, 0, 0, 0, 30 << 16];
                search.offer(beam, 0, Logits::Fixed { values: &values, frac: 16 });
            }
            search.advance(|_| {});
        }
        let mut ids = [0; 3];
        let (len, score) = search.read(0, &mut ids).unwrap();
        assert_eq!((len, ids), (3, [1, 1, 1]));
        assert!((score as f64 / f64::from(1 << SCORE_FRAC) + 27.0).abs() < 0.8, "{score}");
    }

    proptest! {
        /// Keys and values are those of the hypothesis they are used for, and scores are its own.
        #[test]
        fn scores_are_those_of_the_ids(seed: u64, beams in 1usize..=MAX_BEAMS, steps in 1usize..12) {
            let found = search(seed, beams, steps);
            prop_assert!((1..=beams).contains(&found.len()));
            prop_assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1), "best first");
            for (ids, score) in found {
                prop_assert!(!ids.contains(&PAD) && ids.iter().position(|&id| id == EOS).is_none_or(|i| i + 1 == ids.len()));
                prop_assert!(ids.last() == Some(&EOS) || ids.len() == steps);
                prop_assert!(ids != [EOS], "only an empty text has an empty translation");
                let (mut history, mut sum) = (std::vec![PAD], 0.0);
                for &id in &ids {
                    sum += log_probability(seed, &history, id);
                    history.push(id);
                }
                prop_assert!((sum / ids.len() as f64 - score).abs() < 1e-3, "{:?} {} {}", ids, sum, score);
            }
        }

        /// As many beams as there are hypotheses find the best of all.
        #[test]
        fn enough_beams_are_exhaustive(seed: u64) {
            let best = search(seed, MAX_BEAMS, 2).remove(0).1;
            let words = 1..PAD;
            for first in words.clone() {
                let one = log_probability(seed, &[PAD], first);
                for second in [EOS].into_iter().chain(words.clone()) {
                    let all = (one + log_probability(seed, &[PAD, first], second)) / 2.0;
                    prop_assert!(best > all - 1e-3, "{} {} {} {}", first, second, all, best);
                }
            }
        }
    }
}
