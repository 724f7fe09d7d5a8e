//! How a phrase ends, and making its translation end alike: models add stops to titles, drop question marks, and leave
//! out what opens a Spanish question.

mod opening;

pub(crate) use opening::opening;

use super::chars::{chars, is_cjk, is_closing, is_emoji, is_greek, is_letter, is_space, last};
use super::sentence::{is_abbreviation, is_mark_at};
use core::ops::Range;

/// What a phrase ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Final {
    /// No mark.
    #[default]
    None,
    /// One stop, of any script.
    Stop,
    /// A question mark, with others or without.
    Question,
    /// Exclamation marks.
    Exclamation,
    /// Several stops, or dots that are one character.
    Ellipsis,
    /// A mark that goes between phrases: comma, colon, semicolon, dash.
    Other,
}

/// One change to a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Bytes to replace; none where only something is put in.
    pub(crate) range: Range<usize>,
    /// What stands there then.
    pub(crate) put: &'static str,
}

/// Bytes of the marks that a text ends in, if those are of [`Final::Other`].
pub(crate) fn other_marks(text: &[u8]) -> usize {
    text.len().saturating_sub(back(text, text.len(), &is_other))
}

/// What a text ends with; quotes, brackets, spaces and emoji after it don't matter.
pub(crate) fn final_of(text: &[u8]) -> Final {
    Ending::of(text).mark
}

/// The stop of a text's script.
pub(crate) fn final_stop(text: &[u8]) -> &'static str {
    mark_for(Final::Stop, script(text))
}

/// The change that makes a draft end as its source does, `None` if it does already: marks are put, removed or replaced
/// by those of the draft's script. What closes after them stays.
///
/// Marks of one class are left as they are ("?!" for a question), and so is a draft whose source ends in
/// [`Final::Other`]. A stop that belongs to an abbreviation is not removed.
pub(crate) fn adjust(draft: &[u8], source: Final) -> Option<Edit> {
    let ending = Ending::of(draft);
    let marks = ending.marks.clone();
    let is_abbreviated = ending.mark == Final::Stop && is_abbreviation(draft, marks.start);
    let mark = if is_abbreviated { Final::None } else { ending.mark };
    match source {
        _ if source == ending.mark || source == mark => None,
        Final::Other => None,
        Final::None if mark == Final::Other => None,
        Final::None => Some(Edit { range: trim(draft, marks.start)..marks.end, put: "" }),
        _ => {
            let put = mark_for(source, script(draft.get(..marks.start).unwrap_or_default()));
            let range = match mark {
                _ if is_abbreviated => marks.end..marks.end,
                Final::None => ending.close..ending.close,
                // French has a space before those, and none before stops.
                _ if matches!(source, Final::Stop | Final::Ellipsis) => trim(draft, marks.start)..marks.end,
                _ => marks,
            };
            Some(Edit { range, put })
        }
    }
}

/// Where a text's last marks are.
struct Ending {
    mark: Final,
    /// The run of marks; empty, at the end of the text's words, where there is none.
    marks: Range<usize>,
    /// End of the text without spaces and emoji.
    close: usize,
}

impl Ending {
    #[inline(never)]
    fn of(text: &[u8]) -> Self {
        let close = back(text, text.len(), &|c| is_space(c) || is_emoji(c));
        let end = back(text, close, &|c| is_space(c) || is_emoji(c) || is_closing(c));
        let start = marks_before(text, end);
        if start < end {
            return Ending { mark: class(text, start..end), marks: start..end, close };
        }
        let other = back(text, close, &is_other);
        let mark = if other < close { Final::Other } else { Final::None };
        // "What?," ends in one run of marks.
        Ending { mark, marks: marks_before(text, other)..close, close }
    }
}

/// Whether `c` goes between phrases.
fn is_other(c: char) -> bool {
    matches!(c, ',' | ':' | ';' | '-' | '\u{2013}' | '\u{2014}' | '\u{60c}' | '\u{61b}' | '\u{3001}')
        || matches!(c, '\u{ff0c}' | '\u{ff1a}' | '\u{ff1b}')
}

/// Start of the final marks before the byte `end`; French has spaces between them as well, "Vous plaisantez ? !".
fn marks_before(text: &[u8], end: usize) -> usize {
    let mut start = end;
    loop {
        let from = if start < end { trim(text, start) } else { start };
        let Some((c, len)) = text.get(..from).and_then(last) else { return start };
        let at = from.saturating_sub(len);
        let is_mark = if from < start { matches!(c, '?' | '!') } else { is_mark_at(text, at, c) };
        if !is_mark {
            return start;
        }
        start = at;
    }
}

/// Class of a run of marks.
fn class(text: &[u8], marks: Range<usize>) -> Final {
    let run = || chars(text.get(marks.clone()).unwrap_or_default()).map(|(_, c)| c);
    let asks = |c| {
        matches!(c, '?' | ';' | '\u{37e}' | '\u{61f}' | '\u{203d}' | '\u{2047}'..='\u{2049}' | '\u{2e2e}')
            || matches!(c, '\u{1367}' | '\u{ff1f}' | '\u{fe16}' | '\u{fe56}')
    };
    let exclaims = |c| matches!(c, '!' | '\u{203c}' | '\u{ff01}' | '\u{fe15}' | '\u{fe57}');
    match run().take(2).count() {
        _ if run().any(asks) => Final::Question,
        _ if run().any(exclaims) => Final::Exclamation,
        1 if !run().any(|c| c == '\u{2026}') => Final::Stop,
        _ => Final::Ellipsis,
    }
}

/// The byte before `end` after which `drops` holds for all characters up to it.
#[inline(never)]
fn back(text: &[u8], end: usize, drops: &dyn Fn(char) -> bool) -> usize {
    let mut end = end;
    while let Some((_, len)) = text.get(..end).and_then(last).filter(|(c, _)| drops(*c)) {
        end = end.saturating_sub(len);
    }
    end
}

/// The byte before `end` without the spaces before it.
fn trim(text: &[u8], end: usize) -> usize {
    back(text, end, &is_space)
}

/// The last letter of a text, for its script; a Latin one for a text without.
fn script(text: &[u8]) -> char {
    let end = back(text, text.len(), &|c| !is_letter(c));
    text.get(..end).and_then(last).map_or('a', |(c, _)| c)
}

/// The mark of a class in the script of a letter.
fn mark_for(mark: Final, letter: char) -> &'static str {
    let is_hangul = matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7ff}');
    let marks = match letter {
        _ if is_cjk(letter) && !is_hangul => ["\u{3002}", "\u{ff1f}", "\u{ff01}", "\u{2026}\u{2026}"],
        _ if is_greek(letter) => [".", ";", "!", "..."],
        '\u{531}'..='\u{588}' => ["\u{589}", "?", "!", "..."],
        '\u{620}'..='\u{6ff}' => [".", "\u{61f}", "!", "..."],
        '\u{900}'..='\u{9ff}' => ["\u{964}", "?", "!", "..."],
        _ => [".", "?", "!", "..."],
    };
    let [stop, question, exclamation, ellipsis] = marks;
    match mark {
        Final::Stop => stop,
        Final::Question => question,
        Final::Exclamation => exclamation,
        Final::Ellipsis => ellipsis,
        Final::None | Final::Other => "",
    }
}

#[cfg(test)]
mod tests;
