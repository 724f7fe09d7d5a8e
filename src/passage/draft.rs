//! The model's own words for a part, and where its spans go in them.

use super::part::{MOST_SPANS, Part, Role, Span};
use super::prepare::Preparation;
use crate::arena::{Carver, Limits};
use crate::blob::guide::{Guide, StandInKind};
use crate::error::Error;
use crate::phrase::chars::{char_at, char_before, chars, chars_from, is_digit, is_letter, is_space};
use crate::search::Token;
use crate::text::{Detokenizer, EncodeWork, Node, SourceSpan, Tokenizer};
use bytemuck::{Pod, Zeroable};
use core::fmt;
use core::ops::Range;

/// A target token of a draft.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Said {
    id: u16,
    /// Position of the source token.
    source: u16,
    pub nats: u16,
    /// Bytes of the draft up to its end.
    pub end: u16,
}

/// Memory that a draft is made in, after a search.
pub(crate) struct Desk<'d> {
    prepared: &'d mut [u8],
    text: &'d mut [u8],
    nodes: &'d mut [Node],
    sources: &'d mut [SourceSpan],
    said: &'d mut [Said],
    draft: &'d mut [u8],
}

impl<'d> Desk<'d> {
    /// What source tokens are made from is found out only of a translation that has ended.
    pub fn carve(region: &'d mut [u8], limits: Limits, ended: bool) -> Result<Self, Error> {
        let bytes = if ended { limits.text_bytes as usize } else { 0 };
        let mut carver = Carver::new(region);
        Ok(Desk {
            prepared: carver.take(bytes)?,
            text: carver.take(bytes)?,
            nodes: carver.take(bytes)?,
            sources: carver.take(limits.source_tokens as usize)?,
            said: carver.take(limits.target_tokens as usize)?,
            draft: carver.rest(),
        })
    }

    /// Notes a token of the translation, at its place.
    pub fn note(&mut self, place: usize, token: Token) {
        if let Some(said) = self.said.get_mut(place) {
            *said = Said { id: token.id, source: token.source, nats: token.nats, end: 0 };
        }
    }

    /// The draft of the first `count` tokens; the end of sentence writes nothing.
    pub fn draft(self, count: usize, eos: u16, mut detokenizer: Detokenizer, ended: bool) -> Draft<'d> {
        let Desk { prepared, text, nodes, sources, said, draft } = self;
        let said = said.get_mut(..count).unwrap_or_default();
        let mut writer = SliceWriter { out: draft, len: 0 };
        let mut cut = false;
        for said in said.iter_mut() {
            let before = writer.len;
            // What there is no room for ends it, as a limit on tokens does.
            if said.id != eos && !cut && detokenizer.push(said.id, &mut writer).is_err() {
                (cut, writer.len) = (true, before);
            }
            said.end = writer.len as u16;
        }
        if ended && !cut {
            let before = writer.len;
            if detokenizer.finish(&mut writer).is_err() {
                (cut, writer.len) = (true, before);
            }
        }
        let SliceWriter { out, len } = writer;
        if let Some(last) = said.last_mut() {
            last.end = len as u16;
        }
        let draft = out.get(..len).unwrap_or_default();
        Draft { text: draft, said, cut, sources, prepared, normalized: text, nodes }
    }
}

/// Writes text into a slice.
struct SliceWriter<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl fmt::Write for SliceWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.saturating_add(text.len());
        let room = self.out.get_mut(self.len..end).filter(|_| end <= u16::MAX as usize).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// A translation before it is written.
pub(crate) struct Draft<'d> {
    pub text: &'d [u8],
    pub said: &'d [Said],
    /// Whether there was no room for all of it.
    pub cut: bool,
    sources: &'d mut [SourceSpan],
    prepared: &'d mut [u8],
    normalized: &'d mut [u8],
    nodes: &'d mut [Node],
}

/// What is put into a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A span of the part, by its number.
    Span(usize),
    /// Punctuation.
    Marks(&'static str),
}

/// Something that is put into a draft, and the bytes that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insert {
    pub start: usize,
    pub end: usize,
    pub what: What,
}

/// All that is put into a draft, in order of place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inserts {
    all: [Insert; MOST_SPANS + 2],
    count: usize,
}

impl Inserts {
    pub const NONE: Inserts = Inserts { all: [Insert { start: 0, end: 0, what: What::Marks("") }; _], count: 0 };

    pub fn as_slice(&self) -> &[Insert] {
        self.all.get(..self.count).unwrap_or_default()
    }

