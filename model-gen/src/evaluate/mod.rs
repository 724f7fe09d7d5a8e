//! Evaluation: a blob against the float model it was packed from, on phrases with references.
//!
//! ```text
//! phrase ─ tokens ─┬─ float:     encode ─┬─ greedy ─ text ─┐          ┌─ scores, identical phrases, worst phrases
//!                  │                     └─ teacher-forced ─┼─ compare ┤
//!                  └─ quantized: encode ─┬─ greedy ─ text ──┘          └─ cross-entropy, KL, noise a layer
//!                                        └─ teacher-forced ─┘
//! ```
//!
//! Teacher-forced means that both read the first reference whatever they would have produced, so that their states and
//! distributions can be compared position by position. Sums are made in the order of the phrases: the figures, but for
//! the times, do not depend on the number of threads.

mod divergence;
mod fit;
mod identity;
pub mod memory;
mod noise;
mod phrase;
mod ranges;
mod table;
mod target;
mod weights;
mod worst;

use crate::aligned::AlignedBytes;
use crate::import::CheckpointDir;
use crate::reference::Reference;
use crate::score::pairs::Phrase;
use crate::score::{corpus_bleu, corpus_chrf};
use anyhow::{Context, Result, ensure};
use divergence::Divergence;
use latimer::blob::layout::Role;
use latimer::{Limits, Model};
use noise::Stages;
use phrase::{Evaluator, Outcome};
use ranges::Inputs;
use rayon::prelude::*;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub use identity::Identity;
pub use memory::Memory;
pub use ranges::ActivationRange;
pub use table::Table;
pub(crate) use target::SideTokenizer;
pub use weights::{Clipping, WeightFit};
pub use worst::Worst;

/// What an evaluation found.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// Which blob.
    pub blob: Identity,
    /// Name of the blob's engine.
    pub engine: &'static str,
    /// How the blob was quantized, where its metadata says so.
    pub recipe: Option<String>,
    /// Size of the blob.
    pub blob_bytes: usize,
    /// Distinct sources.
    pub phrases: usize,
    /// CRC-32 over the sources and references: figures on other phrases cannot be compared.
    pub phrases_crc: u32,
    /// Phrases whose greedy ids are the float model's.
    pub identical: usize,
    /// The float model.
    pub float: Figures,
    /// The blob.
    pub quantized: Figures,
    /// Share of the output matrix that a step of the blob's translations reads, where they go by its shortlist.
    pub output_read: Option<f64>,
    /// Positions that teacher-forced figures are means over.
    pub forced_tokens: usize,
    /// First references longer than the limit; only their beginning is teacher-forced.
    pub references_cut: usize,
    /// Mean Kullback-Leibler divergence of the next-token distributions from the float model's, in nats a token.
    pub mean_kl: f64,
    /// Noise of every stage, worst first.
    pub stages: Vec<StageNoise>,
    /// What the float model puts into each linear, in the order of blocks.
    pub ranges: Vec<ActivationRange>,
    /// How well the blob's matrices stand for the checkpoint's, in the order of its table.
    pub weights: Vec<WeightFit>,
    /// Where the bytes of flash and RAM go.
    pub memory: Memory,
    /// Of the phrases that are translated differently those whose own chrF drops most, worst first.
    pub worst: Vec<Worst>,
    /// Seconds that all of it took.
    pub wall_seconds: f64,
}

/// Figures of one of the two models.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Corpus BLEU, 0 to 100.
    pub bleu: f64,
    /// Corpus chrF2, 0 to 100.
    pub chrf: f64,
    /// Teacher-forced, in nats a token.
    pub cross_entropy: f64,
    /// Target tokens of all translations.
    pub target_tokens: usize,
    /// Time of all translations, the threads' times added up: what one core would take.
    pub core_seconds: f64,
    /// Target tokens a second of one core.
    pub tokens_per_second: f64,
}

/// Noise of one stage over all teacher-forced positions.
#[derive(Clone, Debug, Serialize)]
pub struct StageNoise {
    /// `encoder.L` or `decoder.L` (0 after the embedding, then after each layer), or `logits`.
    pub stage: String,
    /// Signal to quantization noise: `10 log10(sum x^2 / sum (x - y)^2)`. Infinite, in JSON null, where nothing differs.
    pub sqnr_db: f64,
}

impl Evaluation {
    /// How much chrF the quantized model loses.
    pub fn chrf_drop(&self) -> f64 {
        self.float.chrf - self.quantized.chrf
    }

    /// How much BLEU the quantized model loses.
    pub fn bleu_drop(&self) -> f64 {
        self.float.bleu - self.quantized.bleu
    }

    /// By how much the cross-entropy grows, in percent of the float model's.
    pub fn cross_entropy_percent(&self) -> f64 {
        100.0 * (self.quantized.cross_entropy / self.float.cross_entropy - 1.0)
    }

    /// Share of phrases whose ids are the float model's, in percent.
    pub fn identical_percent(&self) -> f64 {
        100.0 * self.identical as f64 / self.phrases as f64
    }
}

/// How the blob translates.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Sizes of phrases, and beams.
    pub limits: Limits,
    /// Whether by its shortlist.
    pub shortlist: bool,
}

