//! How answers are written: one line each, in plain text or in JSON.

use core::fmt::{self, Display, Write as _};

use heapless::String;
use latimer::report::{ErrorReport, write_json};
use latimer::{Limits, Translator, Warnings};
use serde::Serialize;

use crate::{LIMITS, Models, Port, Unit};

/// Room for a report in JSON: the text of a full line and a full translation with every byte escaped, ids, keys.
pub(crate) const JSON_BYTES: usize = 6 * (crate::LINE_BYTES + crate::session::TARGET_BYTES) + 2048;

/// What `:stats` answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// Bytes of the arena.
    pub arena: usize,
    /// Bytes of it ever used.
    pub arena_high_water: usize,
    /// Bytes of the stack.
    pub stack: usize,
    /// Bytes of it ever used.
    pub stack_high_water: usize,
    /// Instructions spent on the last phrase, where the board counts them.
    pub instructions: Option<u64>,
    /// Clock cycles, where the board counts those.
    pub cycles: Option<u64>,
    /// Cycles a second.
    pub clock_hz: Option<u32>,
    /// Tokens of the last phrase, end of sentence included.
    pub source_tokens: usize,
    /// Tokens of its translation.
    pub target_tokens: usize,
    /// Confidence in it, in percent.
    pub confidence: Option<u8>,
    /// What is to be known of it.
    pub warnings: Warnings,
}

impl Measures {
    /// Of nothing.
    pub const NONE: Measures = Measures {
        arena: 0,
        arena_high_water: 0,
        stack: 0,
        stack_high_water: 0,
        instructions: None,
        cycles: None,
        clock_hz: None,
        source_tokens: 0,
        target_tokens: 0,
        confidence: None,
        warnings: Warnings::NONE,
    };
}

impl Measures {
    /// What a board of that kind counted for the last phrase.
    pub(crate) fn set_count<P: Port>(&mut self, count: u64) {
        (self.instructions, self.cycles) = match P::UNIT {
            Unit::Instructions => (Some(count), None),
            Unit::Cycles => (None, Some(count)),
        };
        self.clock_hz = P::CLOCK_HZ;
    }
}

impl Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena {} of {} bytes, ", self.arena_high_water, self.arena)?;
        write!(f, "stack {} of {} bytes, ", self.stack_high_water, self.stack)?;
        f.write_str("last phrase ")?;
        for (count, unit) in [(self.instructions, Unit::Instructions), (self.cycles, Unit::Cycles)] {
            if let Some(count) = count {
                write!(f, "{count} {} ", unit.name())?;
            }
        }
        write!(f, "for {} + {} tokens", self.source_tokens, self.target_tokens)?;
        if let Some(confidence) = self.confidence {
            write!(f, ", confidence {confidence} %")?;
        }
        if self.warnings.is_empty() { Ok(()) } else { write!(f, ", warnings: {}", self.warnings) }
    }
}

/// What `:info` answers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct About<'a> {
    pub board: &'a str,
    pub version: &'a str,
    pub model: &'a str,
    pub licence: &'a str,
    /// Bytes of the blob, and the version of the model in it.
    pub blob: usize,
    pub model_version: u32,
    /// The header's checksum, by which another blob of equal length is told: it covers all others.
    pub blob_crc: u32,
    /// Which of how many models it is.
    pub number: usize,
    pub models: usize,
    pub engine: &'a str,
    pub source_tokens: u16,
    pub target_tokens: u16,
    pub beams: u16,
}

impl<'a> About<'a> {
    /// Of the board that `P` is, and the model of a translator.
    pub fn of<P: Port>(translator: &Translator<'a>, models: Models<'_>, number: usize) -> Self {
        let blob = translator.blob();
        let meta = |key, other| blob.meta(key).unwrap_or(other);
        let Limits { source_tokens, target_tokens, beams, .. } = LIMITS;
        let header = blob.container().header();
        About {
            board: P::NAME,
            version: env!("CARGO_PKG_VERSION"),
            model: meta("name", "unnamed"),
            licence: meta("licence", "licence unknown"),
            blob: blob.len(),
            model_version: header.model_version,
            blob_crc: header.header_crc,
            number,
            models: models.count(),
            engine: blob.engine().name(),
            source_tokens,
            target_tokens,
            beams,
        }
    }
}