    /// Adds one behind those that start at the same place or before it; false where it lies across another.
    pub fn add(&mut self, Range { start, end }: Range<usize>, what: What) -> bool {
        let place = self.as_slice().iter().take_while(|other| other.start <= start).count();
        let before = place.checked_sub(1).and_then(|before| self.all.get(before));
        let after = self.as_slice().get(place);
        if before.is_some_and(|before| before.end > start) || after.is_some_and(|after| after.start < end) {
            return false;
        }
        let Some(moved) = self.all.get_mut(place..=self.count) else { return false };
        moved.rotate_right(1);
        if let Some(slot) = moved.first_mut() {
            *slot = Insert { start, end, what };
        }
        self.count += 1;
        true
    }
}

impl Draft<'_> {
    /// Finds out which bytes of the user's text the source tokens are, relative to the part's start.
    pub(super) fn locate(&mut self, preparation: &Preparation, tokenizer: &Tokenizer) -> Result<(), Error> {
        let mut len = 0;
        preparation.walk(|_, bytes| {
            if let Some(room) = self.prepared.get_mut(len..).and_then(|rest| rest.get_mut(..bytes.len())) {
                room.copy_from_slice(bytes);
                len += bytes.len();
            }
        });
        let work = EncodeWork { text: &mut *self.normalized, nodes: &mut *self.nodes };
        let count = tokenizer.locate(self.prepared.get(..len).unwrap_or_default(), work, self.sources)?;
        let (known, rest) = self.sources.split_at_mut_checked(count).unwrap_or_default();
        // Both ascend: from bytes of the prepared text to bytes of the user's.
        let (mut starts, mut ends, mut at) = (0, 0, 0);
        let (base, text) = (preparation.part.start, preparation.text);
        preparation.walk(|from, bytes| {
            at += bytes.len();
            while let Some(span) = known.get_mut(starts).filter(|span| (span.start as usize) < at) {
                span.start = (from.start.saturating_sub(base)) as u16;
                starts += 1;
            }
            while let Some(span) = known.get_mut(ends).filter(|span| span.end as usize <= at) {
                span.end = (from.end.saturating_sub(base)) as u16;
                ends += 1;
            }
        });
        let whole = (preparation.part.end.saturating_sub(base)) as u16;
        known.iter_mut().skip(starts).for_each(|span| span.start = whole);
        known.iter_mut().skip(ends).for_each(|span| span.end = whole);
        for span in known {
            while span.start < span.end
                && let Some(c) = char_at(text, base + span.start as usize).filter(|c| is_space(*c))
            {
                span.start = span.end.min(span.start + c.len_utf8() as u16);
            }
        }
        // The end of sentence.
        rest.iter_mut().for_each(|span| *span = SourceSpan { start: whole, end: whole });
        Ok(())
    }

    /// The bytes of the part that a token was made from.
    pub fn source_of(&self, said: &Said) -> Range<usize> {
        self.sources.get(said.source as usize).map_or(0..0, |span| span.start as usize..span.end as usize)
    }

    /// The bytes of the draft of each token.
    pub fn tokens(&self) -> impl Iterator<Item = (Range<usize>, &Said)> {
        let mut start = 0;
        self.said.iter().map(move |said| (core::mem::replace(&mut start, said.end as usize)..said.end as usize, said))
    }

    /// Places all spans of a part; false where one has no place of its own.
    pub(super) fn place(&self, text: &[u8], part: &Part, guide: &Guide, inserts: &mut Inserts) -> bool {
        // Marks don't overtake each other: a tag that closes stays behind the one that opens.
        let mut last_mark = 0;
        part.spans().iter().enumerate().all(|(number, span)| {
            let place = match span.role {
                Role::StandIn(kind, which) => {
                    let word = guide.stand_ins(kind).nth(which as usize).map_or("", |(_, target)| target);
                    let mut places = self.places(word.as_bytes());
                    match (places.next(), places.next()) {
                        (None, _) if kind == StandInKind::Number => self.other_number(part, guide),
                        (None, _) => self.aligned(part, span),
                        (place, None) => place,
                        // The model made it up, at least once.
                        _ => None,
                    }
                }
                Role::Mark => self
                    .beside(text, part, span)
                    .filter(|place| core::mem::replace(&mut last_mark, place.start) <= place.start),
            };
            place.is_some_and(|place| inserts.add(place, What::Span(number)))
        })
    }

    /// Where `word` stands in the draft as a word.
    fn places(&self, word: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let part_of_word = |c: char| is_letter(c) || is_digit(c);
        let windows = self.text.windows(word.len().max(1)).enumerate();
        let places = windows.filter(move |&(at, bytes)| {
            bytes == word
                && !char_before(self.text, at).is_some_and(part_of_word)
                && !char_at(self.text, at + word.len()).is_some_and(part_of_word)
        });
        places.map(move |(at, _)| at..at + word.len())
    }

    /// Whether there is a character of a class where nothing is put in.
    pub(super) fn has_other(&self, inserts: &Inserts, class: fn(char) -> bool) -> bool {
        let inside = |at: usize| inserts.as_slice().iter().any(|insert| (insert.start..insert.end).contains(&at));
        chars(self.text).any(|(at, c)| class(c) && !inside(at.start))
    }

    /// The one word with digits that is no stand-in: what the model made of one.
    fn other_number(&self, part: &Part, guide: &Guide) -> Option<Range<usize>> {
        let is_stand_in = |word: &[u8]| {
            part.spans().iter().any(|span| match span.role {
                Role::StandIn(kind, which) => {
                    guide.stand_ins(kind).nth(which as usize).is_some_and(|(_, target)| target.as_bytes() == word)
                }
                Role::Mark => false,
            })
        };
        let mut found: Option<Range<usize>> = None;
        for (at, _) in chars(self.text).filter(|(_, c)| is_digit(*c)) {
            if found.as_ref().is_some_and(|found| at.start < found.end) {
                continue;
            }
            let word = self.word(at);
            if !is_stand_in(self.text.get(word.clone()).unwrap_or_default()) && found.replace(word).is_some() {
                return None;
            }
        }
        found
    }

    /// The word of the draft that was made from a span, if it is one.
    fn aligned(&self, part: &Part, span: &Span) -> Option<Range<usize>> {
        let span = span.start() - part.start..span.end() - part.start;
        let mut found: Option<Range<usize>> = None;
        for (bytes, said) in self.tokens() {
            let source = self.source_of(said);
            if source.start >= span.end || source.end <= span.start || bytes.is_empty() {
                continue;
            }
            let word = self.word(bytes);
            match &mut found {
                None => found = Some(word),
                Some(found) if *found == word => {}
                Some(_) => return None,
            }
        }
        found
    }

    /// The place of a mark: behind the word before it where it sticks to that, else before the word after it.
    fn beside(&self, text: &[u8], part: &Part, span: &Span) -> Option<Range<usize>> {
        let (start, end) = (span.start() - part.start, span.end() - part.start);
        let (blank_before, _) = part.spaced(text, span);
        let near = |source: &Range<usize>| if blank_before { source.start >= end } else { source.end <= start };
        let made = self.tokens().filter(|(bytes, said)| {
            let source = self.source_of(said);
            !bytes.is_empty() && !source.is_empty() && near(&source)
        });
        let inside = |c: char| is_letter(c) || is_digit(c);
        let mut follows = chars_from(text, span.end()).take_while(|(at, _)| at.start < part.end);
        if blank_before && !follows.any(|(_, c)| inside(c)) {
            // Behind all words, before the marks that end the sentence.
            let at = chars(self.text).filter(|(_, c)| inside(*c)).last().map_or(0, |(at, _)| at.end);
            return Some(at..at);
        }
        if blank_before {
            // Of the tokens made from what follows, the one that was made from the first of it.
            let first = made.min_by_key(|(bytes, said)| (self.source_of(said).start, bytes.start));
            let at = first.map_or(self.text.len(), |(bytes, _)| self.word(bytes).start);
            return Some(at..at);
        }
        let last = made.max_by_key(|(bytes, said)| (self.source_of(said).end, bytes.end));
        let at = last.map(|(bytes, _)| self.word(bytes).end)?;
        Some(at..at)
    }

    /// The word that has the bytes of a token, without the blank before it.
    fn word(&self, Range { mut start, mut end }: Range<usize>) -> Range<usize> {
        let inside = |c: char| is_letter(c) || is_digit(c);
        while start < end
            && let Some(c) = char_at(self.text, start).filter(|c| is_space(*c))
        {
            start = end.min(start + c.len_utf8());
        }
        while let Some(c) = char_before(self.text, start).filter(|c| inside(*c)) {
            start -= c.len_utf8();
        }
        while let Some(c) = char_at(self.text, end).filter(|c| inside(*c)) {
            end += c.len_utf8();
        }
        start..end
    }
}
