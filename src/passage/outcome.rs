//! What is asked of a text's translation, and what comes of it.

use core::fmt;
use core::ops::Range;

/// What is done around the model, each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Sentences are translated one by one. Off: the whole text is one, unless it is too long.
    pub sentences: bool,
    /// What the model must not touch is copied: numbers, codes, addresses, placeholders, tags, emoji, scripts that the
    /// vocabulary lacks.
    pub protect: bool,
    /// Text in capitals, or with a capital for each word, is translated as a sentence and written so again.
    pub casing: bool,
    /// The translation ends with a mark where the source does, and only there.
    pub punctuation: bool,
    /// Loops are left, and a translation is no longer than the source's length allows.
    pub guards: bool,
    /// Phrases and terms of the glossaries are taken from there.
    pub glossary: bool,
    /// What is certain of a sentence is written while the rest is searched; the text is the same in the end.
    pub stream: bool,
}

impl TextOptions {
    /// All of it.
    pub const DEFAULT: TextOptions = TextOptions {
        sentences: true,
        protect: true,
        casing: true,
        punctuation: true,
        guards: true,
        glossary: true,
        stream: true,
    };
    /// None of it: the text is what the model gets.
    pub const RAW: TextOptions = TextOptions {
        sentences: false,
        protect: false,
        casing: false,
        punctuation: false,
        guards: false,
        glossary: false,
        stream: true,
    };
}

impl Default for TextOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a user may want to know of a translation, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warnings(u8);

impl Warnings {
    /// None.
    pub const NONE: Warnings = Warnings(0);
    /// The limit on target tokens came before the end of a sentence: the text may lack something.
    pub const LENGTH: Warnings = Warnings(1);
    /// The model was about to repeat itself, and was kept from it.
    pub const LOOP: Warnings = Warnings(2);
    /// A sentence was too long and was translated in parts.
    pub const SPLIT: Warnings = Warnings(4);
    /// A sentence was translated in parts around what the model must not touch.
    pub const APART: Warnings = Warnings(8);
    /// Bytes that are not UTF-8 became U+FFFD.
    pub const INVALID: Warnings = Warnings(16);
    /// Something of the source could not be kept.
    pub const LOST: Warnings = Warnings(32);
    /// The translation was stopped on request.
    pub const STOPPED: Warnings = Warnings(64);

    const NAMES: [(Warnings, &'static str); 7] = [
        (Self::LENGTH, "length"),
        (Self::LOOP, "loop"),
        (Self::SPLIT, "split"),
        (Self::APART, "apart"),
        (Self::INVALID, "invalid"),
        (Self::LOST, "lost"),
        (Self::STOPPED, "stopped"),
    ];

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `others` are there.
    pub const fn contains(self, others: Warnings) -> bool {
        self.0 & others.0 == others.0
    }

    pub(crate) const fn add(&mut self, others: Warnings) {
        self.0 |= others.0;
    }

    /// Every one with its word.
    pub fn all() -> impl Iterator<Item = (Warnings, &'static str)> {
        Self::NAMES.into_iter()
    }

    /// A word for each that is there.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(warning, _)| self.contains(*warning)).map(|(_, name)| name)
    }
}

/// The words, with commas.
impl fmt::Display for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for name in self.names() {
            f.write_str(comma)?;
            f.write_str(name)?;
            comma = ", ";
        }
        Ok(())
    }
}

/// What came of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Source tokens that the model read, ends of sentences included.
    pub source_tokens: usize,
    /// Target tokens that it made, ends of sentences included.
    pub target_tokens: usize,
    /// Times that it was run.
    pub parts: usize,
    /// How improbable its tokens were on average, nats in Q7; zero where it was not run.
    pub nats: u32,
    /// Confidence in the translation, Q15: how well such translations did in calibration. `None` where the blob has no
    /// calibration or the model was not run.
    pub confidence: Option<u16>,
    /// What else is to be known.
    pub warnings: Warnings,
}

impl Outcome {
    /// Of nothing.
    pub const NONE: Outcome =
        Outcome { source_tokens: 0, target_tokens: 0, parts: 0, nats: 0, confidence: None, warnings: Warnings::NONE };
}

/// Where a target token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// Its bytes in what was written.
    pub target: Range<usize>,
    /// The bytes of the user's text that it was made from, as far as one attention head tells.
    pub source: Range<usize>,
    /// How improbable it was: nats in Q7.
    pub nats: u16,
    /// Confidence in it, Q15; `None` where the blob has no calibration.
    pub confidence: Option<u16>,
}
