//! What stands before and behind the words of a part and is copied: markers of lists, quotes and brackets, marks that go
//! between phrases. Small models drop such marks, or loop on them.

use super::part::{Part, Role};
use crate::blob::guide::StandInKind;
use crate::phrase::chars::{
    char_at, char_before, chars, chars_from, is_closing, is_digit, is_letter, is_opening, is_space, last,
};
use crate::phrase::punctuation::other_marks;

/// Where the words of a part start. `inner` says that something of its sentence comes before it.
#[inline(never)]
pub(super) fn words_start(text: &[u8], part: &Part, inner: bool) -> usize {
    // A number that counts things off.
    if let Some(first) = part.spans().first()
        && first.start() == part.start
        && matches!(first.role, Role::StandIn(StandInKind::Number, _))
    {
        let mut rest = chars_from(text, first.end()).take_while(|(at, _)| at.start < part.end);
        if let (Some((mark, '.' | ')' | ':')), Some((_, c))) = (rest.next(), rest.next())
            && is_space(c)
        {
            return mark.end;
        }
    }
    let inside = chars_from(text, part.start).take_while(|(at, _)| at.start < part.end);
    let mut words = inside.filter(|(at, c)| is_letter(*c) || is_digit(*c) || part.covers(at.start));
    let Some(start) = words.next().map(|(at, _)| at.start).filter(|start| *start > part.start) else {
        return part.start;
    };
    let apart = inner || char_before(text, start).is_some_and(is_space) || encloses(text, part);
    if apart { start } else { part.start }
}

/// Whether a quote or bracket opens at the start of a part and closes at its end, with no others in it.
fn encloses(text: &[u8], part: &Part) -> bool {
    let Some(closed) = text.get(part.start..part.end) else { return false };
    let Some((_, len)) = last(closed).filter(|(c, _)| is_closing(*c)) else { return false };
    let closes = part.end.saturating_sub(len);
    if part.covers(closes) {
        return false;
    }
    let mut opens = (part.start..closes).filter(|&at| opens_at(text, at));
    opens.next() == Some(part.start)
        && opens.next().is_none()
        && !chars_from(text, part.start)
            .skip(1)
            .take_while(|(at, _)| at.start < closes)
            .any(|(at, c)| is_closing(c) && !is_in_word(text, at.start))
}

/// Where the words of a part end.
#[inline(never)]
pub(super) fn words_end(text: &[u8], part: &Part) -> usize {
    words_end_by(text, part, |closes, c| (part.start..closes).any(|at| opens_at(text, at) && same_kind(text, at, c)))
}

/// [`words_end`], where `is_opened` says whether something opens before a byte that a quote or bracket closes. It looks at all of
/// the part, and is asked once for a kind of them: what nothing opens before a byte, nothing does before an earlier one.
fn words_end_by(text: &[u8], part: &Part, mut is_opened: impl FnMut(usize, char) -> bool) -> usize {
    let mut end = part.end;
    let mut unopened = [false; 4];
    loop {
        let rest = text.get(part.start..end).unwrap_or_default();
        let len = match last(rest) {
            _ if part.covers(end.saturating_sub(1)) => return end,
            Some((c, len)) if is_space(c) => len,
            // Without what opens it.
            Some((c, len)) if is_closing(c) => {
                let known = unopened.get_mut(kind(c)).is_some_and(|known| core::mem::replace(known, true));
                if !known && is_opened(end.saturating_sub(len), c) {
                    return end;
                }
                len
            }
            _ => other_marks(rest),
        };
        if len == 0 || len >= rest.len() {
            return end;
        }
        end = end.saturating_sub(len);
    }
}

/// Whether a quote or bracket opens at a byte: it comes before a word and not after one.
fn opens_at(text: &[u8], at: usize) -> bool {
    chars_from(text, at).next().is_some_and(|(_, c)| is_opening(c)) && !char_before(text, at).is_some_and(is_letter)
}

/// Whether what opens at a byte is of the kind that `closing` closes: brackets of one form, or any quotes.
fn same_kind(text: &[u8], at: usize, closing: char) -> bool {
    char_at(text, at).is_some_and(|c| kind(c) == kind(closing))
}

/// Round, square and curly brackets, and all else.
const fn kind(c: char) -> usize {
    match c {
        '(' | ')' => 0,
        '[' | ']' => 1,
        '{' | '}' => 2,
        _ => 3,
    }
}

/// Whether letters are on both sides of a byte's character.
fn is_in_word(text: &[u8], at: usize) -> bool {
    let after = text.get(at..).and_then(|rest| chars(rest).nth(1));
    char_before(text, at).is_some_and(is_letter) && after.is_some_and(|(_, c)| is_letter(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    /// Where the words of a text end, and how often all of it was looked at.
    fn ended(text: &str) -> (usize, usize) {
        let part = Part::of(text.as_bytes(), 0..text.len(), |_, _| None);
        let mut looks = 0;
        let end = words_end_by(text.as_bytes(), &part, |closes, c| {
            looks += 1;
            (0..closes).any(|at| opens_at(text.as_bytes(), at) && same_kind(text.as_bytes(), at, c))
        });
        assert_eq!(end, words_end(text.as_bytes(), &part));
        (end, looks)
    }

    #[test]
    fn what_closes_many_times_is_looked_for_once() {
        for closes in [")", ") ", ")]} ", ")]}\u{201d}, "] {
            let (end, looks) = ended(&format!("words{}", closes.repeat(2000)));
            assert!(end == 5 && looks <= 4, "{closes}: {end} after {looks}");
        }
        assert_eq!(ended("(words))").0, 8);
        assert_eq!(ended("[words)] )").0, 8);
    }
}
