//! Part of a sentence that the model gets at once, with the spans in it that it must not touch.

use crate::blob::glossary::{Glossary, GlossaryKind, MOST_TERM_WORDS};
use crate::blob::guide::StandInKind;
use crate::phrase::chars::{char_at, char_before, chars, chars_from, is_cjk, is_digit, is_letter, is_space};
use crate::phrase::span::{self, SpanKind};
use crate::text::Tokenizer;
use core::ops::Range;

/// Spans of a part at most.
pub(super) const MOST_SPANS: usize = 12;

/// Bytes of a term at most: more than keys have when they are folded.
const LONGEST_TERM: usize = 512;

/// What becomes of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A word of a kind stands in for it; which one is chosen when the part is whole.
    StandIn(StandInKind, u8),
    /// It is left out, and put where the words beside it are.
    Mark,
}

/// Something that the model must not touch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: u32,
    end: u32,
    pub role: Role,
    /// Whether it is a term, whose translation the glossaries have; others are copied.
    pub term: bool,
}

impl Span {
    const fn new(range: Range<usize>, role: Role, term: bool) -> Self {
        Span { start: range.start as u32, end: range.end as u32, role, term }
    }

    pub const fn start(&self) -> usize {
        self.start as usize
    }

    pub const fn end(&self) -> usize {
        self.end as usize
    }

    pub const fn range(&self) -> Range<usize> {
        self.start()..self.end()
    }
}

/// The first span of `text` that starts at `from` or after it.
pub(super) fn next_span(
    text: &[u8],
    starts: Range<usize>,
    tokenizer: &Tokenizer,
    glossaries: &[Glossary],
) -> Option<Span> {
    // Accents that follow their letters are composed with them by the normalizer.
    let unknown = |c: char| !matches!(c, '\u{300}'..='\u{36f}') && !tokenizer.knows(c);
    let found = span::next(text, starts.clone(), &unknown).map(|(range, kind)| {
        let role = match kind {
            SpanKind::Number => Role::StandIn(StandInKind::Number, 0),
            SpanKind::Tag | SpanKind::Emoji => Role::Mark,
            SpanKind::Foreign if is_glued_sign(text, range.clone()) => Role::Mark,
            _ => Role::StandIn(StandInKind::Name, 0),
        };
        Span::new(range, role, false)
    });
    let before = found.map_or(starts.end, |span| span.start());
    match (next_term(text, starts.start..before, glossaries), found) {
        // A term may be part of an address.
        (Some(term), Some(found)) if term.start() == found.start() && term.end() < found.end() => Some(found),
        (term, found) => term.or(found),
    }
}

/// Whether a span is of signs that stand right behind something: a name there would be one word with it.
fn is_glued_sign(text: &[u8], range: Range<usize>) -> bool {
    !char_before(text, range.start).is_some_and(is_space)
        && !chars(text.get(range).unwrap_or_default()).any(|(_, c)| is_letter(c))
}

/// Whether `c` is part of a word that goes on with the characters beside it.
fn is_joined(c: char) -> bool {
    is_digit(c) || (is_letter(c) && !is_cjk(c))
}

/// Whether a word may start at the byte `at`: not inside one, nor behind its hyphen.
fn is_start(text: &[u8], at: usize) -> bool {
    match char_before(text, at) {
        Some('-') => !char_before(text, at.saturating_sub(1)).is_some_and(is_joined),
        before => !before.is_some_and(is_joined) || !char_at(text, at).is_some_and(is_joined),
    }
}

/// Whether a word may end at the byte `end`: not inside one, nor before what a hyphen or an apostrophe adds to it.
fn is_end(text: &[u8], end: usize) -> bool {
    match char_at(text, end) {
        Some(c @ ('-' | '\'' | '\u{2019}')) => !char_at(text, end + c.len_utf8()).is_some_and(is_joined),
        after => !after.is_some_and(is_joined) || !char_before(text, end).is_some_and(is_joined),
    }
}

