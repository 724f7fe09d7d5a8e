//! What a passage writes: what is certain, whole parts, and what is copied.

use super::compose::{Composition, Output, Style, copy, write_term};
use super::draft::{Inserts, What};
use super::part::{Part, Span, next_span, term};
use super::steps::glossaries;
use super::{Passage, State, Warnings};
use crate::error::Error;
use crate::observe::Observer;
use crate::phrase::case::{Case, Lettering, Restore};
use crate::phrase::chars::{char_before, chars, is_digit, is_letter, is_lower, is_space};
use crate::phrase::kept::{digits_kept, first_words, is_kept};
use crate::phrase::punctuation::{Edit, Final, adjust, final_of, opening};
use crate::text::Tokenizer;
use crate::translator::Translator;
use core::fmt::Write;
use core::ops::Range;

impl<'t> Passage<'t> {
    /// Writes what is certain while the search goes on, and the part where it has ended.
    #[inline(never)]
    pub(super) fn searched(
        &mut self,
        more: bool,
        translator: &mut Translator<'_>,
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<State, Error> {
        if more {
            // Spans may yet ask for the sentence to be taken apart.
            if self.options.stream && translator.part.spans().is_empty() {
                self.write_certain(translator, out)?;
            }
            return Ok(State::Searching);
        }
        if !self.write_part(translator, observer, out)? {
            return Ok(self.take_apart());
        }
        let stopped = translator.was_stopped();
        if stopped && !translator.ends_whole() {
            self.outcome.warnings.add(Warnings::STOPPED);
        } else if !translator.ends_whole() {
            self.outcome.warnings.add(Warnings::LENGTH);
        }
        self.outcome.source_tokens += translator.source_ids().len();
        self.outcome.target_tokens += translator.target_ids().len();
        self.outcome.parts += 1;
        (self.at, self.most) = (translator.part.end, usize::MAX);
        if stopped {
            self.finish(translator);
        }
        Ok(if stopped { State::Done } else { State::Part })
    }

    /// Writes what is certain of a translation that grows: all but the last word and the marks after it.
    #[inline(never)]
    fn write_certain(&mut self, translator: &mut Translator<'_>, out: &mut impl Write) -> Result<(), Error> {
        let glossaries = glossaries(translator);
        let Some((mut draft, sums, blob, part)) = translator.draft(false)? else { return Ok(()) };
        if sums.words {
            draft.text = first_words(draft.text, self.most_words(part));
        }
        let mut keep = draft.text.iter().rposition(|&byte| byte == b' ').unwrap_or(0);
        while char_before(draft.text, keep).is_some_and(|c| !is_letter(c)) {
            keep = keep.saturating_sub(1);
        }
        let language = blob.meta("target_language");
        // Whether something is to open it, or to be dropped that does, is known when all of it is.
        let sentence = self.text.get(self.sentence.clone()).unwrap_or_default();
        let asks = [sentence, self.part_text(part)]
            .into_iter()
            .any(|text| matches!(final_of(text), Final::Question | Final::Exclamation));
        let opens = chars(draft.text).any(|(_, c)| matches!(c, '\u{bf}' | '\u{a1}'));
        if keep == 0 || (self.options.punctuation && (asks || opens)) {
            return Ok(());
        }
        let style = Style { keep, ..self.style(part, draft.text, language) };
        let guide = blob.guide();
        let (text, draft, inserts) = (self.text, &draft, &Inserts::NONE);
        let composition = Composition { text, part, glossaries: &glossaries, draft, inserts, style, guide };
        let mut output = Output::new(out, self.written_of_part, self.last);
        composition.write(&mut output, 0, &mut ())?;
        self.written_of_part = self.written_of_part.max(output.len);
        Ok(())
    }

    /// Writes the translation of the part; false, and nothing, where its spans have no place in it.
    #[inline(never)]
    fn write_part(
        &mut self,
        translator: &mut Translator<'_>,
        observer: &mut impl Observer,
        out: &mut impl Write,
    ) -> Result<bool, Error> {
        let glossaries = glossaries(translator);
        let Some((mut draft, sums, blob, part)) = translator.draft(true)? else {
            // No token at all could follow: nothing is lost that is copied.
            self.outcome.warnings.add(Warnings::LOST);
            return self.copy(translator.part.end, out).map(|()| true);
        };
        let whole = core::mem::take(&mut draft.text);
        draft.text = if sums.words { first_words(whole, self.most_words(part)) } else { whole };
        let looped = sums.guarded || draft.text.len() < whole.len();
        draft.locate(&self.preparation(part, blob), blob.tokenizer())?;
        let language = blob.meta("target_language");
        let (opening, ending) = self.marks(part, draft.text, language);
        let mut inserts = Inserts::NONE;
        if let Some(edit) = opening {
            inserts.add(edit.range, What::Marks(edit.put));
        }
        let placed = draft.place(self.text, part, blob.guide(), &mut inserts);
        // The source has no digits outside its spans, and words: the model may say nothing but what stands for those.
        if !placed
            || (!part.spans().is_empty()
                && (draft.has_other(&inserts, is_digit) || !draft.has_other(&inserts, is_letter)))
        {
            return Ok(false);
        }
        if let Some(edit) = ending {
            inserts.add(edit.range, What::Marks(edit.put));
        }
        let style = self.style(part, draft.text, language);
        let guide = blob.guide();
        let (text, draft, inserts) = (self.text, &draft, &inserts);
        let composition = Composition { text, part, glossaries: &glossaries, draft, inserts, style, guide };
        let mut output = Output::new(out, self.written_of_part, self.last);
        composition.write(&mut output, self.written, observer)?;
        (self.written, self.last) = (self.written + output.len, output.last);
        self.written_of_part = 0;
        self.nats = self.nats.saturating_add(sums.nats);
        self.opened = true;
        // What stands for spans is found or the part is translated again; without protection they are the model's.
        if !self.options.protect && !self.keeps_spans(part, blob.tokenizer(), draft.text) {
            self.outcome.warnings.add(Warnings::LOST);
        }
        if looped {
            self.outcome.warnings.add(Warnings::LOOP);
        }
        if sums.cut {
            self.outcome.warnings.add(Warnings::LENGTH);
        }
        Ok(true)
    }

    /// Whether all that the model must not touch stands in its draft of a part as well, and is written in no other case.
    #[inline(never)]
    fn keeps_spans(&self, part: &Part, tokenizer: &Tokenizer, draft: &[u8]) -> bool {
        let (source, mut at) = (self.part_text(part), part.start);
        while let Some(span) = next_span(self.text, at..part.end, tokenizer, &[]) {
            let words = self.text.get(span.start()..span.end().min(part.end)).unwrap_or_default();
            let recased = self.case != Case::AsIs && chars(words).any(|(_, c)| is_lower(c));
            if recased || !is_kept(words, source, draft) {
                return false;
            }
            at = span.end();
        }
        digits_kept(source, draft)
    }

    /// Words that a short part may be translated by: one word is not explained.
    fn most_words(&self, part: &Part) -> usize {
        if part.words(self.text) + part.spans().len() <= 1 { 4 } else { usize::MAX }
    }

    /// How the draft of the part is written.
    fn style(&self, part: &Part, draft: &[u8], language: Option<&str>) -> Style {
        // German nouns keep their capitals.
        let other = !matches!(language, Some("de" | "deu" | "ger"));
        let small = chars(self.part_text(part)).next().is_some_and(|(_, c)| is_lower(c));
        let small = self.options.casing && self.case == Case::AsIs && other && small;
        let capital = self.has_capital(self.part_text(part));
        Style { case: self.case, small, capital, keep: draft.len() }
    }

    /// What makes the draft begin, and end, as its source does.
    fn marks(&self, part: &Part, draft: &[u8], language: Option<&str>) -> (Option<Edit>, Option<Edit>) {
        if !self.options.punctuation {
            return (None, None);
        }
        let source = self.part_text(part);
        let mark = final_of(source);
        let spanish = matches!(language, Some("es" | "spa"));
        // Of a sentence in parts the first has what opens all of it.
        let sentence = self.text.get(self.sentence.clone()).unwrap_or_default();
        let opening = match self.opened {
            false => opening(draft, final_of(sentence), spanish),
            true => opening(draft, Final::None, false),
        };
        (opening, adjust(draft, mark))
    }

    pub(super) fn part_text(&self, part: &Part) -> &'t [u8] {
        self.text.get(part.start..part.end).unwrap_or_default()
    }

