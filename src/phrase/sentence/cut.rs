//! Where a sentence that is too long for the model is cut.

use super::{abbreviation, is_mark_at};
use crate::phrase::chars::{
    char_at, chars, is_cjk, is_closing, is_digit, is_emoji, is_opening, is_space, is_wide_mark,
};
use core::ops::Range;

/// Where to cut a sentence so that what comes before has at most `most` bytes: after the last clause, else before the
/// last white space, else between two characters, and not inside a number if that can be helped.
///
/// The result is a character boundary and more than 0, so a first character of more than `most` bytes is kept whole. A
/// sentence that fits is not cut.
pub(crate) fn cut(sentence: &[u8], most: usize) -> usize {
    if sentence.len() <= most {
        return sentence.len();
    }
    let (mut clause, mut space, mut loose, mut any) = (0, 0, 0, 0);
    // The two characters before.
    let (mut before, mut last) = (' ', ' ');
    for (range, c) in chars(sentence) {
        let start = range.start;
        if start > most && any > 0 {
            break;
        }
        if start > 0 && (start <= most || any == 0) {
            any = start;
            let after = char_at(sentence, range.end).unwrap_or(' ');
            if !in_number([before, last, c, after]) && !belongs_to(c, last) {
                loose = start;
                if is_space(c) && !is_space(last) {
                    space = start;
                }
            }
        }
        if range.end <= most && ends_clause(sentence, range.clone(), last, c) {
            clause = range.end;
        }
        (before, last) = (last, c);
    }
    let quarter = most / 4;
    // Text without spaces may have a few; its characters are better places than one near the start.
    let is_dense = char_at(sentence, loose).is_some_and(is_cjk);
    let enough = |at: &&usize| **at > 0;
    let found =
        [if clause >= quarter { clause } else { 0 }, if space >= quarter || !is_dense { space } else { 0 }, loose, any];
    // Nothing before the end: one character, longer than `most`.
    found.iter().find(enough).copied().unwrap_or(sentence.len())
}

/// Whether a place between the second and the third of four characters is inside a number.
#[inline(never)]
fn in_number([before, last, next, after]: [char; 4]) -> bool {
    let separates = |c| is_space(c) || matches!(c, '.' | ',' | ':' | '/' | '-' | '\'' | '\u{ff0c}' | '\u{ff0e}');
    match (is_digit(last), is_digit(next)) {
        (true, true) => true,
        (true, false) => separates(next) && is_digit(after),
        (false, true) => separates(last) && is_digit(before),
        (false, false) => false,
    }
}

/// Whether `c` goes with the character before it: a combining mark, a part of an emoji.
fn belongs_to(c: char, before: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{20e3}' | '\u{fe0e}' | '\u{fe0f}')
        || (is_emoji(c) && is_emoji(before))
}

/// Whether a clause ends with the character `c`, which `last` precedes.
#[inline(never)]
fn ends_clause(text: &[u8], range: Range<usize>, last: char, c: char) -> bool {
    let after = char_at(text, range.end);
    let spaced = after.is_some_and(is_space);
    match c {
        ',' | ';' | ':' | '\u{2013}' | '\u{2014}' | '\u{60c}' | '\u{61b}' => spaced,
        '\u{3001}' | '\u{ff0c}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff64}' => {
            !(is_digit(last) && after.is_some_and(is_digit))
        }
        '.' => spaced && abbreviation::ends(text, 0, range.start, range.end.wrapping_add(1)),
        '"' | '\'' | '\u{ab}' | '\u{bb}' | '\u{2018}' | '\u{201c}' | '\u{2019}' => false,
        _ if is_wide_mark(c) => true,
        _ => spaced && (is_mark_at(text, range.start, c) || (is_closing(c) && !is_opening(c))),
    }
}