/// The first term that starts in `range`, or at its end: the longest of those that do there.
fn next_term(text: &[u8], range: Range<usize>, glossaries: &[Glossary]) -> Option<Span> {
    if !glossaries.iter().any(|glossary| glossary.has_terms()) {
        return None;
    }
    let is_in_term = |c: char| is_letter(c) || is_digit(c);
    for (at, c) in chars_from(text, range.start).take_while(|(at, _)| at.start <= range.end) {
        if !is_in_term(c) || !is_start(text, at.start) {
            continue;
        }
        let ends = chars_from(text, at.start)
            .take_while(|(end, _)| end.end - at.start <= LONGEST_TERM)
            .filter(|(end, c)| is_in_term(*c) && is_end(text, end.end))
            .map(|(end, _)| end.end)
            .take(MOST_TERM_WORDS);
        let known = |end: &usize| term(glossaries, text.get(at.start..*end).unwrap_or_default()).is_some();
        if let Some(end) = ends.filter(known).last() {
            return Some(Span::new(at.start..end, Role::StandIn(StandInKind::Name, 0), true));
        }
    }
    None
}

/// The translation of a term, from the first glossary that has it.
pub(super) fn term<'g>(glossaries: &[Glossary<'g>], words: &[u8]) -> Option<&'g str> {
    glossaries.iter().find_map(|glossary| glossary.find(GlossaryKind::Term, words))
}

/// Part of a sentence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub start: usize,
    pub end: usize,
    spans: [Span; MOST_SPANS],
    count: usize,
}

impl Part {
    /// Of nothing.
    pub const EMPTY: Part =
        Part { start: 0, end: 0, spans: [Span::new(0..0, Role::Mark, false); MOST_SPANS], count: 0 };

    pub fn spans(&self) -> &[Span] {
        self.spans.get(..self.count).unwrap_or_default()
    }

    pub fn spans_mut(&mut self) -> &mut [Span] {
        self.spans.get_mut(..self.count).unwrap_or_default()
    }

    /// All of a sentence that is left, with its spans; where they are too many, what is before one of them.
    pub fn of(
        text: &[u8],
        Range { start, end }: Range<usize>,
        mut next: impl FnMut(&[u8], usize) -> Option<Span>,
    ) -> Self {
        let text = text.get(..end).unwrap_or_default();
        let mut part = Part { start, end, ..Part::EMPTY };
        let mut at = start;
        while let Some(span) = next(text, at) {
            let Some(slot) = part.spans.get_mut(part.count) else {
                part.end = span.start();
                break;
            };
            *slot = span;
            part.count += 1;
            at = span.end().max(at + 1);
        }
        part
    }

    /// Ends it at `end`, or where a span begins that lies across, or else where that ends.
    pub fn shorten(&mut self, end: usize) {
        self.end = end;
        if let Some(span) = self.spans().iter().find(|span| span.start() < end && end < span.end()) {
            self.end = if span.start() > self.start { span.start() } else { span.end() };
        }
        let end = self.end;
        self.count = self.spans().iter().take_while(|span| span.end() <= end).count();
    }

    /// Whether there are letters outside spans: something to translate.
    pub fn has_words(&self, text: &[u8]) -> bool {
        self.words(text) > 0
    }

    /// Words outside spans.
    pub fn words(&self, text: &[u8]) -> usize {
        let mut inside = false;
        let mut words = 0;
        for (at, c) in chars_from(text, self.start).take_while(|(at, _)| at.start < self.end) {
            let letter = is_letter(c) && !self.covers(at.start);
            words += usize::from(letter && !inside);
            // Of `don't`, one.
            inside = letter || (inside && matches!(c, '\'' | '\u{2019}' | '-'));
        }
        words
    }

    /// Whether a span that is copied has the byte `at`.
    pub fn copies(&self, at: usize) -> bool {
        self.spans().iter().any(|span| !span.term && span.range().contains(&at))
    }

    /// Whether a span has the byte `at`.
    pub fn covers(&self, at: usize) -> bool {
        self.spans().iter().any(|span| span.range().contains(&at))
    }

    /// Whether `text` has white space right before, or right after, a span.
    pub fn spaced(&self, text: &[u8], span: &Span) -> (bool, bool) {
        let before = span.start() <= self.start || char_before(text, span.start()).is_some_and(is_space);
        let after = span.end() >= self.end || chars_from(text, span.end()).next().is_some_and(|(_, c)| is_space(c));
        (before, after)
    }
}
