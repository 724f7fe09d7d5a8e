//! The calibration set: which sentences the quantizer learns from, and what it learns.

use super::{Options, Progress};
use crate::evaluate::SideTokenizer;
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
        let count = (self.limit + more).min(phrases.len());
        for i in 0..count {
            let other = i + random.below(phrases.len() - i);
            phrases.swap(i, other);
        }
        phrases.truncate(count);
        phrases
    }

    /// Pairs that nothing was learned from, at most `count`.
    pub fn held_out(&self, count: usize) -> Vec<Phrase> {
        self.drawn(count).into_iter().skip(self.limit).cloned().collect()
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
    let set =
        options.calibration.as_ref().context("this recipe needs phrase pairs to calibrate with: give --calibrate")?;
    let source = SideTokenizer::source(dir, &checkpoint.config, vocabularies)?;
    let target = SideTokenizer::target(dir, &checkpoint.config, vocabularies)?;
    let cut = |mut ids: Vec<u16>| -> Vec<u32> {
        ids.truncate(MOST_TOKENS);
        ids.into_iter().map(u32::from).collect()
    };
    let mut sentences = set
        .drawn(MEASURED)
        .into_iter()
        .map(|phrase| {
            let (source, target) = (source.encode(&phrase.source)?, target.encode(&phrase.references[0])?);
            Ok(Sentence { source: cut(source), target: cut(target) })
        })
        .collect::<Result<Vec<_>>>()?;
    // The last ones are held out; where there are few pairs, half of them.
    let held_out = sentences.split_off(sentences.len() - MEASURED.min(sentences.len() / 2));
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
