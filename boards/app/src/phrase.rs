//! A phrase through the model, step by step.

use latimer::passage::{Passage, Progress};
use latimer::report::Report;
use latimer::{Error, Outcome, TextOptions, Translator};

use crate::Port;
use crate::answer::{Answers, Measures, Piece};
use crate::log::debug;
use crate::session::Desk;

/// How phrases are translated and answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub options: TextOptions,
    /// Whether what is certain is written at once.
    pub live: bool,
}

impl How {
    /// How a session begins.
    pub const FIRST: Self = Self { options: TextOptions::DEFAULT, live: false };
    /// Nothing of it.
    pub const OFF: Self = Self { options: TextOptions { stream: false, ..TextOptions::RAW }, live: false };
}

/// Translates and answers the phrase that is on the desk.
pub(crate) fn again<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &mut Translator<'_>,
    desk: &mut Desk,
) -> Result<(), P::Error> {
    desk.target.clear();
    answers.port.busy(true);
    let start = answers.port.count();
    // The checksums cost time, so that only those who see them pay for them.
    desk.crcs = answers.json.then(Default::default);
    let result = translate(answers, translator, desk);
    let count = answers.port.count().saturating_sub(start);
    desk.measures.set_count::<P>(count);
    answers.port.busy(false);
    tell(answers, translator, desk, result)
}

/// What comes before and after it takes no stack meanwhile.
#[inline(never)]
fn translate<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &mut Translator<'_>,
    desk: &mut Desk,
) -> Result<(), Error> {
    let Desk { how, phrase, target, outcome, crcs, .. } = desk;
    *outcome = Outcome::NONE;
    let mut passage = Passage::new(phrase.as_bytes(), how.options);
    loop {
        let written = target.len();
        let mut progress = passage.advance(translator, crcs, target)?;
        if progress == Progress::More && answers.port.between().is_break() {
            passage.stop(translator, crcs, target)?;
            progress = Progress::Done;
        }
        if how.live {
            show(answers, target.get(written..).unwrap_or_default());
        }
        if progress == Progress::Done {
            *outcome = passage.outcome();
            return Ok(());
        }
    }
}

/// Shows what has come of a translation on its way. A line that is broken is told when it is used next.
#[inline(never)]
fn show<P: Port>(answers: &mut Answers<'_, P>, piece: &str) {
    if piece.is_empty() {
        return;
    }
    let _ = if answers.json { answers.json(&Piece { piece }) } else { answers.piece(piece) };
}

#[inline(never)]
fn tell<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &Translator<'_>,
    desk: &mut Desk,
    result: Result<(), Error>,
) -> Result<(), P::Error> {
    let Desk { how, phrase, target, outcome, crcs, measures, .. } = desk;
    let written = how.live && !answers.json && !target.is_empty();
    if let Err(error) = result {
        *measures = Measures { arena: measures.arena, ..Measures::NONE };
        // On a line of its own.
        if written {
            answers.end()?;
        }
        return answers.error(error);
    }
    let report = Report::of(phrase, target, outcome);
    measures.source_tokens = outcome.source_tokens;
    measures.target_tokens = outcome.target_tokens;
    measures.confidence = report.confidence;
    measures.warnings = outcome.warnings;
    debug!("{} tokens from {}", outcome.target_tokens, outcome.source_tokens);
    let Some((logits, alignment)) = crcs else {
        return if written { answers.end() } else { answers.text(target) };
    };
    let asked = outcome.parts > 0;
    let source_ids = if asked { translator.source_ids() } else { &[] };
    let target_ids = if asked { translator.target_ids() } else { &[] };
    let (logits_crc, alignment_crc) = (logits.value(), alignment.value());
    answers.json(&Report { source_ids, target_ids, logits_crc, alignment_crc, ..report })
}
