//! What opens a question or an exclamation in Spanish.

use super::{Edit, Final};
use crate::phrase::chars::{char_before, chars, chars_from, is_emoji, is_final_mark, is_opening, is_space};
use core::ops::Range;

const QUESTION: char = '\u{bf}';
const EXCLAMATION: char = '\u{a1}';

/// The change that gives a draft, which ends in `last`, the opening mark that its language writes; `None` if it is
/// right. Spanish opens questions and exclamations, at the start unless the draft has a mark further on ("Hola, ¿qué
/// tal?"). An opening mark that nothing closes is dropped, and any at the start of a language that has none.
pub(crate) fn opening(draft: &[u8], last: Final, spanish: bool) -> Option<Edit> {
    let start = start(draft);
    if !spanish {
        let (range, _) = chars_from(draft, start).next().filter(|(_, c)| matches!(*c, QUESTION | EXCLAMATION))?;
        return Some(Edit { range, put: "" });
    }
    let (wanted, put) = match last {
        Final::Question => (QUESTION, "\u{bf}"),
        Final::Exclamation => (EXCLAMATION, "\u{a1}"),
        _ => (' ', ""),
    };
    let unclosed = unclosed(draft);
    if wanted != ' ' && chars(draft).any(|(_, c)| c == wanted) {
        return None;
    }
    match unclosed {
        Some(range) => Some(Edit { range, put }),
        None if put.is_empty() => None,
        // "!Ay!" opens with what closes.
        None => {
            let closing = if wanted == QUESTION { '?' } else { '!' };
            let width = usize::from(char_before(draft, start).is_some_and(|c| c == closing));
            Some(Edit { range: start.saturating_sub(width)..start, put })
        }
    }
}

/// The last opening mark with no mark of its kind after it.
fn unclosed(draft: &[u8]) -> Option<Range<usize>> {
    let mut open: [Option<Range<usize>>; 2] = [None, None];
    let [question, exclamation] = &mut open;
    for (range, c) in chars(draft) {
        match c {
            QUESTION => *question = Some(range),
            EXCLAMATION => *exclamation = Some(range),
            '?' => *question = None,
            '!' => *exclamation = None,
            _ => {}
        }
    }
    open.into_iter().flatten().max_by_key(|range| range.start)
}

/// Where the words of a draft start: after quotes, brackets, dashes, dots and emoji.
fn start(draft: &[u8]) -> usize {
    let before = |c| {
        is_space(c) || is_opening(c) || is_emoji(c) || is_final_mark(c) || matches!(c, '-' | '\u{2013}' | '\u{2014}')
    };
    chars(draft).find(|(_, c)| !before(*c)).map_or(0, |(range, _)| range.start)
}
