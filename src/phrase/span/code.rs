//! Identifiers, paths, tags, handles, and text in backticks.

use super::web::link_end;
use super::{LONGEST, is_at, is_word, scan};
use crate::phrase::chars::{char_at, chars, is_digit, is_letter, is_lower, is_newline, is_opening, is_space, is_upper};

/// What the characters of a word are.
#[derive(Clone, Copy, Default)]
struct Word {
    end: usize,
    has_digit: bool,
    has_upper: bool,
    has_lower: bool,
    /// A capital after a small letter.
    is_camel: bool,
    /// An underscore between letters or digits, or two together; not one that only emphasizes.
    is_snake: bool,
    ends_in_digit: bool,
}

impl Word {
    #[inline(never)]
    fn at(text: &[u8], at: usize) -> Self {
        let end = scan(text, at, &is_word);
        let mut word = Word { end, ..Word::default() };
        let (mut before, mut in_name) = (' ', false);
        for (_, c) in chars(text.get(at..end).unwrap_or_default()) {
            word.has_digit |= is_digit(c);
            word.has_upper |= is_upper(c);
            word.has_lower |= is_lower(c);
            word.is_camel |= is_upper(c) && is_lower(before);
            word.is_snake |= before == '_' && (c == '_' || in_name);
            in_name |= c != '_';
            word.ends_in_digit = is_digit(c);
            before = c;
        }
        // "McDonald" is a name.
        word.is_camel &= text.get(at..end).is_some_and(|word| !word.starts_with(b"Mc"));
        word
    }

    /// Whether the separator `c` joins another word to this one: "v1.2", "A4-B5", "COVID-19"; not "mid-1990s", "he/she".
    fn joins(&self, c: char, next: &Word, next_is_digit: bool) -> bool {
        match c {
            '.' | ':' | ',' => self.ends_in_digit && next_is_digit,
            '-' | '/' => {
                (next.has_digit && (self.has_upper || self.has_digit))
                    || (self.has_digit && next.has_upper && !next.has_lower)
            }
            '\\' => true,
            _ => false,
        }
    }
}

/// End of the identifier, version or path of Windows that starts with a word at the byte `at`.
#[inline(never)]
pub(super) fn word(text: &[u8], at: usize) -> Option<usize> {
    let mut word = Word::at(text, at);
    if word.end == at.saturating_add(1) && text.get(word.end..)?.starts_with(b":\\") {
        return Some(link_end(text, word.end.saturating_add(2)));
    }
    let mut is_code = word.is_snake || word.is_camel;
    while let Some(c) = char_at(text, word.end)
        && word.end.wrapping_sub(at) < LONGEST
    {
        let from = word.end.saturating_add(1);
        let next = Word::at(text, from);
        if next.end <= from || !word.joins(c, &next, is_at(text, from, &is_digit)) {
            break;
        }
        is_code |= c == '\\' || next.is_snake || next.is_camel;
        word =
            Word { has_digit: word.has_digit || next.has_digit, has_upper: word.has_upper || next.has_upper, ..next };
    }
    let call = text.get(word.end..)?.starts_with(b"()");
    let end = if call { word.end.saturating_add(2) } else { word.end };
    (is_code || word.has_digit || call).then_some(end)
}

/// End of the code that a mark at the byte `at` announces, which the character `before` precedes: backticks, a hash, an
/// at sign, the start of a path.
#[inline(never)]
pub(super) fn marked(text: &[u8], at: usize, before: char) -> Option<usize> {
    let rest = text.get(at..)?;
    let is_start = !is_word(before) && !is_letter(before);
    match rest.first()? {
        b'`' => quoted(text, at),
        b'#' | b'@' if is_start => {
            let end = scan(text, at.saturating_add(1), &|c| is_word(c) || is_letter(c));
            (end > at.saturating_add(1)).then_some(end)
        }
        b'/' | b'.' | b'~' | b'\\' if is_space(before) || is_opening(before) => path(text, at),
        _ => None,
    }
}

/// End of the path at the byte `at`: `~/x`, `./x`, `../x`, `\\x`, or `/x/y`.
#[inline(never)]
fn path(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let prefix = [&b"~/"[..], b"./", b"../", b"\\\\", b"/"].into_iter().find(|prefix| rest.starts_with(prefix))?;
    let from = at.saturating_add(prefix.len());
    let end = link_end(text, from);
    let has_more = prefix.len() > 1 || scan(text, from, &|c| c != '/') < end;
    (has_more && is_at(text, from, &|c| is_word(c) || c == '.')).then_some(end)
}

/// End of the text in backticks at the byte `at`, on one line unless there are three.
#[inline(never)]
fn quoted(text: &[u8], at: usize) -> Option<usize> {
    let from = scan(text, at, &|c| c == '`');
    let count = from.wrapping_sub(at);
    let mut close = from;
    loop {
        let end = scan(text, close, &|c| c != '`' && (count >= 3 || !is_newline(c)));
        let after = scan(text, end, &|c| c == '`');
        if after == end || after.wrapping_sub(at) > LONGEST {
            return None;
        }
        if after.wrapping_sub(end) == count && end > from {
            return Some(after);
        }
        close = after;
    }
}
