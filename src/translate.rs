//! The way of the data: text in, text out.

use crate::arena::MAX_BEAMS;
use crate::error::Error;
use crate::observe::Observer;
use crate::translator::Translator;
use core::fmt::Write;
use core::ops::ControlFlow;

/// What a translation took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Source tokens, end of sentence included; zero for a blank phrase, which the model is not asked about.
    pub source_tokens: usize,
    /// Target tokens, end of sentence included.
    pub target_tokens: usize,
    /// The limit came, or the observer stopped, before the end of sentence: the text may lack its end.
    pub truncated: bool,
}

impl Translator<'_> {
    /// Gives one phrase of any bytes (what is not UTF-8 becomes U+FFFD) to the model as it is, and writes what comes out: nothing
    /// is done around the model, no hard words are kept from it. A phrase that normalizes to nothing (empty, or whitespace by the
    /// model's character map) gives an empty one. A beam search writes the text in the end and shows the observer no tokens: see
    /// [`Translator::search`]. [`Translator::translate`] is for what people type.
    ///
    /// # Errors
    ///
    /// [`Error::TextTooLong`], [`Error::TooManyTokens`] where the phrase exceeds the limits, [`Error::OutputFull`] where `out` cannot
    /// hold the translation.
    pub fn translate_phrase(
        &mut self,
        text: &[u8],
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<Stats, Error> {
        self.forget();
        let header = *self.blob.spec().header();
        let codes = usize::from(self.blob.tokenizer().split_language(text).0.is_some());
        if self.tokenize(text)?.len() == codes + 1 {
            self.source_len = 0;
            return Ok(Stats::default());
        }
        self.encode(observer)?;
        // The first is known to the compiler: a firmware without the feature has no such search for phrases.
        if MAX_BEAMS > 1 && self.beams > 1 {
            let truncated = !self.search(observer)?;
            let mut detokenizer = self.blob.tokenizer().detokenizer();
            for &id in self.target_ids().iter().filter(|&&id| id != header.eos_id) {
                detokenizer.push(id, out)?;
            }
            detokenizer.finish(out)?;
            return Ok(Stats { source_tokens: self.source_len, target_tokens: self.target_len, truncated });
        }
        let mut id = header.start_id;
        let mut truncated = true;
        let mut detokenizer = self.blob.tokenizer().detokenizer();
        for step in 0..self.max_tokens {
            id = self.step(id, observer)?;
            self.push_target(id);
            let flow = observer.token(step, id);
            if id == header.eos_id {
                truncated = false;
                break;
            }
            detokenizer.push(id, out)?;
            if flow == ControlFlow::Break(()) {
                break;
            }
        }
        detokenizer.finish(out)?;
        Ok(Stats { source_tokens: self.source_len, target_tokens: self.target_len, truncated })
    }

    /// `max_tokens` never exceeds the room for ids.
    fn push_target(&mut self, id: u16) {
        if let Some(slot) = self.target_ids.get_mut(self.target_len) {
            *slot = id;
            self.target_len += 1;
        }
    }
}
