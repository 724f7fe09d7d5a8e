//! The loop that serves a model: a line in, a line out.

use latimer::report::Report;
use latimer::{LogitsCrc, TextOptions, Translator, self_test::StageCrcs};

use crate::answer::{About, Answers, Passed, Trace};
use crate::line::Line;
use crate::phrase;
use crate::request::{HELP, Refusal, Request};
use crate::session::Desk;
use crate::{Event, LIMITS, Models, Port};

/// What is to be done when a model is no longer served.
pub(crate) enum Next {
    /// Another model is wanted.
    Model(usize),
    /// Nothing.
    End,
}

/// Answers lines until `:exit`, the end of input or a wish for another model.
pub(crate) fn serve<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &mut Translator<'_>,
    (models, number): (Models<'_>, usize),
    desk: &mut Desk,
) -> Result<Next, P::Error> {
    loop {
        let request = match answers.port.wait()? {
            Event::Closed => return Ok(Next::End),
            Event::Button => {
                phrase::again(answers, translator, desk)?;
                continue;
            }
            Event::Byte(byte) if !desk.line.push(byte) => continue,
            Event::Byte(_) => match desk.line.line() {
                Line::Text(text) => Request::parse(text),
                Line::TooLong => Err(Refusal::LineTooLong),
                Line::NotUtf8 => Err(Refusal::NotUtf8),
            },
        };
        match request {
            // As terminals and tools send them: the last phrase stays the last, for the button and `:stats`.
            Ok(Request::Phrase("")) => blank(answers)?,
            Ok(Request::Phrase(phrase)) => {
                desk.phrase.clear();
                // A line fits; it was read into as much room.
                let _ = desk.phrase.push_str(phrase);
                phrase::again(answers, translator, desk)?;
            }
            Ok(Request::Around(around)) => {
                desk.how.options = if around { TextOptions::DEFAULT } else { TextOptions::RAW };
                answers.note(if around { "whole text" } else { "model alone" })?;
            }
            Ok(Request::Stream) => {
                desk.how.live = !desk.how.live;
                answers.note(if desk.how.live { "stream on" } else { "stream off" })?;
            }
            Ok(Request::Json) => {
                answers.json = true;
                answers.note("json")?;
            }
            Ok(Request::Text) => {
                answers.json = false;
                answers.note("text")?;
            }
            Ok(Request::Stats) => {
                let (stack, measures) = (answers.port.stack(), &mut desk.measures);
                measures.stack = stack.size;
                measures.stack_high_water = stack.high_water;
                measures.arena_high_water = translator.arena_high_water();
                answers.both(measures)?;
            }
            Ok(Request::Info) => tell(answers, translator, models, number)?,
            Ok(Request::SelfTest) => test(answers, translator)?,
            Ok(Request::Trace(phrase)) => trace(answers, translator, phrase)?,
            Ok(Request::Model(asked)) => return Ok(Next::Model(asked)),
            Ok(Request::Max(tokens)) => {
                translator.set_max_tokens(tokens);
                answers.note("max set")?;
            }
            Ok(Request::Beam(beams)) => match translator.set_beams(beams) {
                Ok(()) => answers.note("beam set")?,
                Err(_) => answers.error(format_args!(
                    "this firmware has room for {} at a time: build it with `--beam`",
                    LIMITS.beams
                ))?,
            },
            Ok(Request::Help) => answers.note(HELP)?,
            Ok(Request::Exit) => return answers.note("bye").map(|()| Next::End),
            Err(refusal) => answers.error(refusal)?,
        }
    }
}

/// The line that a model is opened with.
#[inline(never)]
pub(crate) fn greet<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &Translator<'_>,
    models: Models<'_>,
    number: usize,
) -> Result<(), P::Error> {
    let about = About::of::<P>(translator, models, number);
    if answers.json { answers.json(&about) } else { answers.text(format_args!("{about}; :help lists the commands")) }
}

/// The translation of nothing.
#[inline(never)]
fn blank<P: Port>(answers: &mut Answers<'_, P>) -> Result<(), P::Error> {
    if answers.json { answers.json(&Report::empty(LogitsCrc::new().value())) } else { answers.text("") }
}

#[inline(never)]
fn tell<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &Translator<'_>,
    models: Models<'_>,
    number: usize,
) -> Result<(), P::Error> {
    answers.both(&About::of::<P>(translator, models, number))
}

#[inline(never)]
fn test<P: Port>(answers: &mut Answers<'_, P>, translator: &mut Translator<'_>) -> Result<(), P::Error> {
    match translator.self_test() {
        Ok(vectors) => answers.both(&Passed { selftest: vectors }),
        Err(error) => answers.error(error),
    }
}

/// What every layer makes of a phrase, which the model gets as it is.
#[inline(never)]
fn trace<P: Port>(answers: &mut Answers<'_, P>, translator: &mut Translator<'_>, phrase: &str) -> Result<(), P::Error> {
    let spec = *translator.blob().spec();
    let mut observer = (StageCrcs::new(spec.encoder_blocks()), LogitsCrc::new());
    let result = translator.translate_phrase(phrase.as_bytes(), &mut observer, &mut Nowhere);
    if let Err(error) = result {
        return answers.error(error);
    }
    let (crcs, logits) = observer;
    let stages = crcs.values(StageCrcs::count(spec.encoder_blocks(), spec.decoder_blocks()));
    let (source_ids, target_ids) = (translator.source_ids(), translator.target_ids());
    let encoder_layers = spec.encoder_blocks();
    answers.both(&Trace { source_ids, encoder_layers, stages, logits_crc: logits.value(), target_ids })
}

/// Takes text that nobody reads.
struct Nowhere;

impl core::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> core::fmt::Result {
        Ok(())
    }
}