    /// Copies a span, or writes what stands for it.
    pub(super) fn copy_span(
        &mut self,
        span: Span,
        translator: &Translator<'_>,
        out: &mut impl Write,
    ) -> Result<(), Error> {
        let words = self.text.get(span.range()).unwrap_or_default();
        let Some(term) = term(&glossaries(translator), words).filter(|_| span.term) else {
            return self.copy(span.end(), out);
        };
        let before = self.text.get(self.sentence.start..span.start()).unwrap_or_default();
        let capital = self.has_capital(words) && !chars(before).any(|(_, c)| is_letter(c));
        let mut output = Output::new(out, 0, self.last);
        write_term(term, Lettering { restore: &mut Restore::new(self.case), capital }, &mut output)?;
        (self.written, self.last) = (self.written + output.len, output.last);
        self.at = span.end();
        Ok(())
    }

    /// Copies the text up to `end`.
    pub(super) fn copy(&mut self, end: usize, out: &mut impl Write) -> Result<(), Error> {
        let mut output = Output::new(out, 0, self.last);
        let bytes = self.text.get(self.at..end).unwrap_or_default();
        output.part_from(bytes, char_before(self.text, self.at))?;
        if !copy(bytes, &mut output)? {
            self.outcome.warnings.add(Warnings::INVALID);
        }
        (self.written, self.last) = (self.written + output.len, output.last);
        self.at = self.at.max(end);
        Ok(())
    }

    /// A range of the text without the white space around it; `None` where nothing is left.
    pub(super) fn trimmed(&self, range: Range<usize>) -> Option<Range<usize>> {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let mut others = chars(text).filter(|(_, c)| !is_space(*c)).map(|(at, _)| at);
        let first = others.next()?;
        let last = others.last().unwrap_or(first.clone());
        Some(range.start + first.start..range.start + last.end)
    }

    /// Notes that no more will be translated.
    pub(super) fn ended(&mut self, translator: &Translator<'_>) {
        self.outcome.warnings.add(Warnings::STOPPED);
        self.finish(translator);
    }

    pub(super) fn finish(&mut self, translator: &Translator<'_>) {
        let tokens = self.outcome.target_tokens as u32;
        self.outcome.nats = self.nats.checked_div(tokens).unwrap_or(0);
        if tokens > 0 {
            self.outcome.confidence = translator.blob.guide().phrase_confidence(self.outcome.nats);
        }
    }
}
