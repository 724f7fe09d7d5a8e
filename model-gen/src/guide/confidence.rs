//! Confidence: probabilities of the model against how well its translations are.
//!
//! A phrase's confidence is the sentence chrF, as a share, that translations with as many nats a token have; a token's, the share
//! of such tokens whose word is in a reference. Means of as many phrases each, made monotonic by pooling adjacent violators
//! (Ayer and others 1955, isotonic regression), are the knots of a line.

use super::{Watch, run_all};
use crate::score::corpus_chrf;
use crate::score::pairs::Phrase;
use anyhow::{Context, Result};
use latimer::blob::guide::{Knot, SURE};
use latimer::passage::Aligned;
use latimer::{Limits, Model, Observer, TextOptions};
use std::collections::HashSet;

/// Knots of a line.
const KNOTS: usize = 12;
/// Bins that the calibration error is a mean over.
const BINS: usize = 10;

/// A line of confidence, and how good it is.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Points of the line.
    pub knots: Vec<Knot>,
    /// Samples that it was fitted to.
    pub samples: usize,
    /// Expected calibration error on those.
    pub error: f64,
}

/// Nats a token of a phrase or token, Q7, and how good it is, 0 to 1.
type Sample = (u32, f64);

pub(super) fn calibrate(
    model: &Model<'_>,
    dev: &[Phrase],
    limits: Limits,
    watch: Watch,
) -> Result<(Calibration, Calibration)> {
    let samples = run_all(model, limits, dev, |translator, phrase| {
        let (mut tokens, mut text) = (Tokens::default(), String::new());
        let outcome = translator
            .translate_text(phrase.source.as_bytes(), TextOptions::DEFAULT, &mut tokens, &mut text)
            .with_context(|| format!("phrase {:?}", phrase.source))?;
        watch("confidence");
        let references: Vec<&str> = phrase.references.iter().map(String::as_str).collect();
        let known: HashSet<String> = references.iter().flat_map(|reference| words(reference)).collect();
        let tokens: Vec<Sample> = tokens
            .0
            .iter()
            .filter_map(|aligned| Some((aligned, word_at(&text, aligned.target.clone())?)))
            .map(|(aligned, word)| (u32::from(aligned.nats), f64::from(u8::from(known.contains(&word)))))
            .collect();
        let chrf = corpus_chrf(&[&text], &[references])? / 100.0;
        Ok(((outcome.parts > 0).then_some((outcome.nats, chrf)), tokens))
    })?;
    let phrases: Vec<Sample> = samples.iter().filter_map(|(phrase, _)| *phrase).collect();
    let tokens: Vec<Sample> = samples.into_iter().flat_map(|(_, tokens)| tokens).collect();
    Ok((line(phrases), line(tokens)))
}

/// Tokens as they come.
#[derive(Default)]
struct Tokens(Vec<Aligned>);

impl Observer for Tokens {
    fn aligned(&mut self, aligned: &Aligned) {
        self.0.push(aligned.clone());
    }
}

/// Words of a text in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The word that a range of a text is part of, in lower case; `None` of none.
fn word_at(text: &str, range: std::ops::Range<usize>) -> Option<String> {
    let inside = |c: char| c.is_alphanumeric();
    let piece = text.get(range.clone())?;
    let first = range.start + piece.find(inside)?;
    let start =
        text[..first].rfind(|c| !inside(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[first..].find(|c| !inside(c)).map_or(text.len(), |at| first + at);
    Some(text[start..end].to_lowercase())
}

/// Knots at the means of equal parts of the samples, never rising.
fn line(mut samples: Vec<Sample>) -> Calibration {
    samples.sort_by_key(|(nats, _)| *nats);
    // Sum of nats, of qualities, and how many.
    let mut pools: Vec<(f64, f64, f64)> = Vec::new();
    for part in samples.chunks(samples.len().div_ceil(KNOTS).max(1)) {
        let sum = |f: fn(&Sample) -> f64| part.iter().map(f).sum::<f64>();
        pools.push((sum(|s| f64::from(s.0)), sum(|s| s.1), part.len() as f64));
        while let [.., before, last] = pools[..]
            && (before.1 / before.2 < last.1 / last.2 || (before.0 / before.2).round() >= (last.0 / last.2).round())
        {
            pools.truncate(pools.len() - 2);
            pools.push((before.0 + last.0, before.1 + last.1, before.2 + last.2));
        }
    }
    let knots: Vec<Knot> = pools
        .iter()
        .map(|(nats, quality, count)| Knot {
            nats: (nats / count).round().min(65_535.0) as u16,
            confidence: (quality / count * f64::from(SURE)).round() as u16,
        })
        .collect();
    let pairs: Vec<(f64, f64)> = samples.iter().map(|&(nats, quality)| (read(&knots, nats), quality)).collect();
    Calibration { knots, samples: samples.len(), error: calibration_error(&pairs) }
}

/// The line's value, 0 to 1, as the runtime reads it.
fn read(knots: &[Knot], nats: u32) -> f64 {
    let header = latimer::blob::guide::GuideHeader::default();
    let parts = latimer::blob::guide::GuideParts { header, phrase: knots, token: &[], stand_ins: &[] };
    let mut section = vec![0; parts.emitted_len()];
    parts.emit(&mut section).expect("a few knots fit");
    let guide = latimer::blob::guide::Guide::parse(&section).expect("knots fall");
    f64::from(guide.phrase_confidence(nats).unwrap_or(0)) / f64::from(SURE)
}

/// Expected calibration error of (confidence, quality) pairs: the mean distance of the two over bins of equal width, each
/// weighted by its pairs (Naeini and others 2015).
pub fn calibration_error(pairs: &[(f64, f64)]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for &(confidence, quality) in pairs {
        let bin = ((confidence * BINS as f64) as usize).min(BINS - 1);
        bins[bin].0 += confidence;
        bins[bin].1 += quality;
    }
    bins.iter().map(|(confidence, quality)| (confidence - quality).abs()).sum::<f64>() / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fall_and_pass_through_means() {
        let samples: Vec<Sample> =
            (0..1200).map(|i| (i, if i % 100 < 50 { 1.0 - f64::from(i) / 2400.0 } else { 0.0 })).collect();
        let line = line(samples);
        assert!((4..=KNOTS).contains(&line.knots.len()) && line.samples == 1200);
        assert!(line.knots.windows(2).all(|k| k[0].nats < k[1].nats && k[0].confidence >= k[1].confidence));
        let mean = f64::from(line.knots[0].confidence) / f64::from(SURE);
        assert!((mean - 0.49).abs() < 0.02, "{mean}");
        assert!(line.error < 0.03, "{}", line.error);
    }

    #[test]
    fn words_are_found_around_tokens() {
        let text = "¿Dónde está el tren?";
        let at = |piece: &str| text.find(piece).map(|at| at..at + piece.len()).unwrap();
        assert_eq!(word_at(text, at("ón")).as_deref(), Some("dónde"));
        assert_eq!(word_at(text, at(" está")).as_deref(), Some("está"));
        assert_eq!(word_at(text, at("?")), None);
    }

    #[test]
    fn errors_are_distances() {
        assert_eq!(calibration_error(&[(0.75, 1.0), (0.75, 0.5)]), 0.0);
        assert!((calibration_error(&[(0.9, 0.0), (0.1, 0.1)]) - 0.45).abs() < 1e-12);
    }
}
