//! Writing a draft: spans put in, letter case as the source has it, final punctuation too.

use super::draft::{Draft, Insert, Inserts, What};
use super::outcome::Aligned;
use super::part::{Part, Role, term};
use crate::blob::glossary::Glossary;
use crate::blob::guide::Guide;
use crate::error::Error;
use crate::observe::Observer;
use crate::phrase::case::{Case, Lettering, Restore};
use crate::phrase::chars::{
    char_at, char_before, chars, chars_from, is_digit, is_letter, is_lower, is_space, is_upper, last, lower,
};
use core::fmt::Write;
use core::ops::Range;

/// How a draft is written.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub case: Case,
    /// Whether the first letter loses its capital, as the source has none.
    pub small: bool,
    /// Whether the source begins with one, so that a term at the start gets one.
    pub capital: bool,
    /// Bytes of the draft that are written, from its start.
    pub keep: usize,
}

/// Output of which the first `skip` bytes have been written before.
pub(super) struct Output<'w, W> {
    pub out: &'w mut W,
    pub skip: usize,
    /// Bytes so far, those skipped with them.
    pub len: usize,
    /// The last character so far.
    pub last: char,
}

impl<'w, W: Write> Output<'w, W> {
    /// Of which nothing is there yet, behind the character `last`.
    pub const fn new(out: &'w mut W, skip: usize, last: char) -> Self {
        Output { out, skip, len: 0, last }
    }

    /// Keeps `words`, which come next, from being one word with what is there, unless they were in the source, where `before`
    /// comes before them.
    pub fn part_from(&mut self, words: &[u8], before: Option<char>) -> Result<(), Error> {
        let joins = |c: char| is_digit(c) || is_upper(c) || is_lower(c);
        if !before.is_some_and(joins) && joins(self.last) && char_at(words, 0).is_some_and(joins) {
            self.write(" ")?;
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), Error> {
        let start = self.skip.saturating_sub(self.len).min(text.len());
        self.len += text.len();
        self.last = last(text.as_bytes()).map_or(self.last, |(c, _)| c);
        // A character is written as a whole, so that the end of what is skipped is the end of one.
        match text.split_at_checked(start) {
            Some((_, rest)) if !rest.is_empty() => self.out.write_str(rest).map_err(|_| Error::OutputFull),
            _ => Ok(()),
        }
    }

    pub fn write_char(&mut self, c: char) -> Result<(), Error> {
        self.write(c.encode_utf8(&mut [0; 4]))
    }
}

/// Writes bytes of a user's text as they are; what is not UTF-8 becomes U+FFFD. Whether all was.
pub(super) fn copy(bytes: &[u8], output: &mut Output<impl Write>) -> Result<bool, Error> {
    if let Ok(text) = core::str::from_utf8(bytes) {
        return output.write(text).map(|()| true);
    }
    let mut valid = true;
    for (range, c) in chars(bytes) {
        valid &= c != char::REPLACEMENT_CHARACTER || range.len() > 1;
        output.write_char(c)?;
    }
    Ok(valid)
}

/// Writes a term's translation.
pub(super) fn write_term(
    term: &str,
    mut lettering: Lettering<'_>,
    output: &mut Output<impl Write>,
) -> Result<(), Error> {
    term.chars().try_for_each(|c| output.write_char(lettering.push(c)))
}

/// A part's draft on its way out.
pub(super) struct Composition<'c, 'd, 't> {
    pub text: &'t [u8],
    pub part: &'c Part,
    pub glossaries: &'c [Glossary<'c>],
    pub draft: &'c Draft<'d>,
    pub inserts: &'c Inserts,
    pub style: Style,
    pub guide: &'c Guide<'c>,
}

impl Composition<'_, '_, '_> {
    /// Writes it and tells where each token comes from; `base` bytes have been written for other parts.
    pub fn write<W: Write>(
        &self,
        output: &mut Output<W>,
        base: usize,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        let draft = self.draft;
        let mut restore = Restore::new(self.style.case);
        let (mut small, mut capital) = (self.style.small, self.style.capital);
        let mut inserts = self.inserts.as_slice().iter().peekable();
        let mut at = 0;
        for (bytes, said) in draft.tokens() {
            let start = output.len;
            loop {
                if let Some(insert) = inserts.next_if(|insert| insert.start <= at && insert.start < bytes.end.max(1)) {
                    self.insert(insert, Lettering { restore: &mut restore, capital }, output)?;
                    at = at.max(insert.end);
                    if let What::Span(_) = insert.what {
                        (small, capital) = (false, false);
                        // What follows is not the start of a word.
                        restore.push('x');
                    }
                    continue;
                }
                let next = inserts.peek().map_or(usize::MAX, |insert| insert.start);
                let end = bytes.end.min(self.style.keep);
                let Some((range, c)) = chars_from(draft.text, at).next().filter(|_| at < end.min(next)) else { break };
                at = range.end;
                capital &= !is_letter(c);
                let c = if is_letter(c) && core::mem::take(&mut small) && self.is_capital_alone(at, c) {
                    lower(c)
                } else {
                    c
                };
                output.write_char(restore.push(c))?;
            }
            let source = draft.source_of(said);
            observer.aligned(&Aligned {
                target: base + start..base + output.len,
                source: self.part.start + source.start..self.part.start + source.end,
                nats: said.nats,
                confidence: self.guide.token_confidence(said.nats.into()),
            });
        }
        for insert in inserts {
            self.insert(insert, Lettering { restore: &mut restore, capital }, output)?;
        }
        Ok(())
    }

    /// Whether a capital is followed by another kind of letter, or by none.
    fn is_capital_alone(&self, after: usize, c: char) -> bool {
        is_upper(c) && !char_at(self.draft.text, after).is_some_and(is_upper)
    }

    fn insert(&self, insert: &Insert, lettering: Lettering<'_>, output: &mut Output<impl Write>) -> Result<(), Error> {
        let number = match insert.what {
            What::Span(number) => number,
            What::Marks(marks) => return output.write(marks),
        };
        let Some(span) = self.part.spans().get(number) else { return Ok(()) };
        let Range { start, end } = insert.start..insert.end;
        let (blank_before, blank_after) = self.part.spaced(self.text, span);
        let mark = span.role == Role::Mark;
        if mark && blank_before && start > 0 && !char_before(self.draft.text, start).is_some_and(is_space) {
            output.write(" ")?;
        }
        let words = self.text.get(span.range()).unwrap_or_default();
        output.part_from(words, char_before(self.text, span.start()))?;
        match term(self.glossaries, words).filter(|_| span.term) {
            Some(term) => write_term(term, lettering, output)?,
            None => {
                copy(words, output)?;
            }
        }
        let follows = char_at(self.draft.text, end).filter(|_| end < self.style.keep);
        if mark && blank_before && blank_after && follows.is_some_and(|c| !is_space(c)) {
            output.write(" ")?;
        }
        Ok(())
    }
}
