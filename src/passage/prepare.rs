//! What the model reads for a part: stand-ins in place of spans, words in a sentence's letter case.

use super::part::{Part, Role};
use crate::blob::guide::Guide;
use crate::phrase::case::Case;
use crate::phrase::chars::{char_at, char_before, chars_from, is_letter, is_space, lower, upper};
use crate::text::Tokenizer;
use core::ops::Range;

/// Bytes of the longest word that may be a name.
const WORD: usize = 32;

/// How a part is prepared.
#[derive(Clone, Copy)]
pub(super) struct Preparation<'p, 't> {
    pub text: &'t [u8],
    /// The language code that comes first.
    pub code: &'t [u8],
    pub part: &'p Part,
    /// Letter case of the sentence that the part is of; `None` leaves letters as they are.
    pub case: Option<Case>,
    /// What is added at the end: models know sentences that end with a mark.
    pub mark: &'static str,
    pub tokenizer: &'p Tokenizer<'p>,
    pub guide: &'p Guide<'p>,
}

impl Preparation<'_, '_> {
    /// Shows the prepared text piece by piece, each with the bytes of the text that it is for.
    pub fn walk(&self, mut show: impl FnMut(Range<usize>, &[u8])) {
        let (text, part) = (self.text, self.part);
        if !self.code.is_empty() {
            show(part.start..part.start, self.code);
        }
        let mut spans = part.spans().iter().peekable();
        let mut rest = chars_from(text, part.start);
        // A part is given as a sentence of its own.
        let mut first_word = self.case.is_some();
        let mut capital = false;
        let mut after_mark_space = false;
        loop {
            if let Some(span) = spans.next_if(|span| span.start() == rest.at()) {
                match span.role {
                    Role::StandIn(kind, number) => {
                        if let Some((source, _)) = self.guide.stand_ins(kind).nth(number as usize) {
                            show(span.range(), source.as_bytes());
                        }
                    }
                    // One of the blanks about a mark remains.
                    Role::Mark => after_mark_space = char_before(text, span.start()).is_none_or(is_space),
                }
                (first_word, capital) = (false, false);
                rest = chars_from(text, span.end());
                continue;
            }
            let Some((at, c)) = rest.next().filter(|(at, _)| at.start < part.end) else { break };
            if core::mem::take(&mut after_mark_space) && is_space(c) {
                continue;
            }
            if !is_letter(c) || matches!(self.case, None | Some(Case::AsIs)) {
                if is_letter(c) && core::mem::take(&mut first_word) {
                    show(at, upper(c).encode_utf8(&mut [0; 4]).as_bytes());
                } else {
                    show(at.clone(), text.get(at).unwrap_or_default());
                }
                continue;
            }
            let starts = !char_before(text, at.start).is_some_and(|c| is_letter(c) || c == '\'' || c == '\u{2019}');
            if starts || at.start == part.start {
                capital = core::mem::take(&mut first_word) || self.is_name(at.start);
            }
            let c = if core::mem::take(&mut capital) { upper(c) } else { lower(c) };
            show(at, c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        if !self.mark.is_empty() {
            show(part.end..part.end, self.mark.as_bytes());
        }
    }

    /// Whether the vocabulary says that the word at `start` is written with a capital.
    fn is_name(&self, start: usize) -> bool {
        let (mut small, mut large) = ([0; WORD], [0; WORD]);
        let mut len = 0;
        for (_, c) in chars_from(self.text, start).take_while(|(_, c)| is_letter(*c)) {
            let forms = [lower(c), if len == 0 { upper(c) } else { lower(c) }];
            let next = len + forms[0].len_utf8();
            // A capital of another length is rare, and no name this way.
            let (Some(a), Some(b)) = (small.get_mut(len..next), large.get_mut(len..next)) else { return false };
            if forms[1].len_utf8() != forms[0].len_utf8() {
                return false;
            }
            forms[0].encode_utf8(a);
            forms[1].encode_utf8(b);
            len = next;
        }
        let word = |bytes: &[u8; WORD]| self.tokenizer.word_score(bytes.get(..len).unwrap_or_default());
        match (word(&small), word(&large)) {
            (None, Some(_)) => true,
            // Many words start sentences: a name is much more frequent with its capital.
            (Some(small), Some(large)) => large > small.saturating_add(2 << 16),
            _ => false,
        }
    }

    /// Whether a text that is not in a span has a word, however it is written.
    pub fn has_word(&self, word: &str) -> bool {
        let text = self.text;
        chars_from(text, self.part.start).take_while(|(at, _)| at.start < self.part.end).any(|(at, _)| {
            let mut here = chars_from(text, at.start).map(|(_, c)| lower(c));
            let same = word.chars().map(lower).all(|c| here.next() == Some(c));
            let end = at.start + word.len();
            same && !self.part.covers(at.start)
                && !char_before(text, at.start).is_some_and(is_letter)
                && !char_at(text, end).is_some_and(is_letter)
        })
    }
}
