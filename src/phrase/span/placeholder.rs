//! What a program puts something in place of: braces, `printf` formats, names between colons.

use super::{is_at, is_word, scan, skip, skip_if};
use crate::phrase::chars::is_space;

/// Longest name of a placeholder in bytes.
const LONGEST_NAME: usize = 64;

/// End of the placeholder at the byte `at`, which the character `before` precedes.
#[inline(never)]
pub(super) fn placeholder(text: &[u8], at: usize, before: char) -> Option<usize> {
    let next = at.saturating_add(1);
    match text.get(at)? {
        b'{' => braces(text, at),
        b'[' => doubled(text, at, '[', ']'),
        b'$' | b'#' => braces(text, next),
        b'%' => braces(text, next).or_else(|| format(text, next)),
        b':' if !is_word(before) && before != ':' => shortcode(text, next),
        _ => None,
    }
}

/// `{{name}}` with spaces, or `{name}` without.
#[inline(never)]
fn braces(text: &[u8], at: usize) -> Option<usize> {
    if let Some(end) = doubled(text, at, '{', '}') {
        return Some(end);
    }
    let from = skip(text, at, '{')?;
    let close = scan(text, from, &|c| !matches!(c, '{' | '}') && !is_space(c));
    skip(text, close, '}').filter(|_| close.wrapping_sub(from) <= LONGEST_NAME)
}

/// A name in doubled brackets.
#[inline(never)]
fn doubled(text: &[u8], at: usize, open: char, close: char) -> Option<usize> {
    let from = skip(text, skip(text, at, open)?, open)?;
    let end = scan(text, from, &|c| c != open && c != close && c != '\n');
    // Double square brackets with a phrase in them are a wiki's links.
    let is_name = open == '{' || scan(text, from, &|c| !is_space(c)) >= end;
    let is_short = end > from && end.wrapping_sub(from) <= LONGEST_NAME;
    skip(text, skip(text, end, close)?, close).filter(|_| is_name && is_short)
}

/// What `printf` and its kin replace, after the percent sign: `s`, `-5.2f`, `1$s`, `(name)s`, `lu`, `@`, `%`; and
/// `NAME%`. The space flag is left out: "5 % de".
fn format(text: &[u8], at: usize) -> Option<usize> {
    if let Some(end) = skip_if(text, at, &|c| matches!(c, '%' | '@')) {
        return Some(end);
    }
    let variable = scan(text, at, &|c| c.is_ascii_uppercase() || c == '_');
    if variable > at.saturating_add(1)
        && let Some(end) = skip(text, variable, '%')
    {
        return Some(end);
    }
    let is_number = |c: char| c.is_ascii_digit();
    let mut from = at;
    if let Some(name) = skip(text, at, '(') {
        from = skip(text, scan(text, name, &is_word), ')')?;
    } else if let Some(end) = skip(text, scan(text, at, &is_number), '$') {
        from = end;
    }
    from = scan(text, from, &|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '#' | '\'' | '*'));
    if let Some(precision) = skip(text, from, '.') {
        from = scan(text, precision, &is_number);
    }
    from = scan(text, from, &|c| matches!(c, 'h' | 'l' | 'z'));
    let end = skip_if(text, from, &|c| {
        matches!(c, 'd' | 'i' | 'o' | 'u' | 'x' | 'X' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'c' | 's' | 'p' | 'a' | '@')
    })?;
    (!is_at(text, end, &|c| is_word(c) && !c.is_ascii_digit())).then_some(end)
}

/// A name, in lower case, before a second colon: `smile:`, `+1:`.
fn shortcode(text: &[u8], at: usize) -> Option<usize> {
    let end = scan(text, at, &|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '+' | '-'));
    let close = skip(text, end, ':')?;
    (end.wrapping_sub(at) >= 2 && !is_at(text, close, &is_word)).then_some(close)
}
