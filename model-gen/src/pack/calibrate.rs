//! The calibration set: which sentences the quantizer learns from, and what it learns.

use super::{Options, Progress};
use crate::evaluate::SideTokenizer;
use crate::import::language::language_id;
use crate::import::{Checkpoint, CheckpointDir, Vocabularies};
use crate::quantize::{Calibration, Quantizer, Sentence, equalize};
use crate::score::pairs::Phrase;
use crate::testing::SplitMix64;
use anyhow::{Context, Result, ensure};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Longest side of a sentence, in tokens: those beyond are cut, so that a stray page cannot outweigh the phrases.
const MOST_TOKENS: usize = 64;

/// Phrase pairs, how many of them are used, and the seed that draws those.
#[derive(Clone, Debug)]
pub struct CalibrationSet {
    /// All pairs; of several translations the first is read.
    pub phrases: Vec<Phrase>,
    /// Pairs used at most.
    pub limit: usize,
    /// Other seeds draw other pairs.
    pub seed: u64,
}

impl CalibrationSet {
    /// The pairs that are used and `more`, in an order that depends on the seed alone.
    fn drawn(&self, more: usize) -> Vec<&Phrase> {
        let mut phrases: Vec<&Phrase> = self.phrases.iter().collect();
        let mut random = SplitMix64::new(self.seed);
        // Fisher and Yates, as far as needed.
        let count = self.limit.saturating_add(more).min(phrases.len());
        for i in 0..count {
            let other = i + random.below(phrases.len() - i);
            phrases.swap(i, other);
        }
        phrases.truncate(count);
        phrases
    }

    /// How many of those that [`drawn`](Self::drawn) gives are learned from: the limit, and where there are few pairs no more
    /// than leaves half of them, or as many as are measured on.
    fn learned(&self, drawn: usize) -> usize {
        self.limit.min(drawn - MEASURED.min(drawn / 2))
    }

    /// Pairs that nothing was learned from, at most `count`.
    pub fn held_out(&self, count: usize) -> Vec<Phrase> {
        let drawn = self.drawn(MEASURED.max(count));
        let learned = self.learned(self.drawn(MEASURED).len());
        drawn.into_iter().skip(learned).take(count).cloned().collect()
    }
}

/// Pairs that the cost of single matrices is measured on.
const MEASURED: usize = 64;

/// The quantizer for the options, and sentences that it has not learned from; smoothing changes the checkpoint's weights.
pub fn quantizer(
    dir: &CheckpointDir,
    checkpoint: &mut Checkpoint,
    vocabularies: &Vocabularies,
    options: &Options,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<(Quantizer, Vec<Sentence>)> {
    let settings = options.settings.clone();
    if !settings.need_calibration() && options.fit_flash.is_none() {
        return Ok((Quantizer::new(settings, None), Vec::new()));
    }
    let set = options
        .calibration
        .as_ref()
        .context("recipe best and --fit-flash need phrase pairs to calibrate with: give --calibrate")?;
    let source = SideTokenizer::source(dir, &checkpoint.config, vocabularies)?;
    let target = SideTokenizer::target(dir, &checkpoint.config, vocabularies)?;
    let cut = |mut ids: Vec<u16>| -> Vec<u32> {
        ids.truncate(MOST_TOKENS);
        ids.into_iter().map(u32::from).collect()
    };
    // As the packed model will read them: sources without a code get that of the target.
    let codes: Vec<u32> = vocabularies.source.language_codes().map(|(_, id)| id).collect();
    let chosen = options.target.as_deref().map(|code| language_id(&vocabularies.source, code)).transpose()?;
    let mut sentences = set
        .drawn(MEASURED)
        .into_iter()
        .map(|phrase| {
            let (source, target) = (source.encode(&phrase.source)?, target.encode(&phrase.references[0])?);
            Ok(Sentence { source: with_language(cut(source), chosen, &codes), target: cut(target) })
        })
        .collect::<Result<Vec<_>>>()?;
    // The last ones are held out.
    let held_out = sentences.split_off(set.learned(sentences.len()));
    ensure!(!sentences.is_empty(), "there are no pairs to calibrate with");
    if !settings.need_calibration() {
        return Ok((Quantizer::new(settings, None), held_out));
    }
    let count = AtomicUsize::new(0);
    let mut calibration = Calibration::collect(checkpoint, &sentences, set.seed, || {
        watch(Progress { step: "calibrating", done: count.fetch_add(1, Relaxed) + 1, total: sentences.len() });
    });
    if settings.smoothing {
        equalize(checkpoint, &mut calibration);
    }
    Ok((Quantizer::new(settings, Some(calibration)), held_out))
}

/// The ids of a source, behind the code of the chosen language unless a code leads them.
fn with_language(mut ids: Vec<u32>, chosen: Option<u32>, codes: &[u32]) -> Vec<u32> {
    if let (Some(chosen), false) = (chosen, ids.first().is_some_and(|id| codes.contains(id))) {
        ids.insert(0, chosen);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::{CalibrationSet, with_language};
    use crate::score::pairs::Phrase;

    #[test]
    fn no_more_is_learned_from_than_was_asked_for_and_nothing_that_is_judged_on() {
        let phrase = |i: usize| Phrase { source: i.to_string(), references: vec!["x".to_owned()] };
        for (pairs, limit, learned) in [
            (500, 10, 10),
            (500, 100, 100),
            (500, 490, 436),
            (20, 10, 10),
            (20, 2000, 10),
            (1, 5, 1),
            (90, usize::MAX, 45),
        ] {
            let set = CalibrationSet { phrases: (0..pairs).map(phrase).collect(), limit, seed: 3 };
            let drawn = set.drawn(super::MEASURED);
            assert_eq!(set.learned(drawn.len()), learned, "{pairs} {limit}");
            let used: Vec<&str> = drawn.iter().take(learned).map(|phrase| phrase.source.as_str()).collect();
            for count in [0, 5, 300] {
                let held_out = set.held_out(count);
                assert!(held_out.len() <= count);
                assert!(
                    held_out.iter().all(|phrase| !used.contains(&phrase.source.as_str())),
                    "{pairs} {limit} {count}"
                );
            }
        }
    }

    #[test]
    fn sources_get_the_chosen_code_where_they_have_none() {
        assert_eq!(with_language(vec![5, 0], Some(8), &[7, 8]), [8, 5, 0]);
        assert_eq!(with_language(vec![7, 5, 0], Some(8), &[7, 8]), [7, 5, 0]);
        assert_eq!(with_language(vec![5, 0], None, &[7, 8]), [5, 0]);
    }
}
