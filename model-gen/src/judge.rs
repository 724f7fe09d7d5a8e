//! Passages judged on phrase pairs: how good translations are as users get them, and how far confidence in them can be trusted.

use crate::guide::calibration_error;
use crate::run::{Choices, translate_all};
use crate::score::pairs::Phrase;
use crate::score::{corpus_bleu, corpus_chrf};
use anyhow::{Context, Result, ensure};
use latimer::blob::guide::SURE;
use latimer::{Limits, Model, Warnings};
use serde::Serialize;

/// Parts of the phrases, by confidence.
const PARTS: usize = 5;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Distinct sources.
    pub phrases: usize,
    /// Corpus BLEU, 0 to 100.
    pub bleu: f64,
    /// Corpus chrF2, 0 to 100.
    pub chrf: f64,
    /// Times that the model was run.
    pub parts: usize,
    /// Phrases with each of the warnings.
    pub warnings: Vec<(&'static str, usize)>,
    /// chrF of each fifth of the phrases, by confidence, the lowest first; empty where the blob was not calibrated.
    pub chrf_by_confidence: Vec<f64>,
    /// Expected calibration error of phrases, against their own chrF.
    pub calibration_error: Option<f64>,
}

/// Translates every source and judges the translations; `done` is called after each, from any thread.
pub fn judge(
    model: &Model<'_>,
    limits: Limits,
    choices: Choices<'_>,
    phrases: &[Phrase],
    done: impl Fn() + Sync,
) -> Result<Judgement> {
    ensure!(!phrases.is_empty(), "there are no phrases to judge by");
    let sources: Vec<&str> = phrases.iter().map(|phrase| phrase.source.as_str()).collect();
    let translations = translate_all(model, limits, choices, &sources, done)?
        .into_iter()
        .zip(&sources)
        .map(|(translation, source)| translation.with_context(|| format!("phrase {source:?}")))
        .collect::<Result<Vec<_>>>()?;
    let texts: Vec<&str> = translations.iter().map(|translation| translation.target.as_str()).collect();
    let references: Vec<Vec<&str>> =
        phrases.iter().map(|phrase| phrase.references.iter().map(String::as_str).collect()).collect();
    let all = Warnings::all();
    let warnings = all.map(|(warning, name)| {
        (name, translations.iter().filter(|found| found.outcome.warnings.contains(warning)).count())
    });
    // Phrases by confidence; those that the model was not asked about are not judged by it.
    let mut order: Vec<(f64, usize)> = translations
        .iter()
        .enumerate()
        .filter_map(|(i, found)| Some((f64::from(found.outcome.confidence?) / f64::from(SURE), i)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let chrf_of = |members: &[(f64, usize)]| {
        let (texts, references): (Vec<&str>, Vec<Vec<&str>>) =
            members.iter().map(|&(_, i)| (texts[i], references[i].clone())).unzip();
        corpus_chrf(&texts, &references)
    };
    let mut chrf_by_confidence = Vec::new();
    if order.len() >= PARTS {
        for part in 0..PARTS {
            let at = |part: usize| part * order.len() / PARTS;
            chrf_by_confidence.push(chrf_of(&order[at(part)..at(part + 1)])?);
        }
    }
    let pairs = order
        .iter()
        .map(|&(confidence, i)| Ok((confidence, corpus_chrf(&[texts[i]], &[references[i].clone()])? / 100.0)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Judgement {
        phrases: phrases.len(),
        bleu: corpus_bleu(&texts, &references)?.score,
        chrf: corpus_chrf(&texts, &references)?,
        parts: translations.iter().map(|found| found.outcome.parts).sum(),
        warnings: warnings.collect(),
        chrf_by_confidence,
        calibration_error: (!pairs.is_empty()).then(|| calibration_error(&pairs)),
    })
}
