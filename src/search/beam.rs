//! Beam search in fixed point: the bits agree on every machine, whatever the engine.
//!
//! Each step looks at the best `2 * beams` continuations of all beams, but for tokens that are less likely than the best of
//! their beam by 14 nats. Those among the first `beams` that end become
//! finished hypotheses, scored by their sum of log-probabilities over their length to the power of the length penalty; the
//! best `beams` that do not end grow on. The search ends at the limit, or once `beams` are finished and the best that grows,
//! scored at its present length, is no better than the worst of them. This is what transformers' `generate` does, but that
//! nothing ends with the first token: only an empty text has an empty translation. With one beam it is greedy search, which
//! ends where the best token does.

use super::book::{Book, Choice, Finished, MOST_NATS, Node};
use super::guard::Piece;
use super::live::Live;
use super::{Rules, Token};
use crate::arena::MAX_BEAMS;
use crate::num::pow;
use crate::observe::Logits;

/// Fraction bits of a finished hypothesis' score.
pub(super) const SCORE_FRAC: u32 = 24;

/// Where a search stands; what it remembers is in its [`Book`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeamSearch {
    pub rules: Rules,
    finished_count: usize,
    live: [Live; MAX_BEAMS],
    live_count: usize,
    step: usize,
}

/// Keys and values of one place that go to another.
pub(crate) type Fork = (u8, u8);

impl BeamSearch {
    /// A search with the start token as its one hypothesis.
    pub const fn new(rules: Rules) -> Self {
        let live = [Live::start(rules.start); MAX_BEAMS];
        BeamSearch { rules, finished_count: 0, live, live_count: 1, step: 0 }
    }

    /// Hypotheses that have finished.
    pub const fn count(&self) -> usize {
        self.finished_count
    }

    /// Steps that have been made.
    pub const fn steps(&self) -> usize {
        self.step
    }

    /// Tokens that the decoder reads next, and the places of their keys and values.
    pub fn next(&self) -> impl ExactSizeIterator<Item = (u16, u8)> {
        self.live.iter().take(self.live_count).map(|live| (live.id, live.place))
    }

    /// Logits of the ids from `first` on that follow a hypothesis; they come in order. `choices` has room for the best of all
    /// beams, and is kept until [`advance`](Self::advance).
    pub fn offer(
        &mut self,
        book: &Book,
        choices: &mut [Choice],
        (beam, first): (usize, usize),
        logits: Logits<'_>,
        piece: impl Fn(u16) -> Piece,
    ) {
        let most = 2 * self.rules.beams;
        let Some(live) = self.live.get_mut(beam) else { return };
        let Some(choices) = choices.get_mut(beam * most..(beam + 1) * most) else { return };
        let (rules, step) = (&self.rules, self.step);
        let history = || book.history(step, beam).map(|token| token.id);
        let forbids = |id| id != rules.eos && rules.guard.forbids(id, piece(id), history());
        live.offer(rules, step == 0, choices, first, logits, forbids);
    }

