//! Characters of a text that may be any bytes, and their classes.
//!
//! The classes are ranges written by hand, much smaller than Unicode's own tables; the tests hold them against the
//! standard library's. They are kept out of line, here and in the rest of [`phrase`](super): firmware is built for
//! speed, a phrase is short, and inlined they take twice the flash.

mod case;
mod letter;
mod mark;
mod numeral;

pub(crate) use case::{is_lower, is_upper, lower, upper};
pub(crate) use letter::{is_cjk, is_greek, is_letter};
pub(crate) use mark::{is_closing, is_emoji, is_final_mark, is_newline, is_opening, is_space, is_wide_mark};
pub(crate) use numeral::is_digit;

use core::ops::Range;

/// Whether `ranges`, first and last code points less `base` in turns, hold `c`.
#[inline(never)]
fn in_ranges(ranges: &[u16], base: u32, c: char) -> bool {
    let code = u32::from(c).wrapping_sub(base);
    ranges.as_chunks().0.iter().any(|&[first, last]| (u32::from(first)..=u32::from(last)).contains(&code))
}

/// The character that `text` starts with and its length in bytes. A byte that is not part of UTF-8 is a U+FFFD by
/// itself.
#[inline(never)]
pub(crate) fn first(text: &[u8]) -> Option<(char, usize)> {
    let lead = *text.first()?;
    if lead.is_ascii() {
        return Some((lead.into(), 1));
    }
    let len = match lead {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let decoded = text.get(..len).and_then(|bytes| core::str::from_utf8(bytes).ok()?.chars().next());
    Some(decoded.map_or((char::REPLACEMENT_CHARACTER, 1), |c| (c, len)))
}

/// The character that `text` ends with and its length in bytes.
#[inline(never)]
pub(crate) fn last(text: &[u8]) -> Option<(char, usize)> {
    // No valid character begins inside another, so at most one of these reaches to the end.
    for len in 2..=4usize {
        let tail = text.len().checked_sub(len).and_then(|at| text.get(at..));
        if let Some((c, found)) = tail.and_then(first)
            && found == len
        {
            return Some((c, len));
        }
    }
    let byte = *text.last()?;
    Some((if byte.is_ascii() { byte.into() } else { char::REPLACEMENT_CHARACTER }, 1))
}

/// Whether a list of words has this one, whatever the case of its ASCII letters.
#[inline(never)]
pub(crate) fn is_listed(list: &str, word: &[u8]) -> bool {
    list.as_bytes().split(|byte| *byte == b' ').any(|entry| entry.eq_ignore_ascii_case(word))
}

/// The characters of a text with their ranges of bytes.
pub(crate) fn chars(text: &[u8]) -> Chars<'_> {
    chars_from(text, 0)
}

/// The characters from the byte `start` on.
pub(crate) fn chars_from(text: &[u8], start: usize) -> Chars<'_> {
    Chars { text, at: start }
}

/// The character at the byte `at`.
pub(crate) fn char_at(text: &[u8], at: usize) -> Option<char> {
    Some(first(text.get(at..)?)?.0)
}

/// The character that ends before the byte `at`.
pub(crate) fn char_before(text: &[u8], at: usize) -> Option<char> {
    Some(last(text.get(..at)?)?.0)
}

/// Iterator of [`chars`].
#[derive(Clone)]
pub(crate) struct Chars<'t> {
    text: &'t [u8],
    at: usize,
}

impl Chars<'_> {
    /// Where the next character starts.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }
}

impl Iterator for Chars<'_> {
    type Item = (Range<usize>, char);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let (c, len) = first(self.text.get(start..)?)?;
        self.at = start.wrapping_add(len);
        Some((start..self.at, c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn invalid_bytes_count_one_each() {
        let found: Vec<_> = chars(b"a\xff\xc3\xa9\xe2\x82z").collect();
        let r = char::REPLACEMENT_CHARACTER;
        assert_eq!(found, vec![(0..1, 'a'), (1..2, r), (2..4, '\u{e9}'), (4..5, r), (5..6, r), (6..7, 'z')]);
    }

    /// Chars backwards are chars forwards.
    fn check_backwards(text: &[u8]) {
        let mut rest = text;
        let mut backwards = vec![];
        while let Some((c, len)) = last(rest) {
            let at = rest.len() - len;
            backwards.push((at..rest.len(), c));
            rest = &rest[..at];
        }
        backwards.reverse();
        assert_eq!(backwards, chars(text).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn text_is_decoded_as_by_the_standard_library(text: String) {
            let expected: Vec<_> = text.char_indices().map(|(at, c)| (at..at + c.len_utf8(), c)).collect();
            assert_eq!(chars(text.as_bytes()).collect::<Vec<_>>(), expected);
            check_backwards(text.as_bytes());
        }

        #[test]
        fn ranges_of_any_bytes_follow_each_other(text: Vec<u8>) {
            let mut end = 0;
            for (range, c) in chars(&text) {
                assert_eq!(range.start, end);
                assert!(range.len() == c.len_utf8() || (c == char::REPLACEMENT_CHARACTER && range.len() == 1));
                end = range.end;
            }
            assert_eq!(end, text.len());
            check_backwards(&text);
        }
    }
}