impl Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { board, version, model, licence, blob, number, models, .. } = self;
        write!(f, "latimer {version} on {board}: {model} ({licence}), {blob} bytes")?;
        if *models > 1 { write!(f, ", model {number} of {models}") } else { Ok(()) }
    }
}

/// What `:trace` answers: ids, and checksums of what each stage made of them, embeddings first, then layer by layer, those of the
/// encoder first.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Trace<'a> {
    pub source_ids: &'a [u16],
    pub encoder_layers: usize,
    pub stages: &'a [u32],
    pub logits_crc: u32,
    pub target_ids: &'a [u16],
}

impl Display for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source {:?}, encoder", self.source_ids)?;
        for (stage, crc) in self.stages.iter().enumerate() {
            f.write_str(if stage == self.encoder_layers + 1 { ", decoder " } else { " " })?;
            write!(f, "{crc:08x}")?;
        }
        write!(f, ", logits {:08x}, target {:?}", self.logits_crc, self.target_ids)
    }
}

/// A piece of a translation on its way, in JSON.
#[derive(Serialize)]
pub(crate) struct Piece<'a> {
    pub piece: &'a str,
}

/// What `:selftest` answers when all is well.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Passed {
    pub selftest: usize,
}

impl Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "self-test passed: {} vectors", self.selftest)
    }
}

/// What `:json`, `:max` and their like answer in JSON.
#[derive(Serialize)]
pub(crate) struct Note<'a> {
    pub note: &'a str,
}

/// The way answers go out.
pub(crate) struct Answers<'a, P> {
    pub port: &'a mut P,
    pub json: bool,
    pub buffer: &'a mut [u8; JSON_BYTES],
}

// Not inlined, where they hold what is written: the loop that calls them is on the stack while a phrase is translated.
impl<P: Port> Answers<'_, P> {
    /// `value` in the format that is on: its own words, or JSON.
    #[inline(never)]
    pub fn both(&mut self, value: &(impl Display + Serialize)) -> Result<(), P::Error> {
        if self.json { self.json(value) } else { self.text(value) }
    }

    /// A line of words.
    #[inline(never)]
    pub fn text(&mut self, words: impl Display) -> Result<(), P::Error> {
        // Formatting fails only where the port does, and the flush below tells that.
        let _ = write!(OneLine(self.port), "{words}");
        self.end()
    }

    /// The next words of a line.
    #[inline(never)]
    pub fn piece(&mut self, words: &str) -> Result<(), P::Error> {
        let _ = write!(OneLine(self.port), "{words}");
        self.port.flush()
    }

    /// A line of JSON.
    #[inline(never)]
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), P::Error> {
        match write_json(value, self.buffer) {
            Ok(len) => self.port.write_all(self.buffer.get(..len).unwrap_or_default())?,
            Err(error) => return self.error(error),
        }
        self.end()
    }

    /// A line that tells of `text` in the format that is on.
    #[inline(never)]
    pub fn note(&mut self, note: &str) -> Result<(), P::Error> {
        if self.json { self.json(&Note { note }) } else { self.text(note) }
    }

    /// A line that tells of an error in the format that is on.
    #[inline(never)]
    pub fn error(&mut self, error: impl Display) -> Result<(), P::Error> {
        if !self.json {
            return self.text(format_args!("error: {error}"));
        }
        let mut words = String::<160>::new();
        // Words that do not fit are cut; every message of this firmware fits.
        let _ = write!(words, "{error}");
        // Cannot fail: the buffer holds any such report.
        let len = ErrorReport { error: &words }.write(self.buffer).unwrap_or(0);
        self.port.write_all(self.buffer.get(..len).unwrap_or_default())?;
        self.end()
    }

    pub fn end(&mut self) -> Result<(), P::Error> {
        self.port.write_all(b"\r\n")?;
        self.port.flush()
    }
}

/// Writes text with control characters as blanks, so that an answer stays one line whatever it holds.
struct OneLine<'a, P>(&'a mut P);

impl<P: Port> fmt::Write for OneLine<'_, P> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut first = true;
        for part in text.split(char::is_control) {
            if !core::mem::take(&mut first) {
                self.0.write_all(b" ").map_err(|_| fmt::Error)?;
            }
            self.0.write_all(part.as_bytes()).map_err(|_| fmt::Error)?;
        }
        Ok(())
    }
}
