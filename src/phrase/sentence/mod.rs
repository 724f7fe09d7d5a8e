//! A text's sentences, and where one that is too long is cut.

mod abbreviation;
mod cut;

pub(crate) use abbreviation::is_abbreviation;
pub(crate) use cut::cut;

use super::chars::{
    char_at, char_before, chars_from, is_cjk, is_closing, is_digit, is_emoji, is_final_mark, is_greek, is_letter,
    is_lower, is_newline, is_opening, is_space, is_wide_mark,
};
use core::ops::Range;

/// The next sentence at or after the byte `start`, without white space around it; `None` where only that is left.
///
/// A line's end ends a sentence. So do final marks with the quotes, brackets and emoji right after them, if white space
/// follows or their script writes none.
pub(crate) fn next(text: &[u8], start: usize) -> Option<Range<usize>> {
    let (first, _) = chars_from(text, start).find(|(_, c)| !is_space(*c))?;
    let start = first.start;
    let mut end = start;
    // A sentence has words; marks and emoji before them belong to it.
    let mut has_words = false;
    let mut rest = chars_from(text, start);
    while let Some((range, c)) = rest.next() {
        if is_newline(c) {
            break;
        }
        if is_space(c) {
            continue;
        }
        end = range.end;
        has_words |= is_letter(c) || is_digit(c);
        if has_words && is_mark_at(text, range.start, c) {
            let marks = Marks::at(text, range.start);
            end = marks.end;
            if marks.end_sentence(text, start) {
                break;
            }
            rest = chars_from(text, end);
        }
    }
    Some(start..end)
}

/// Whether `c` at the byte `at` is a final mark. After a Greek letter a semicolon asks.
#[inline(never)]
pub(crate) fn is_mark_at(text: &[u8], at: usize, c: char) -> bool {
    is_final_mark(c) || (c == ';' && char_before(text, at).is_some_and(is_greek))
}

/// A run of final marks with what closes after them.
struct Marks {
    start: usize,
    end: usize,
    /// The last mark.
    last: char,
    /// Stops or dots only, which may be inside a sentence.
    stops: bool,
    /// Whether it is a single mark.
    single: bool,
    /// Whether a quote or bracket closes after a mark.
    closed: bool,
}

impl Marks {
    /// The run that begins with the mark at the byte `start`.
    #[inline(never)]
    fn at(text: &[u8], start: usize) -> Self {
        let mut marks = Marks { start, end: start, last: ' ', stops: true, single: true, closed: false };
        let mut rest = chars_from(text, start);
        while let Some((range, c)) = rest.next() {
            if is_mark_at(text, range.start, c) {
                marks.single &= range.start == start;
                marks.stops &= matches!(c, '.' | '\u{2026}');
                marks.last = c;
            } else if is_closing(c) && !(is_wide_mark(marks.last) && matches!(c, '\u{2018}' | '\u{201c}')) {
                // Chinese opens with those quotes, and writes no space before them.
                marks.closed = true;
            } else if let Some(end) = spaced_guillemet(text, range.clone(), c) {
                marks.closed = true;
                marks.end = end;
                rest = chars_from(text, end);
                continue;
            } else if !is_emoji(c) {
                break;
            }
            marks.end = range.end;
        }
        marks
    }

    /// Whether the sentence that starts at the byte `start` ends with these marks.
    #[inline(never)]
    fn end_sentence(&self, text: &[u8], start: usize) -> bool {
        let Some(after) = char_at(text, self.end) else { return true };
        let wide = is_wide_mark(self.last);
        if !is_space(after) {
            return match self.last {
                // A quotation that goes on, and decimals.
                _ if wide => {
                    let in_number = is_digit(after) && char_before(text, self.start).is_some_and(is_digit);
                    !(in_number || self.closed && after == '\u{3068}')
                }
                '!' | '?' => is_cjk(after) || matches!(after, '\u{a1}' | '\u{bf}'),
                _ => false,
            };
        }
        let mut following = chars_from(text, self.end);
        let Some((next, c)) = following.find(|(_, c)| is_newline(*c) || !(is_space(*c) || opens(*c))) else {
            return true;
        };
        if wide || is_newline(c) {
            return true;
        }
        if is_final_mark(c) || (is_lower(c) && (self.stops || self.closed)) {
            return false;
        }
        !(self.single && !self.closed && self.last == '.') || abbreviation::ends(text, start, self.start, next.start)
    }
}

fn opens(c: char) -> bool {
    is_opening(c) || matches!(c, '\u{a1}' | '\u{bf}')
}

/// End of the French closing quote after the space `space`, unless it opens a German quotation.
fn spaced_guillemet(text: &[u8], space: Range<usize>, c: char) -> Option<usize> {
    let quote = chars_from(text, space.end).next().filter(|(_, c)| matches!(c, '\u{bb}' | '\u{203a}'))?.0;
    let opens = char_at(text, quote.end).is_some_and(|c| is_letter(c) || is_digit(c));
    (is_space(c) && !is_newline(c) && !opens).then_some(quote.end)
}

#[cfg(test)]
mod tests;
