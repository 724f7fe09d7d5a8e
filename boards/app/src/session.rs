//! The main loop: a line in, a line out.

use heapless::String;
use latimer::report::Report;
use latimer::{AlignmentCrc, Error, Limits, LogitsCrc, Model, Outcome, TextOptions, Translator};

use crate::Port;
use crate::answer::{About, Answers, JSON_BYTES, Measures, Passed};
use crate::line::{Line, LineReader};
use crate::log::{debug, info};
use crate::request::{HELP, Refusal, Request};

/// The limits every board's arena is sized for.
pub const LIMITS: Limits = Limits { beams: if cfg!(feature = "beam") { 4 } else { 1 }, ..Limits::DEFAULT };

/// Room for a translation: twice what a line has.
pub(crate) const TARGET_BYTES: usize = 2 * crate::LINE_BYTES;

/// Memory of a session, kept off the stack so that `:stats` tells what the engine needs there.
#[derive(Debug)]
pub struct Buffers<'m> {
    /// Some 700 bytes, and twice as many.
    model: Option<Model<'m>>,
    translator: Option<Translator<'m>>,
    line: LineReader,
    target: String<TARGET_BYTES>,
    json: [u8; JSON_BYTES],
    last: Last,
    #[cfg(feature = "bench")]
    bench: crate::bench::Memory,
}

/// The last phrase.
#[derive(Debug)]
struct Last {
    outcome: Outcome,
    crcs: Option<(LogitsCrc, AlignmentCrc)>,
    measures: Measures,
}

impl Last {
    const NONE: Self = Last { outcome: Outcome::NONE, crcs: None, measures: Measures::NONE };
}

impl Buffers<'_> {
    /// Empty buffers.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new() -> Self {
        Self {
            model: None,
            translator: None,
            line: LineReader::new(),
            target: String::new(),
            json: [0; JSON_BYTES],
            last: Last::NONE,
            #[cfg(feature = "bench")]
            bench: crate::bench::Memory::new(),
        }
    }
}

/// Answers lines until `:exit` and ends the program: 0 when asked to, 1 when the line broke or the blob is no good.
pub fn run<'m, P: Port>(port: &mut P, blob: &'m [u8], arena: &'m mut [u8], buffers: &mut Buffers<'m>) -> ! {
    #[cfg(feature = "bench")]
    let result = crate::bench::session(port, Some((blob, arena)), &mut buffers.bench.0);
    #[cfg(not(feature = "bench"))]
    let result = session(port, blob, arena, buffers);
    let code = match result {
        Ok(true) => 0,
        Ok(false) | Err(_) => 1,
    };
    P::exit(code)
}

/// Answers lines until `:exit` or the end of input; false if the blob can't be run.
pub fn session<'m, P: Port>(
    port: &mut P,
    blob: &'m [u8],
    arena: &'m mut [u8],
    buffers: &mut Buffers<'m>,
) -> Result<bool, P::Error> {
    let Buffers { model, translator, line, target, json, last, .. } = buffers;
    let mut answers = Answers { port, json: false, buffer: json };
    let arena_bytes = arena.len();
    let opened = read(model, blob).and_then(|model| open(translator, model, arena));
    let translator = match opened {
        Ok(translator) => translator,
        Err(error) => return answers.error(error).map(|()| false),
    };
    // Room for more does not make a search of it.
    let _ = translator.set_beams(1);
    info!("{} bytes of blob, {} of arena", blob.len(), arena_bytes);
    greet(&mut answers, translator, blob)?;

    *last = Last { measures: Measures { arena: arena_bytes, ..Measures::NONE }, ..Last::NONE };
    let mut options = TextOptions::DEFAULT;
    loop {
        let mut byte = [0];
        if answers.port.read(&mut byte)? == 0 {
            return Ok(true);
        }
        if !line.push(byte[0]) {
            continue;
        }
        let request = match line.line() {
            Line::Text(text) => Request::parse(text),
            Line::TooLong => Err(Refusal::LineTooLong),
            Line::NotUtf8 => Err(Refusal::NotUtf8),
        };
        match request {
            Ok(Request::Phrase(phrase)) => answer_phrase(&mut answers, translator, (phrase, options), target, last)?,
            Ok(Request::Around(around)) => {
                options = if around { TextOptions::DEFAULT } else { TextOptions::RAW };
                answers.note(if around { "whole text" } else { "model alone" })?;
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
                let (stack, measures) = (answers.port.stack(), &mut last.measures);
                measures.stack = stack.size;
                measures.stack_high_water = stack.high_water;
                measures.arena_high_water = translator.arena_high_water();
                answers.both(measures)?;
            }
            Ok(Request::Info) => tell::<P>(&mut answers, translator, blob)?,
            Ok(Request::SelfTest) => match translator.self_test() {
                Ok(vectors) => answers.both(&Passed { selftest: vectors })?,
                Err(error) => answers.error(error)?,
            },
            Ok(Request::Max(tokens)) => {
                translator.set_max_tokens(tokens);
                answers.note("max set")?;
            }
            Ok(Request::Beam(beams)) => match translator.set_beams(beams) {
                Ok(()) => answers.note("beam set")?,
                Err(_) => answers.error(format_args!("this firmware has room for {} at a time", LIMITS.beams))?,
            },
            Ok(Request::Help) => answers.note(HELP)?,
            Ok(Request::Exit) => return answers.note("bye").map(|()| true),
            Err(refusal) => answers.error(refusal)?,
        }
    }
}

