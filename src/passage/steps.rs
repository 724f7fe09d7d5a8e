//! The pieces of work that a passage is done in.

use super::around::{words_end, words_start};
use super::compose::{Output, copy, write_term};
use super::part::{Part, Role, next_span};
use super::prepare::Preparation;
use super::{Passage, State, Warnings};
use crate::blob::Blob;
use crate::blob::glossary::{Glossary, GlossaryKind, words_of};
use crate::error::Error;
use crate::phrase::case::{Case, Lettering, Restore, case_of, is_shouted};
use crate::phrase::chars::{
    char_at, char_before, chars, chars_from, is_digit, is_letter, is_lower, is_space, is_upper,
};
use crate::phrase::punctuation::{Edit, Final, final_of, final_stop, opening};
use crate::phrase::sentence;
use crate::search::Guard;
use crate::translator::Translator;
use core::fmt::Write;

/// How many times more bytes than the limit on text a sentence is looked at for a part: spans may be longer than what stands in.
const WINDOW: usize = 8;

impl<'t> Passage<'t> {
    /// Copies what is before the next sentence; takes its translation from a glossary, or makes its parts the next to be done.
    #[inline(never)]
    pub(super) fn next_sentence(
        &mut self,
        translator: &mut Translator<'_>,
        out: &mut impl Write,
    ) -> Result<State, Error> {
        if self.at == 0 {
            let (code, rest) = translator.blob.tokenizer().split_language(self.text);
            let len = self.text.len().saturating_sub(rest.len());
            self.code = self.text.get(..len).filter(|_| code.is_some()).unwrap_or_default();
            self.at = self.code.len();
            if core::str::from_utf8(self.text).is_err() {
                self.outcome.warnings.add(Warnings::INVALID);
            }
        }
        let next = match self.options.sentences {
            true => sentence::next(self.text, self.at),
            false => self.trimmed(self.at..self.text.len()),
        };
        let Some(sentence) = next else {
            self.copy(self.text.len(), out)?;
            self.finish(translator);
            return Ok(State::Done);
        };
        self.copy(sentence.start, out)?;
        self.sentence = sentence.clone();
        (self.apart, self.opened, self.most, self.case) = (false, false, usize::MAX, Case::AsIs);
        if self.options.casing {
            translator.part = self.part_of(translator);
            // Relative to the sentence.
            let text = self.text.get(sentence.clone()).unwrap_or_default();
            self.case = case_of(text, |at| translator.part.copies(sentence.start + at));
        }
        if self.options.glossary && self.look_up(translator, out)? {
            return Ok(State::Sentence);
        }
        Ok(State::Part)
    }

    /// Writes the glossary's translation of the sentence, if there is one: its words', with the sentence's marks.
    fn look_up(&mut self, translator: &Translator<'_>, out: &mut impl Write) -> Result<bool, Error> {
        let text = self.text.get(self.sentence.clone()).unwrap_or_default();
        let range = words_of(text);
        let (words, ending) = text.split_at_checked(range.end).unwrap_or_default();
        let words = words.get(range.start..).unwrap_or_default();
        let kinds = [GlossaryKind::Phrase, GlossaryKind::Term];
        let found = glossaries(translator).into_iter().find_map(|g| kinds.iter().find_map(|kind| g.find(*kind, words)));
        let Some(target) = found else { return Ok(false) };
        let mut output = Output::new(out, 0, self.last);
        let case = if self.options.casing && is_shouted(words) { Case::Upper } else { self.case };
        let mut restore = Restore::new(case);
        let mut lettering = Lettering { restore: &mut restore, capital: self.has_capital(words) };
        let own = (final_of(text), final_of(target.as_bytes()));
        let unmarked = |mark| matches!(mark, Final::None | Final::Other);
        // A translation with marks of its own keeps them; a stop may be that of an abbreviation.
        if !unmarked(own.0) && !unmarked(own.1) && (own.1 != Final::Stop || own.0 == Final::Stop) {
            write_term(target, lettering, &mut output)?;
        } else {
            let spanish = matches!(translator.blob.meta("target_language"), Some("es" | "spa"));
            let edit = opening(target.as_bytes(), own.0, spanish).filter(|_| self.options.punctuation);
            let Edit { range, put } = edit.unwrap_or(Edit { range: 0..0, put: "" });
            for part in [target.get(..range.start), Some(put), target.get(range.end..)] {
                part.unwrap_or_default().chars().try_for_each(|c| output.write_char(lettering.push(c)))?;
            }
            copy(ending, &mut output)?;
        }
        (self.written, self.last) = (self.written + output.len, output.last);
        self.at = self.sentence.end;
        Ok(true)
    }

