//! Stops that end no sentence: those of abbreviations, initials, and numbers that count things off.

use crate::phrase::chars::{chars, chars_from, is_digit, is_letter, is_listed, is_lower, is_upper, last};

/// English, Spanish, French, German and Russian abbreviations that something always follows.
const NEVER: &str = "mr mrs ms dr prof st vs e.g i.e cf viz ca inc ltd co corp jr mt ft gen rev hon capt lt sgt messrs \
    approx dept sr sra srta sres dra ud uds vd vds dña profa lic ing av avda aprox p ej p.ej ee ee.uu mme mlle mgr env \
    hr fr frl z z.b d.h u.a bzw evtl ggf inkl zzgl tel tél tfno str bspw sog dipl г ул т.е";
/// Those that a number follows; anything else makes them the last word of a sentence.
const BEFORE_NUMBER: &str = "no nr nº núm num fig vol art pág págs pag pp abs kap стр jan feb mar apr jun jul aug sep \
    sept oct nov dec";
/// Those that end a sentence if a capital follows.
const SOFT: &str = "a.m p.m a.d b.c etc usw uu u.s.w т.д т.п";
/// Months before which German writes the day with a stop.
const MONTHS: &str = "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember";

/// Longest token that is looked at, in bytes.
const LONGEST: usize = 24;

/// Whether the stop at the byte `stop` ends the sentence that starts at `start`; the next one would start at the byte
/// `next`.
#[inline(never)]
pub(super) fn ends(text: &[u8], start: usize, stop: usize, next: usize) -> bool {
    let from = token_start(text, start, stop);
    let token = text.get(from..stop).unwrap_or_default();
    let next_char = chars_from(text, next).next().map_or(' ', |(_, c)| c);
    if token.is_empty() || stop.wrapping_sub(from) > LONGEST {
        return true;
    }
    if chars(token).all(|(_, c)| is_digit(c) || c == '.') {
        // "1. First", "am 3. Mai".
        return from != start && !is_listed(MONTHS, word(text, next));
    }
    if is_listed(SOFT, token) {
        return is_letter(next_char) && !is_lower(next_char);
    }
    if is_listed(BEFORE_NUMBER, token) {
        return !is_digit(next_char);
    }
    !is_listed(NEVER, token) && !is_initial(token, from == start)
}

/// Whether the stop at the byte `stop` belongs to an abbreviation, whatever follows it.
pub(crate) fn is_abbreviation(text: &[u8], stop: usize) -> bool {
    let token = text.get(token_start(text, 0, stop)..stop).unwrap_or_default();
    is_listed(SOFT, token) || is_listed(NEVER, token)
}

/// "J." Smith, the "U.S."; not "So am I.".
fn is_initial(token: &[u8], at_start: bool) -> bool {
    let Some((letter, len)) = last(token) else { return false };
    let before = token.len().checked_sub(len).and_then(|head| last(token.get(..head)?));
    is_upper(letter) && before.map_or(letter != 'I' || at_start, |(c, _)| c == '.')
}

/// Start of the letters, digits and inner stops before `stop`, a few bytes further back than [`LONGEST`] at most.
#[inline(never)]
fn token_start(text: &[u8], start: usize, stop: usize) -> usize {
    let mut from = stop;
    while from > start && stop.wrapping_sub(from) <= LONGEST {
        match text.get(start..from).and_then(last) {
            Some((c, len)) if is_letter(c) || is_digit(c) || c == '.' => from = from.saturating_sub(len),
            _ => break,
        }
    }
    from
}

/// The letters at the byte `at`.
fn word(text: &[u8], at: usize) -> &[u8] {
    let end = chars_from(text, at).take_while(|(_, c)| is_letter(*c)).last().map_or(at, |(range, _)| range.end);
    text.get(at..end).unwrap_or_default()
}