    /// Chooses among what was offered; `sources` are the source positions that each beam looked at. Says which keys and values
    /// are to be copied, or that the search has ended.
    pub fn advance(
        &mut self,
        book: &mut Book,
        choices: &[Choice],
        sources: &[u16],
        mut copy: impl FnMut(Fork),
    ) -> bool {
        let Rules { beams, steps, length_penalty, eos, .. } = self.rules;
        let len = self.step + 1;
        let norm = pow(len as u32, length_penalty).max(1) as i64;
        let score = |sum: i32| ((sum as i64) << SCORE_FRAC) / norm;
        let old = self.live;
        let normalizers = old.map(|live| live.normalizer());
        let mut used = [0usize; MAX_BEAMS];
        let (mut grown, mut children) = (0, [false; MAX_BEAMS]);
        for rank in 0..2 * beams {
            // The best of each beam's best; of equal ones the earlier beam's.
            let mut best: Option<(i32, usize, &Choice)> = None;
            for (beam, (live, &used)) in old.iter().zip(&used).enumerate().take(self.live_count) {
                let known = used < live.choice_count as usize;
                let Some(choice) = choices.get(beam * 2 * beams + used).filter(|_| known) else { continue };
                let normalizer = normalizers.get(beam).copied().unwrap_or(i32::MAX);
                let sum = live.sum.saturating_add(choice.logit.saturating_sub(normalizer));
                if best.is_none_or(|(other, ..)| sum > other) {
                    best = Some((sum, beam, choice));
                }
            }
            let Some((sum, beam, choice)) = best else { break };
            if let Some(used) = used.get_mut(beam) {
                *used += 1;
            }
            let id = choice.id as u16;
            let Some(before) = old.get(beam) else { break };
            let nats = before.sum.saturating_sub(sum) >> 9;
            let token = Token {
                id,
                source: sources.get(beam).copied().unwrap_or(0),
                nats: nats.clamp(0, MOST_NATS as i32) as u16,
                guarded: before.forbidden > choice.logit,
            };
            let node = Node::new(token, beam);
            if id == eos || len == steps {
                if rank < beams {
                    let finished = Finished { score: score(sum), len: len as u16, last: node, pad: 0 };
                    self.finished_count = book.finish(self.finished_count, finished);
                }
            } else if grown < beams {
                book.set_node(self.step, grown, node);
                if let Some(live) = self.live.get_mut(grown) {
                    *live = before.with(id, sum);
                }
                if let Some(child) = children.get_mut(usize::from(before.place)) {
                    *child = true;
                }
                grown += 1;
            }
        }
        if grown == 0 {
            // Nothing may follow.
            self.stop(book);
        }
        self.live_count = grown;
        self.step = len;
        if grown == 0 || (beams == 1 && self.finished_count > 0) {
            return false;
        }
        let worst = book.finished.get(beams.saturating_sub(1)).filter(|_| self.finished_count == beams);
        let improvable = |live: &Live| worst.is_none_or(|worst| score(live.sum) > worst.score);
        if !self.live.first().is_some_and(improvable) {
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

    /// Shows the tokens of a finished hypothesis, the best being number zero, each with its place, the last first; their number
    /// and its score, Q24.
    pub fn read(&self, book: &Book, number: usize, mut show: impl FnMut(usize, Token)) -> Option<(usize, i64)> {
        let finished = book.finished.get(number).filter(|_| number < self.finished_count)?;
        let before = (finished.len as usize).checked_sub(1)?;
        show(before, finished.last.token());
        for (place, token) in (0..before).rev().zip(book.history(before, finished.last.parent())) {
            show(place, token);
        }
        Some((before + 1, finished.score))
    }

    /// Shows the tokens that all hypotheses have in common, as [`read`](Self::read) does; their number. `None` once one has
    /// finished: another may yet be better.
    pub fn read_agreed(&self, book: &Book, mut show: impl FnMut(usize, Token)) -> Option<usize> {
        if self.finished_count > 0 {
            return None;
        }
        // Beams as bits, and how many tokens they have: back to where they were one.
        let (mut beams, mut count) = ((1u32 << self.live_count) - 1, self.step);
        while count > 0 && !beams.is_power_of_two() {
            count -= 1;
            let members = (0..MAX_BEAMS).filter(|beam| beams >> beam & 1 != 0);
            beams = members.filter_map(|beam| book.node(count, beam)).fold(0, |set, node| set | 1 << node.parent());
        }
        let beam = beams.trailing_zeros() as usize;
        for (place, token) in (0..count).rev().zip(book.history(count, beam)) {
            show(place, token);
        }
        Some(count)
    }

    /// Makes the best hypothesis that grows a finished one if there is none.
    pub fn stop(&mut self, book: &mut Book) {
        let Some(last) = self.step.checked_sub(1).and_then(|step| book.node(step, 0)) else { return };
        if let (0, Some(live)) = (self.finished_count, self.live.first()) {
            let norm = pow(self.step as u32, self.rules.length_penalty).max(1) as i64;
            let score = ((live.sum as i64) << SCORE_FRAC) / norm;
            self.finished_count = book.finish(0, Finished { score, len: self.step as u16, last, pad: 0 });
        }
    }

    /// The latest token of a search with one beam.
    pub fn latest(&self, book: &Book) -> Option<Token> {
        match self.finished_count {
            0 => book.history(self.step, 0).next(),
            _ => book.finished.first().map(|finished| finished.last.token()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Guard;
    use super::super::book::book_bytes;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const NO_CHOICE: Choice = Choice { logit: 0, id: 0 };
    const RULES: Rules =
        Rules { beams: 1, steps: 1, length_penalty: 1 << 16, start: PAD, eos: EOS, never: [PAD; 2], guard: Guard::OFF };

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
        let mut memory = std::vec![0u128; book_bytes(MAX_BEAMS, steps).div_ceil(16)];
        let mut book = Book::open(bytemuck::cast_slice_mut(&mut memory), beams, steps).unwrap();
        let mut choices = [NO_CHOICE; 2 * MAX_BEAMS * MAX_BEAMS];
        let mut search = BeamSearch::new(Rules { beams, steps, ..RULES });
        let (mut caches, mut certain) = (std::vec![Vec::new(); beams], Vec::new());
        for _ in 0..steps {
            let next: Vec<(u16, u8)> = search.next().collect();
            assert!((1..=beams).contains(&next.len()));
            for (beam, &(id, place)) in next.iter().enumerate() {
                assert!(next[..beam].iter().all(|&(_, other)| other != place), "two beams in a place");
                caches[place as usize].push(id);
                let all = logits(seed, &caches[place as usize]);
                for first in (0..VOCAB).step_by(4) {
                    let values = &all[first..(first + 4).min(VOCAB)];
                    let logits = Logits::Fixed { values, frac: 16 };
                    search.offer(&book, &mut choices, (beam, first), logits, |_| Piece::Start);
                }
            }
            let sources: Vec<u16> = next.iter().map(|&(id, _)| id).collect();
            let fork = |(from, to): Fork| caches[to as usize] = caches[from as usize].clone();
            if !search.advance(&mut book, &choices, &sources, fork) {
                break;
            }
            let mut agreed = std::vec![0; steps];
            if let Some(len) = search.read_agreed(&book, |place, token| agreed[place] = token.id) {
                certain.push(agreed[..len].to_vec());
            }
        }
        let mut ids = std::vec![0; steps];
        let mut found = Vec::new();
        let first: Vec<u16> =
            search.read(&book, 0, |place, token| ids[place] = token.id).map(|(len, _)| ids[..len].into()).unwrap();
        assert!(certain.iter().all(|known| first.starts_with(known)), "{certain:?} {first:?}");
        while let Some((len, score)) = search.read(&book, found.len(), |place, token| ids[place] = token.id) {
            let mut nats = 0.0;
            search.read(&book, found.len(), |place, token| {
                nats += f64::from(token.nats) / 128.0;
                // Here every token looks at the one before.
                assert_eq!(token.source, if place == 0 { PAD } else { ids[place - 1] });
            });
            assert!((nats / len as f64 + score as f64 / f64::from(1 << SCORE_FRAC)).abs() < 0.02, "{nats} {score}");
            found.push((ids[..len].to_vec(), score as f64 / f64::from(1 << SCORE_FRAC)));
        }
        found
    }

    /// Tokens that may not be chosen hide no others, however likely they are.
    #[test]
    fn what_is_banned_hides_nothing() {
        let mut memory = [0u128; 64];
        let mut book = Book::open(bytemuck::cast_slice_mut(&mut memory), 2, 3).unwrap();
        let mut choices = [NO_CHOICE; 8];
        let mut search = BeamSearch::new(Rules { beams: 2, steps: 3, ..RULES });
        for step in 0..3 {
            // The end of sentence leads by 30 nats at first, padding always.
            let end = if step == 0 { 30 << 16 } else { 0 };
            let count = search.next().len();
            for beam in 0..count {
                let values = [end, 3 << 16, 2 << 16, -(40 << 16), 0, 0, 0, 0, 30 << 16];
                let logits = Logits::Fixed { values: &values, frac: 16 };
                search.offer(&book, &mut choices, (beam, 0), logits, |_| Piece::Start);
            }
            search.advance(&mut book, &choices, &[], |_| {});
        }
        let mut ids = [0; 3];
        let (len, score) = search.read(&book, 0, |place, token| ids[place] = token.id).unwrap();
        assert_eq!((len, ids), (3, [1, 1, 1]));
        assert!((score as f64 / f64::from(1 << SCORE_FRAC) + 27.0).abs() < 0.8, "{score}");
    }

    /// A greedy search with a guard takes the next best, says so, and ends where nothing may follow.
    #[test]
    fn a_guard_takes_the_next_best() {
        let mut memory = [0u128; 64];
        let mut book = Book::open(bytemuck::cast_slice_mut(&mut memory), 1, 6).unwrap();
        let mut choices = [NO_CHOICE; 2];
        let guard = Guard::of(&[1, 2, 3], 1);
        let mut search = BeamSearch::new(Rules { steps: 6, guard, ..RULES });
        let mut more = true;
        while more {
            // There are no ids but 1 and 2.
            let logits = Logits::Fixed { values: &[3 << 16, 2 << 16], frac: 16 };
            search.offer(&book, &mut choices, (0, 1), logits, |_| Piece::Start);
            more = search.advance(&mut book, &choices, &[], |_| {});
        }
        let mut said = [Token::default(); 6];
        assert_eq!(search.read(&book, 0, |place, token| said[place] = token).map(|(len, _)| len), Some(2));
        assert_eq!((said[0].id, said[0].guarded, said[1].id, said[1].guarded), (1, false, 2, true));
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