    /// Whether a sentence's first letter, or that of a part of it, is a capital that its translation gets too.
    pub(super) fn has_capital(&self, text: &[u8]) -> bool {
        let first = chars(text).map(|(_, c)| c).find(|c| is_letter(*c));
        self.options.casing && self.case == Case::AsIs && first.is_some_and(is_upper)
    }

    /// All of the sentence that is left, with its spans.
    fn part_of(&self, translator: &Translator<'_>) -> Part {
        let range = self.at..self.sentence.end;
        // Of a sentence that is much too long no more is looked at than could be a part.
        let window = WINDOW * translator.limits.text_bytes as usize;
        let looked_at = range.end.min(range.start.saturating_add(window));
        let glossaries = glossaries(translator);
        let glossaries = if self.options.glossary { &glossaries[..] } else { &[] };
        let tokenizer = translator.blob.tokenizer();
        let (protect, looks, text) = (self.options.protect, self.options.protect || self.options.glossary, self.text);
        let mut part = Part::of(text, range, |text, at| {
            if !looks {
                return None;
            }
            let mut at = at;
            loop {
                let span = next_span(text, at..looked_at, tokenizer, glossaries)?;
                if protect || span.term {
                    return Some(span);
                }
                at = span.end();
            }
        });
        part.shorten(part.end.min(self.most));
        if looked_at < part.end {
            // What is cut is longer than the window: its end is looked for.
            let seen = text.get(self.at..part.end.min(looked_at + 4)).unwrap_or_default();
            part.shorten(self.at + sentence::cut(seen, window));
        }
        part
    }

    /// Chooses the next part of the sentence, copies it if there is nothing to translate, and tokenizes it if there is.
    #[inline(never)]
    pub(super) fn next_part(&mut self, translator: &mut Translator<'_>, out: &mut impl Write) -> Result<State, Error> {
        let rest = self.text.get(self.at..self.sentence.end).unwrap_or_default();
        let start =
            chars(rest).find(|(_, c)| !is_space(*c)).map_or(self.sentence.end, |(range, _)| self.at + range.start);
        self.copy(start, out)?;
        if start >= self.sentence.end {
            return Ok(State::Sentence);
        }
        if start >= self.most {
            // What was to be the next part had nothing to translate.
            self.most = usize::MAX;
        }
        let mut part = self.part_of(translator);
        if let Some(first) = part.spans().first().copied() {
            let leads = first.start() == start && (self.apart || first.role == Role::Mark);
            if leads {
                self.copy_span(first, translator, out)?;
                return Ok(State::Part);
            }
            if self.apart {
                part.shorten(first.start());
            }
        }
        // Marks at the end are copied behind it.
        while let Some(last) = part.spans().last().copied()
            && last.role == Role::Mark
            && self.trimmed(last.end()..part.end).is_none()
        {
            part.shorten(last.start());
        }
        let end = self.trimmed(part.start..part.end).map_or(part.end, |range| range.end);
        part.shorten(end);
        if self.options.punctuation && part.has_words(self.text) {
            part.shorten(words_end(self.text, &part));
            let words = words_start(self.text, &part, start > self.sentence.start);
            if words > start {
                self.copy(words, out)?;
                return Ok(State::Part);
            }
        }
        if !part.has_words(self.text) {
            // Terms among it are no copies.
            match part.spans().first().copied() {
                Some(span) if span.start() > start => self.copy(span.start(), out)?,
                Some(span) => self.copy_span(span, translator, out)?,
                None => self.copy(part.end, out)?,
            }
            return Ok(State::Part);
        }
        translator.part = part;
        if !self.choose_stand_ins(translator) {
            return Ok(self.take_apart());
        }
        self.tokenize(translator, out)
    }

    /// Translates the rest of the sentence around its spans.
    pub(super) fn take_apart(&mut self) -> State {
        self.apart = true;
        self.outcome.warnings.add(Warnings::APART);
        State::Part
    }

