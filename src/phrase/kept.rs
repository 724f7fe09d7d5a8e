//! What is there again in a translation: the source's digits, and words that should not be.

use super::chars::{chars, is_letter, lower};
use core::ops::Range;

/// Whether every run of digits of `source` stands in `target`, as often as in `source`.
#[inline(never)]
pub(crate) fn digits_kept(source: &[u8], target: &[u8]) -> bool {
    let count = |text, run: &[u8]| digits(text).filter(|other| *other == run).count();
    digits(source).all(|run| count(source, run) <= count(target, run))
}

/// Whether `words`, which stand in `source`, stand in `target` as often.
#[inline(never)]
pub(crate) fn is_kept(words: &[u8], source: &[u8], target: &[u8]) -> bool {
    let count = |text: &[u8]| text.windows(words.len().max(1)).filter(|other| *other == words).count();
    count(source) <= count(target)
}

/// Runs of ASCII digits.
fn digits(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_digit()).filter(|run| !run.is_empty())
}

/// A text up to the first word that has been there before, whatever its case, without what is between; and no more than so many
/// words.
#[inline(never)]
pub(crate) fn first_words(text: &[u8], most: usize) -> &[u8] {
    let mut end = 0;
    for (number, word) in words(text).enumerate() {
        if number >= most || words(text).take(number).any(|before| same(text, before, word.clone())) {
            return text.get(..end).unwrap_or_default();
        }
        end = word.end;
    }
    text
}

/// Bytes of a text's words.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut rest = chars(text);
    core::iter::from_fn(move || {
        let (start, _) = rest.find(|(_, c)| is_letter(*c))?;
        let inside = rest.by_ref().take_while(|(_, c)| is_letter(*c)).last();
        Some(start.start..inside.map_or(start.end, |(last, _)| last.end))
    })
}

fn same(text: &[u8], one: Range<usize>, other: Range<usize>) -> bool {
    let letters = |range| chars(text.get(range).unwrap_or_default()).map(|(_, c)| lower(c));
    letters(one).eq(letters(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_by_runs() {
        let kept = |source: &str, target: &str| digits_kept(source.as_bytes(), target.as_bytes());
        assert!(kept("", "1") && kept("a 10:30", "30 and 10") && kept("7 and 7", "7, 7"));
        assert!(!kept("1", "") && !kept("10", "100") && !kept("7 and 7", "7"));
    }

    #[test]
    fn words_are_counted_as_they_are_written() {
        let kept = |words: &str, target: &str| is_kept(words.as_bytes(), b"<b>x</b> and <b>", target.as_bytes());
        assert!(kept("<b>", "<b><b>") && kept("</b>", "a</b></b>") && kept("", ""));
        assert!(!kept("<b>", "<b>") && !kept("</b>", "</B>"));
    }

    #[test]
    fn a_text_ends_before_a_word_comes_again() {
        let cut = |text: &str| std::str::from_utf8(first_words(text.as_bytes(), 4)).unwrap().to_owned();
        use std::borrow::ToOwned;
        assert_eq!(cut("por favor, por"), "por favor");
        assert_eq!(cut("Yo yo."), "Yo");
        assert_eq!(cut("\u{bf}Es el Él?"), "\u{bf}Es el Él?");
        assert_eq!(cut("uno dos, tres cuatro cinco."), "uno dos, tres cuatro");
        assert_eq!(cut(""), "");
    }
}
