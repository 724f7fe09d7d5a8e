//! Text of any kind and length through the model, piece by piece, nothing of it lost in silence.
//!
//! ```text
//! text ─ sentences ─ parts ─┬─ spans copied ─────────────────────────────┐
//!                           └─ stand-ins, case ─ model ─ draft ─ place ─┴─ compose ─ out
//! ```
//!
//! A [`Passage`] is a text on its way. Each [`advance`](Passage::advance) does a bounded piece of the work, at most a block of the
//! encoder, a token of each hypothesis or a look at a sentence, so that firmware can feed a watchdog, or do something else, in between. What the model
//! must not touch (numbers, codes, addresses, ...) is replaced by a word that the model is known to carry over (a *stand-in*),
//! which is found again in the translation; where it is not, the words that were made from it tell the place; where none were,
//! the sentence is translated in parts around it.

mod around;
mod compose;
mod draft;
mod outcome;
mod part;
mod prepare;
mod steps;
mod write;

pub(crate) use draft::{Desk, Draft, Said};
pub use outcome::{Aligned, Outcome, TextOptions, Warnings};

use crate::error::Error;
use crate::observe::Observer;
use crate::phrase::case::Case;
use crate::translator::Translator;
use core::fmt::Write;
use core::ops::Range;
pub(crate) use part::Part;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Call [`Passage::advance`] again.
    More,
    /// All is written.
    Done,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next sentence is looked for.
    Sentence,
    /// The next part of it is chosen and tokenized.
    Part,
    Encoding,
    Searching,
    Done,
}

/// A text that is being translated.
///
/// ```
/// # use latimer::{Arena, Limits, Model, arena_len, include_blob};
/// # static BLOB: &[u8] = include_blob!("../example.blob");
/// # let model = Model::from_bytes(BLOB)?;
/// # let mut arena = Arena::<{ arena_len(BLOB, Limits::DEFAULT) }>::new();
/// # let mut translator = model.translator(arena.as_mut(), Limits::DEFAULT)?;
/// use latimer::passage::{Passage, Progress, TextOptions};
///
/// let mut passage = Passage::new("Good morning. It costs $12.50!".as_bytes(), TextOptions::DEFAULT);
/// let mut text = heapless::String::<256>::new();
/// while passage.advance(&mut translator, &mut (), &mut text)? == Progress::More {
///     // feed the watchdog; `text` grows whenever something is certain
/// }
/// assert!(text.contains("$12.50"));
/// for warning in passage.outcome().warnings.names() {
///     // "length", "loop", "split", ...
/// }
/// # Ok::<(), latimer::Error>(())
/// ```
#[derive(Debug)]
pub struct Passage<'t> {
    text: &'t [u8],
    options: TextOptions,
    /// A language code that the text starts with.
    code: &'t [u8],
    state: State,
    /// Bytes of the text that are done with.
    at: usize,
    /// The sentence, of which what is before `at` is done with.
    sentence: Range<usize>,
    case: Case,
    /// Its spans are not given to the model, not even as stand-ins.
    apart: bool,
    /// Whether a part of it has been translated: the first has the marks that open it.
    opened: bool,
    /// Where the next part ends at the latest.
    most: usize,
    /// Bytes written for earlier parts, and of this one.
    written: usize,
    /// The last character of them.
    last: char,
    written_of_part: usize,
    nats: u32,
    outcome: Outcome,
}

impl<'t> Passage<'t> {
    /// A text whose translation has not begun.
    pub const fn new(text: &'t [u8], options: TextOptions) -> Self {
        Passage {
            text,
            options,
            code: &[],
            state: State::Sentence,
            at: 0,
            sentence: 0..0,
            case: Case::AsIs,
            apart: false,
            opened: false,
            most: usize::MAX,
            written: 0,
            last: ' ',
            written_of_part: 0,
            nats: 0,
            outcome: Outcome::NONE,
        }
    }

    /// What has come of it so far.
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Does the next piece of the work; what is certain of the translation goes to `out`. A sentence without spans is written word
    /// by word, as far as all hypotheses agree, others when they are whole. The translator is to do nothing else until all is done.
    ///
    /// # Errors
    ///
    /// The passage is done after any of them; what was written stays.
    ///
    /// - [`Error::OutputFull`]: `out` cannot hold the translation.
    /// - [`Error::TextTooLong`], [`Error::TooManyTokens`]: the limits have no room for one character with what the model reads along
    ///   with it, though longer text is cut: the language code that the text starts with, the mark that ends a sentence, the white space
    ///   that its tokenizer puts before it, the end of sentence. Some characters are several once they are normalized. Text of which
    ///   the normalizer leaves nothing is too long where it has 16 times as many bytes as the limit and cannot be cut.
    /// - [`Error::OutOfSteps`], [`Error::NothingToEncode`]: the translator did something else in between.
    /// - [`Error::InvalidId`]: the tokenizer of the blob has ids that its embedding lacks; the packer makes no such blob.
    pub fn advance(
        &mut self,
        translator: &mut Translator<'_>,
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<Progress, Error> {
        let next = match self.state {
            State::Sentence => self.next_sentence(translator, out),
            State::Part => self.next_part(translator, out),
            // What comes after a step of the model takes no stack meanwhile.
            State::Encoding => translator.encode_part(observer).and_then(|more| self.encoded(more, translator)),
            State::Searching => {
                translator.search_step(observer).and_then(|more| self.searched(more, translator, observer, out))
            }
            State::Done => Ok(State::Done),
        };
        self.state = *next.as_ref().unwrap_or(&State::Done);
        next.map(|state| if state == State::Done { Progress::Done } else { Progress::More })
    }
}

impl Passage<'_> {
    /// Ends the translation with what there is of it, which is written with [`Warnings::STOPPED`]. An observer of the search's tokens
    /// can ask for the same.
    ///
    /// # Errors
    ///
    /// As [`Passage::advance`].
    pub fn stop(
        &mut self,
        translator: &mut Translator<'_>,
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<Outcome, Error> {
        if self.state == State::Searching {
            translator.stop_search()?;
            let untold = !translator.target_ids().is_empty()
                && self.searched(false, translator, observer, out)? == State::Part
                && self.at < translator.part.end;
            // Spans without a place in what there is.
            if untold {
                self.copy(translator.part.end, out)?;
                self.outcome.warnings.add(Warnings::LOST);
            }
        }
        if self.state != State::Done {
            self.ended(translator);
        }
        self.state = State::Done;
        Ok(self.outcome)
    }
}

impl Translator<'_> {
    /// Translates a text of any kind and length into `out`, which is cleared first, with all that [`TextOptions`] can ask for.
    ///
    /// # Errors
    ///
    /// As [`Passage::advance`].
    pub fn translate<const N: usize>(&mut self, text: &str, out: &mut heapless::String<N>) -> Result<Outcome, Error> {
        out.clear();
        self.translate_text(text.as_bytes(), TextOptions::DEFAULT, &mut (), out)
    }

    /// [`Translator::translate`] of any bytes into any writer, which is not cleared, with an observer.
    ///
    /// # Errors
    ///
    /// As [`Passage::advance`].
    pub fn translate_text(
        &mut self,
        text: &[u8],
        options: TextOptions,
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<Outcome, Error> {
        let mut passage = Passage::new(text, options);
        while passage.advance(self, observer, out)? == Progress::More {}
        Ok(passage.outcome())
    }
}