    /// Gives each span of the part a stand-in of its own that the part itself does not use; false where there are too few.
    fn choose_stand_ins(&mut self, translator: &mut Translator<'_>) -> bool {
        let mut part = translator.part;
        let guide = translator.blob.guide();
        let preparation = self.preparation(&translator.part, &translator.blob);
        let mut used = [0usize; 2];
        for span in part.spans_mut() {
            let Role::StandIn(kind, number) = &mut span.role else { continue };
            let Some(next) = used.get_mut(*kind as usize) else { continue };
            let free = |(_, (source, target)): &(u8, (&str, &str))| {
                !preparation.has_word(source) && !preparation.has_word(target)
            };
            let Some((free, _)) = (0u8..=u8::MAX).zip(guide.stand_ins(*kind)).skip(*next).find(free) else {
                return false;
            };
            (*number, *next) = (free, usize::from(free) + 1);
        }
        translator.part = part;
        true
    }

    pub(super) fn preparation<'p>(&'p self, part: &'p Part, blob: &'p Blob) -> Preparation<'p, 't> {
        Preparation {
            text: self.text,
            code: self.code,
            part,
            case: self.options.casing.then_some(self.case),
            mark: match final_of(self.part_text(part)) {
                Final::None if self.options.punctuation => final_stop(self.part_text(part)),
                _ => "",
            },
            tokenizer: blob.tokenizer(),
            guide: blob.guide(),
        }
    }

    #[inline(never)]
    fn tokenize(&mut self, translator: &mut Translator<'_>, out: &mut impl Write) -> Result<State, Error> {
        let filled = translator.tokenize_filled(|blob, part, room| {
            let (mut len, mut fits) = (0usize, true);
            self.preparation(part, blob).walk(|_, bytes| {
                let end = len.saturating_add(bytes.len());
                match room.get_mut(len..end) {
                    Some(room) => room.copy_from_slice(bytes),
                    None => fits = false,
                }
                len = end;
            });
            fits.then_some(len)
        });
        let codes = usize::from(translator.blob.tokenizer().split_language(self.code).0.is_some());
        let part = &translator.part;
        let too_long = part.end - part.start > u16::MAX as usize;
        match filled {
            Ok(count) if count <= codes + 1 => {
                // The normalizer leaves nothing of it.
                self.copy(part.end, out)?;
                Ok(State::Part)
            }
            Ok(count) if !too_long => {
                translator.take_tokenized(count)?;
                Ok(State::Encoding)
            }
            Ok(_) | Err(Error::TextTooLong { .. } | Error::TooManyTokens { .. }) => {
                let text = self.part_text(part);
                let end = part.start + sentence::cut(text, (text.len() / 4 * 3).clamp(1, u16::MAX as usize));
                // A word or number that the model has no room for is kept.
                let inside = |c: Option<char>| c.is_some_and(|c| is_upper(c) || is_lower(c) || is_digit(c));
                if inside(char_before(self.text, end)) && inside(char_at(self.text, end)) {
                    let word = chars_from(self.text, end)
                        .take_while(|(at, c)| at.start < part.end && (is_letter(*c) || is_digit(*c)));
                    let end = word.last().map_or(end, |(at, _)| at.end);
                    self.outcome.warnings.add(Warnings::SPLIT);
                    self.copy(end, out)?;
                    return Ok(State::Part);
                }
                let mut shorter = *part;
                shorter.shorten(end);
                if shorter.end >= part.end {
                    return Err(filled.err().unwrap_or(Error::TextTooLong { limit: u16::MAX as usize }));
                }
                self.most = shorter.end;
                self.outcome.warnings.add(Warnings::SPLIT);
                Ok(State::Part)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins the search where the encoding is done.
    #[inline(never)]
    pub(super) fn encoded(&mut self, more: bool, translator: &mut Translator<'_>) -> Result<State, Error> {
        if more {
            return Ok(State::Encoding);
        }
        let (mut guard, mut steps) = (Guard::OFF, usize::MAX);
        if self.options.guards {
            let (source, words) =
                (translator.source_ids(), translator.part.words(self.text) + translator.part.spans().len());
            guard = Guard::of(source, words);
            steps = match words {
                // A word is not explained.
                0 | 1 => source.len() + 2,
                _ => translator.blob.guide().most_tokens(source.len()),
            };
        }
        translator.begin_search(guard, steps)?;
        Ok(State::Searching)
    }
}

/// The user's glossary, then the blob's.
pub(super) fn glossaries<'m>(translator: &Translator<'m>) -> [Glossary<'m>; 2] {
    [translator.glossary, *translator.blob.glossary()]
}