impl From<Limits> for How {
    fn from(limits: Limits) -> Self {
        How { limits, shortlist: false }
    }
}

/// Compares `model` with the checkpoint in `dir`; `done` is called after each phrase, from any thread.
pub fn evaluate(
    model: &Model<'_>,
    dir: &Path,
    phrases: &[Phrase],
    how: impl Into<How>,
    done: impl Fn() + Sync,
) -> Result<Evaluation> {
    ensure!(!phrases.is_empty(), "there are no phrases to evaluate on");
    let (start, How { limits, shortlist }) = (Instant::now(), how.into());
    let dir = CheckpointDir::open(dir)?;
    let checkpoint = dir.tensors(dir.config()?)?;
    let vocabularies = dir.vocabularies(&checkpoint.config)?;
    fit::check(model, &checkpoint.config, &vocabularies)?;
    let target = target::SideTokenizer::target(&dir, &checkpoint.config, &vocabularies)?;
    let reference = Reference::new(Arc::new(checkpoint));
    let arena_len = model.arena_len(limits).context("the model cannot run within these limits")?;
    let evaluator = Evaluator { model, reference: &reference, target: &target, limits, shortlist };
    let outcomes: Vec<Outcome> = phrases
        .par_iter()
        .map_init(
            || AlignedBytes::zeroed(arena_len),
            |arena, phrase| {
                let outcome = evaluator.run(phrase, arena).with_context(|| format!("phrase {:?}", phrase.source));
                done();
                outcome
            },
        )
        .collect::<Result<_>>()?;
    summary(&evaluator, phrases, &outcomes, start)
}

fn summary(evaluator: &Evaluator<'_>, phrases: &[Phrase], outcomes: &[Outcome], start: Instant) -> Result<Evaluation> {
    let model = evaluator.model;
    let mut stages = Stages::default();
    let mut inputs = Inputs::default();
    let mut divergence = Divergence::default();
    for outcome in outcomes {
        stages.add(&outcome.stages);
        divergence.add(&outcome.divergence);
        inputs.add(&outcome.inputs);
    }
    let tokens = divergence.tokens as f64;
    let [read, all] = [0, 1].map(|i| outcomes.iter().map(|outcome| outcome.output_blocks[i]).sum::<usize>());
    let references: Vec<&[String]> = phrases.iter().map(|phrase| phrase.references.as_slice()).collect();
    let (float, quantized) = rayon::join(
        || figures(outcomes.iter().map(|o| &o.float), &references, divergence.float_nll / tokens),
        || figures(outcomes.iter().map(|o| &o.quantized), &references, divergence.quantized_nll / tokens),
    );
    Ok(Evaluation {
        blob: Identity::of(model),
        engine: model.blob().engine().name(),
        recipe: model.meta("recipe").map(str::to_owned),
        blob_bytes: model.blob().len(),
        phrases: phrases.len(),
        phrases_crc: identity::crc_of(phrases),
        identical: outcomes.iter().filter(|o| o.float.ids == o.quantized.ids).count(),
        float: float?,
        quantized: quantized?,
        output_read: evaluator.shortlist.then_some(read as f64 / all.max(1) as f64),
        forced_tokens: divergence.tokens,
        references_cut: outcomes.iter().filter(|o| o.reference_cut).count(),
        mean_kl: divergence.kl / tokens,
        stages: stages.worst_first(),
        ranges: inputs.ranges(model.blob().spec().encoder_blocks()),
        weights: weights::fits(model, evaluator.reference.checkpoint()),
        memory: memory::map(model, evaluator.limits)?,
        worst: worst::worst(model, phrases, outcomes)?,
        wall_seconds: start.elapsed().as_secs_f64(),
    })
}

fn figures<'o>(
    translations: impl Iterator<Item = &'o phrase::Translation>,
    references: &[&[String]],
    cross_entropy: f64,
) -> Result<Figures> {
    let (mut texts, mut target_tokens, mut core_seconds) = (Vec::new(), 0, 0.0);
    for translation in translations {
        texts.push(translation.text.as_str());
        target_tokens += translation.ids.len();
        core_seconds += translation.seconds;
    }
    let references: Vec<Vec<&str>> = references.iter().map(|r| r.iter().map(String::as_str).collect()).collect();
    Ok(Figures {
        bleu: corpus_bleu(&texts, &references)?.score,
        chrf: corpus_chrf(&texts, &references)?,
        cross_entropy,
        target_tokens,
        core_seconds,
        tokens_per_second: target_tokens as f64 / core_seconds,
    })
}

/// Ratio of two powers in dB; infinite where there is no noise.
fn decibels(signal: f64, noise: f64) -> f64 {
    if noise == 0.0 { f64::INFINITY } else { 10.0 * (signal / noise).log10() }
}

/// `encoder.L.role` or `decoder.L.role`, the layers counted from 1 as stages are; `output` outside all blocks.
fn site_name(encoders: usize, block: u16, role: Role) -> String {
    let role = snake_case(&format!("{role:?}"));
    match usize::from(block) {
        _ if block == u16::MAX => role,
        block if block < encoders => format!("encoder.{}.{role}", block + 1),
        block => format!("decoder.{}.{role}", block - encoders + 1),
    }
}

/// `SelfQ` as `self_q`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
