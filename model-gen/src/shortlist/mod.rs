//! Learning a lexical shortlist: which row blocks of the output matrix a phrase's source ids call for.
//!
//! ```text
//! sources ─ greedy translations of the blob itself ─┬─ align ─ links of ids to row blocks ─┬─ choose ─ section
//!                                                   └─ phrases held out ───────────────────┘
//! ```
//!
//! What is counted is what the model itself says, not what references say: a phrase whose translation lies within its rows
//! is translated as before, bit for bit, so that the share of such phrases is the measure. That needs no target tokenizer,
//! which a blob lacks.

mod choose;
mod counts;

use crate::align::{ALL_PASSES, Aligner, Pair};
use crate::run::{Translation, translate_all};
use anyhow::{Context, Result, bail, ensure};
use choose::Phrase;
use counts::Counts;
use latimer::blob::layout::SectionKind;
use latimer::blob::shortlist::ShortlistParts;
use latimer::{Error, Limits, Model};
use serde::Serialize;

/// One phrase of so many is held out.
const HELD_OUT: usize = 20;
/// Fewer phrases than this are too few to hold any out.
const FEW: usize = 400;

/// A shortlist and what it does.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The section.
    pub section: Vec<u8>,
    /// What it costs and saves.
    pub figures: Figures,
}

/// Figures of a shortlist.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes of flash that the section takes.
    pub bytes: usize,
    /// Row blocks of the output matrix.
    pub blocks: usize,
    /// Row blocks that every phrase reads.
    pub always: usize,
    /// Entries of all lists.
    pub entries: usize,
    /// Phrases learned from.
    pub learned: usize,
    /// Phrases that the figures below are of; where they are too few to hold any out, those learned from.
    pub held_out: usize,
    /// Share of the output matrix that a step reads, on average over all steps.
    pub share: f64,
    /// Share of phrases whose greedy translation stays the same.
    pub same: f64,
}

impl Figures {
    /// How many times fewer multiply-accumulates the output matrix takes.
    pub fn factor(&self) -> f64 {
        1.0 / self.share
    }
}

/// How far the learning is.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A source has been translated.
    Translated,
    /// A pass of the aligner, or a choice of rows, is done.
    Pass,
}

/// [`Step::Pass`]es in all.
pub const PASSES: usize = ALL_PASSES + choose::CHOICES;

/// Learns which rows the sources' translations need, so that a step reads at most `share` of the output matrix on average;
/// `done` is called as the work goes on, from any thread.
pub fn learn(
    model: &Model<'_>,
    limits: Limits,
    sources: &[&str],
    share: f64,
    done: &(dyn Fn(Step) + Sync),
) -> Result<Learned> {
    let limits = Limits { beams: 1, ..limits };
    let translations = translate_all(model, limits, usize::MAX, sources, || done(Step::Translated))?;
    let mut said: Vec<Translation> = Vec::new();
    for (source, translation) in sources.iter().zip(translations) {
        match translation {
            Ok(translation) if translation.source_ids.is_empty() => {}
            Ok(translation) => said.push(translation),
            // Such phrases are not translated later either.
            Err(Error::TextTooLong { .. } | Error::TooManyTokens { .. }) => {}
            Err(error) => return Err(error).with_context(|| format!("phrase {source:?}")),
        }
    }
    ensure!(!said.is_empty(), "none of the {} sources can be translated within the limits", sources.len());
    let held = |place: usize| said.len() >= FEW && place.is_multiple_of(HELD_OUT);
    let part = |wanted: bool| said.iter().enumerate().filter(move |(i, _)| held(*i) == wanted).map(|(_, t)| t);

    let spec = model.blob().spec().header();
    let pairs: Vec<Pair> = part(false).map(|said| pair(said, spec.eos_id)).collect();
    let aligner = Aligner::learn(&pairs, || done(Step::Pass));
    let counts = Counts::of(model, &aligner, &pairs);
    let mut phrases: Vec<Phrase> = part(true).map(|said| Phrase::new(&said.source_ids, &said.target_ids)).collect();
    if phrases.is_empty() {
        phrases = said.iter().map(|said| Phrase::new(&said.source_ids, &said.target_ids)).collect();
    }
    let Some(chosen) = choose::choose(&counts, &phrases, spec.eos_id, share, || done(Step::Pass)) else {
        bail!("no shortlist reads as little as {share:.4} of the output matrix: ask for a smaller factor");
    };

    let parts = ShortlistParts { target_vocab: spec.target_vocab, always: &chosen.always_set(), lists: &chosen.lists };
    let mut section = vec![0; parts.emitted_len()];
    parts.emit(&mut section).context("the shortlist's lists are too long")?;
    let figures = Figures {
        bytes: section.len(),
        blocks: counts.blocks(),
        always: chosen.always.iter().filter(|always| **always).count(),
        entries: chosen.lists.iter().map(Vec::len).sum(),
        learned: pairs.len(),
        held_out: phrases.len(),
        share: chosen.share,
        same: chosen.same,
    };
    Ok(Learned { section, figures })
}

/// A translation without its ends of sentence, which stand for each other.
fn pair(said: &Translation, eos: u16) -> Pair {
    let without = |ids: &[u16]| ids.strip_suffix(&[eos]).unwrap_or(ids).to_vec();
    Pair { source: without(&said.source_ids), target: without(&said.target_ids) }
}

/// Bytes of a blob's shortlist; none where it lacks one.
pub fn section_bytes(model: &Model<'_>) -> usize {
    model.blob().container().section(SectionKind::Shortlist).map_or(0, <[u8]>::len)
}
