//! Spans of a text that a model must not touch: numbers, code, addresses, placeholders, tags, emoji, and writing that
//! its vocabulary lacks.

mod code;
mod dotted;
mod markup;
mod number;
mod placeholder;
mod web;

use super::chars::{char_at, char_before, chars_from, is_digit, is_emoji, is_lower, is_space, is_upper};
use core::ops::Range;

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// A numeral with signs, units and separators: amounts, dates, times, telephone numbers.
    Number,
    /// Identifiers, paths, versions, tags and handles, text in backticks.
    Code,
    /// A link or a domain.
    Url,
    /// An address of electronic mail.
    Email,
    /// What a program replaces: `{name}`, `%s`, `:smile:`.
    Placeholder,
    /// A tag or entity of HTML.
    Tag,
    /// A run of emoji.
    Emoji,
    /// Characters that the vocabulary lacks.
    Foreign,
}

/// Longest stretch, in bytes, that is searched for the end of a span of one kind: bounds the time that text takes which
/// only starts like one.
const LONGEST: usize = 512;

/// The first span that starts at one of the bytes `starts`; of those that start there the longest. `unknown` says of a
/// character that the model's vocabulary lacks it.
///
/// Every digit is in a span, and every unknown character.
pub(crate) fn next(
    text: &[u8],
    starts: Range<usize>,
    unknown: &impl Fn(char) -> bool,
) -> Option<(Range<usize>, SpanKind)> {
    let mut before = char_before(text, starts.start).unwrap_or(' ');
    for (range, c) in chars_from(text, starts.start).take_while(|(range, _)| range.start < starts.end) {
        // What is too long for any word is copied as a whole.
        if (is_space(before) || range.start == 0) && is_endless(text, range.start) {
            return Some((range.start..word_end(text, range.start), SpanKind::Code));
        }
        if let Some((mut end, kind)) = longest(text, range.start, c, before, unknown) {
            // Its end was not looked for any further.
            if end.wrapping_sub(range.start) + 8 >= LONGEST && !matches!(kind, SpanKind::Foreign | SpanKind::Emoji) {
                end = end.max(word_end(text, end));
            }
            return Some((range.start..end, kind));
        }
        before = c;
    }
    None
}

/// Whether more than [`LONGEST`] ASCII characters stand without a space.
fn is_endless(text: &[u8], at: usize) -> bool {
    let word = text.get(at..).and_then(|rest| rest.get(..=LONGEST));
    word.is_some_and(|word| word.iter().all(u8::is_ascii_graphic))
}

/// The byte after the last one that is not white space.
fn word_end(text: &[u8], at: usize) -> usize {
    chars_from(text, at).take_while(|(_, c)| !is_space(*c)).last().map_or(at, |(range, _)| range.end)
}

/// End and kind of the longest span that starts at the byte `at`, with `c`; `before` is the character before it.
fn longest(
    text: &[u8],
    at: usize,
    c: char,
    before: char,
    unknown: &impl Fn(char) -> bool,
) -> Option<(usize, SpanKind)> {
    let others = [(emoji(text, at), SpanKind::Emoji), (foreign(text, at, unknown), SpanKind::Foreign)];
    let others = others.into_iter().filter_map(|(end, kind)| Some((end?, kind)));
    others.fold(known(text, at, c, before), longer)
}

/// The longer of two spans, the first of two that are equally long.
fn longer(best: Option<(usize, SpanKind)>, new: (usize, SpanKind)) -> Option<(usize, SpanKind)> {
    best.filter(|best| best.0 >= new.0).or(Some(new))
}

/// The longest span of those that are known by what they are made of.
#[inline(never)]
fn known(text: &[u8], at: usize, c: char, before: char) -> Option<(usize, SpanKind)> {
    let mut best = number::number(text, at, before);
    let mut take = |end: Option<usize>, kind: SpanKind| {
        if let Some(end) = end.filter(|end| *end > at) {
            best = longer(best, (end, kind));
        }
    };
    let is_start = !is_word(before);
    if is_start && is_word(c) {
        take(web::email(text, at), SpanKind::Email);
        if before != '@' {
            take(web::link(text, at), SpanKind::Url);
            if let Some((end, kind)) = dotted::dotted(text, at) {
                take(Some(end), kind);
            }
        }
        take(code::word(text, at), SpanKind::Code);
    } else if !is_space(c) {
        take(placeholder::placeholder(text, at, before), SpanKind::Placeholder);
        take(markup::tag(text, at), SpanKind::Tag);
        take(code::marked(text, at, before), SpanKind::Code);
    }
    // A link that something is glued to: all of it.
    let word = if is_start { scan(text, at, &is_word) } else { at };
    let glued = best.map_or(word, |(end, _)| end.max(word));
    match web::glued(text, glued).filter(|_| glued > at) {
        Some(end) => longer(best, (end, SpanKind::Url)),
        None => best,
    }
}