#[inline(never)]
fn greet<P: Port>(answers: &mut Answers<'_, P>, translator: &Translator<'_>, blob: &[u8]) -> Result<(), P::Error> {
    answers.text(format_args!("{}; :help lists the commands", About::of::<P>(translator, blob)))
}

#[inline(never)]
fn tell<P: Port>(answers: &mut Answers<'_, P>, translator: &Translator<'_>, blob: &[u8]) -> Result<(), P::Error> {
    answers.both(&About::of::<P>(translator, blob))
}

/// Puts the model in `blob` in its place. Neither this nor what follows is inlined: both were on the stack at once else.
#[inline(never)]
fn read<'m, 'p>(place: &'p mut Option<Model<'m>>, blob: &'m [u8]) -> Result<&'p Model<'m>, Error> {
    Ok(place.insert(Model::from_bytes(blob)?))
}

/// Puts a translator of the model in its place.
#[inline(never)]
fn open<'m, 'p>(
    place: &'p mut Option<Translator<'m>>,
    model: &Model<'m>,
    arena: &'m mut [u8],
) -> Result<&'p mut Translator<'m>, Error> {
    Ok(place.insert(model.translator(arena, LIMITS)?))
}

/// Translates and answers one phrase.
fn answer_phrase<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &mut Translator<'_>,
    phrase: (&str, TextOptions),
    target: &mut String<TARGET_BYTES>,
    last: &mut Last,
) -> Result<(), P::Error> {
    target.clear();
    let start = answers.port.instructions();
    // The checksums cost time, so that only those who see them pay for them.
    last.crcs = answers.json.then(Default::default);
    let result = translate(translator, phrase, target, last);
    last.measures.instructions = answers.port.instructions().saturating_sub(start);
    tell_phrase(answers, translator, (phrase.0, target), last, result)
}

/// What comes before and after it takes no stack meanwhile.
#[inline(never)]
fn translate(
    translator: &mut Translator<'_>,
    (phrase, options): (&str, TextOptions),
    target: &mut String<TARGET_BYTES>,
    last: &mut Last,
) -> Result<(), Error> {
    last.outcome = translator.translate_text(phrase.as_bytes(), options, &mut last.crcs, target)?;
    Ok(())
}

#[inline(never)]
fn tell_phrase<P: Port>(
    answers: &mut Answers<'_, P>,
    translator: &Translator<'_>,
    (phrase, target): (&str, &str),
    last: &mut Last,
    result: Result<(), Error>,
) -> Result<(), P::Error> {
    if let Err(error) = result {
        last.measures = Measures { arena: last.measures.arena, ..Measures::NONE };
        return answers.error(error);
    }
    let (measures, outcome) = (&mut last.measures, &last.outcome);
    let report = Report::of(phrase, target, outcome);
    measures.source_tokens = outcome.source_tokens;
    measures.target_tokens = outcome.target_tokens;
    measures.confidence = report.confidence;
    measures.warnings = outcome.warnings;
    debug!("{} instructions, {} tokens", measures.instructions, outcome.target_tokens);
    let Some((logits, alignment)) = &last.crcs else { return answers.text(target) };
    let asked = outcome.parts > 0;
    let source_ids = if asked { translator.source_ids() } else { &[] };
    let target_ids = if asked { translator.target_ids() } else { &[] };
    let (logits_crc, alignment_crc) = (logits.value(), alignment.value());
    answers.json(&Report { source_ids, target_ids, logits_crc, alignment_crc, ..report })
}