/// End of the run of emoji at the byte `at`.
#[inline(never)]
fn emoji(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at;
    loop {
        let mut following = chars_from(text, end);
        let (range, c) = following.next()?;
        let shown = following.next().map_or(' ', |(_, c)| c);
        let is_based = matches!(c, '0'..='9' | '#' | '*') && (shown == KEYCAP || is_shown_keycap(text, range.end));
        // Joiners and selectors occur in words as well, and start no emoji.
        let starts = starts_emoji(c) || is_based || (shown == '\u{fe0f}' && !is_word(c) && !is_space(c));
        if !(starts || (end > at && is_emoji(c))) {
            break;
        }
        end = range.end;
        if text.len() == end {
            break;
        }
    }
    (end > at).then_some(end)
}

/// U+20E3, which makes a keycap of the character before it.
const KEYCAP: char = '\u{20e3}';

/// Whether emoji presentation and a keycap come at the byte `at`.
fn is_shown_keycap(text: &[u8], at: usize) -> bool {
    let mut following = chars_from(text, at).map(|(_, c)| c);
    following.next() == Some('\u{fe0f}') && following.next() == Some(KEYCAP)
}

/// Whether `c` is an emoji and not a joiner or selector alone.
fn starts_emoji(c: char) -> bool {
    is_emoji(c) && !matches!(c, '\u{200d}' | KEYCAP | '\u{fe0e}' | '\u{fe0f}')
}

/// End of the run of unknown characters at the byte `at`, spaces between them included. Digits, emoji and what else is known
/// are in spans of their own.
fn foreign(text: &[u8], at: usize, unknown: &impl Fn(char) -> bool) -> Option<usize> {
    let is_foreign = |c| unknown(c) && !is_digit(c) && !starts_emoji(c);
    let mut end = at;
    let mut joints = 0usize;
    let mut before = ' ';
    for (range, c) in chars_from(text, at) {
        let before = core::mem::replace(&mut before, c);
        if is_foreign(c) && (range.start == at || known(text, range.start, c, before).is_none()) {
            end = range.end;
            joints = 0;
        } else if end > at && (is_space(c) || (joints == 0 && matches!(c, '-' | '\'' | '\u{2019}'))) {
            joints = joints.saturating_add(1);
        } else {
            break;
        }
    }
    (end > at).then_some(end)
}

/// Whether a digit glues to `c`: letters of scripts that write spaces between words and have case, ordinal signs.
#[inline(never)]
fn glues(c: char) -> bool {
    c.is_ascii_alphabetic() || is_upper(c) || is_lower(c) || matches!(c, '\u{aa}' | '\u{ba}' | '\u{300}'..='\u{36f}')
}

/// Whether `c` is part of a word, identifiers among them.
fn is_word(c: char) -> bool {
    glues(c) || is_digit(c) || c == '_'
}

/// End of the characters from the byte `at` on that `accepts` holds for, within [`LONGEST`].
#[inline(never)]
fn scan(text: &[u8], at: usize, accepts: &dyn Fn(char) -> bool) -> usize {
    let limit = at.saturating_add(LONGEST);
    let run = chars_from(text, at).take_while(|(range, c)| range.end <= limit && accepts(*c));
    run.last().map_or(at, |(range, _)| range.end)
}

/// The byte after `c`, if it is at the byte `at`.
#[inline(never)]
fn skip(text: &[u8], at: usize, c: char) -> Option<usize> {
    skip_if(text, at, &|found| found == c)
}

/// The byte after the character at the byte `at`, if `accepts` holds for it.
#[inline(never)]
fn skip_if(text: &[u8], at: usize, accepts: &dyn Fn(char) -> bool) -> Option<usize> {
    let (range, c) = chars_from(text, at).next()?;
    accepts(c).then_some(range.end)
}

/// Whether `accepts` holds for the character at the byte `at`; not at the end of the text.
#[inline(never)]
fn is_at(text: &[u8], at: usize, accepts: &dyn Fn(char) -> bool) -> bool {
    char_at(text, at).is_some_and(accepts)
}

#[cfg(test)]
mod tests;
