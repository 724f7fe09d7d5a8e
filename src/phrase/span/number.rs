//! Numbers with all that belongs to them.

use super::{SpanKind, glues, is_at, is_word, scan, skip, skip_if};
use crate::phrase::chars::{chars_from, is_digit};

/// End and kind of the number at the byte `at`, which the character `before` precedes. Wherever a digit is, there is
/// one.
#[inline(never)]
pub(super) fn number(text: &[u8], at: usize, before: char) -> Option<(usize, SpanKind)> {
    let from = if is_at(text, at, &is_digit) { at } else { prefix(text, at, before)? };
    let kind = match text.get(at..)? {
        [b'0', b'x' | b'X', next, ..] if next.is_ascii_hexdigit() => SpanKind::Code,
        _ => SpanKind::Number,
    };
    let is_phone = is_at(text, at, &|c| matches!(c, '+' | '('));
    let (end, has_letters) = body(text, from, is_phone);
    Some((suffix(text, end, has_letters), kind))
}

/// Where the digits start after the sign, currency or bracket at the byte `at`.
#[inline(never)]
fn prefix(text: &[u8], at: usize, before: char) -> Option<usize> {
    let is_start = !is_word(before) && before != '.';
    let mut from = at;
    if is_start {
        if let Some(digits) = bracketed(text, at) {
            return Some(digits);
        }
        from = skip_if(text, from, &is_sign).unwrap_or(from);
        // US$, R$, NT$
        let letters = scan(text, from, &|c| c.is_ascii_uppercase());
        if letters.wrapping_sub(from) <= 3 && is_at(text, letters, &is_currency) {
            from = letters;
        }
    }
    if let Some(end) = skip_if(text, from, &|c| is_currency(c) || matches!(c, '\u{a7}' | '\u{2116}')) {
        from = skip_if(text, end, &is_sign).unwrap_or(end);
    }
    if is_start || from > at {
        from = skip(text, from, '.').unwrap_or(from);
    }
    (from > at && is_at(text, from, &is_digit)).then_some(from)
}

/// Where the digits go on after "(555) " of a telephone number.
#[inline(never)]
fn bracketed(text: &[u8], at: usize) -> Option<usize> {
    let open = skip(text, at, '(')?;
    let open = skip(text, open, '+').unwrap_or(open);
    let digits = scan(text, open, &is_digit);
    let close = skip(text, digits, ')')?;
    let next = skip_if(text, close, &|c| matches!(c, ' ' | '-' | '\u{a0}')).unwrap_or(close);
    ((1..=4).contains(&digits.wrapping_sub(open)) && is_at(text, next, &is_digit)).then_some(next)
}

/// End of the digits from the byte `from` on with what is between them, and whether letters are.
#[inline(never)]
fn body(text: &[u8], from: usize, is_phone: bool) -> (usize, bool) {
    let mut end = from;
    let mut has_letters = false;
    // Digits since the last separator, while groups of three may follow.
    let mut group = Some(0usize);
    while let Some((range, c)) = chars_from(text, end).next() {
        let next = range.end;
        if is_digit(c) {
            group = group.map(|digits| digits.saturating_add(1));
            end = next;
        } else if glues(c) {
            has_letters = true;
            group = None;
            end = next;
        } else if is_separator(c) && is_at(text, next, &is_digit) {
            group = None;
            end = next;
        } else if matches!(c, '-' | '\u{2013}')
            && let Some(amount) = skip_if(text, next, &is_currency).filter(|amount| is_at(text, *amount, &is_digit))
        {
            group = None;
            end = amount;
        } else if is_phone && let Some(digits) = bracketed(text, if c == ' ' { next } else { end }) {
            end = digits;
        } else if is_group_space(c) && is_at(text, next, &is_digit) {
            let digits = scan(text, next, &is_digit);
            let is_third = chars_from(text, next).take_while(|(_, c)| is_digit(*c)).take(4).count() == 3;
            if !(is_phone || (is_third && group.is_some_and(|group| (1..=3).contains(&group)))) {
                break;
            }
            group = Some(3);
            end = digits;
        } else {
            break;
        }
    }
    (end, has_letters)
}

/// End of the number with its unit: percent, degrees, currency, also after a space; "18+", "5km/h".
#[inline(never)]
fn suffix(text: &[u8], end: usize, has_letters: bool) -> usize {
    let spaced = skip_if(text, end, &is_group_space);
    let unit = spaced.unwrap_or(end);
    if let Some(mut after) = skip_if(text, unit, &|c| is_currency(c) || is_unit(c)) {
        if is_at(text, unit, &|c| c == '\u{b0}') {
            after = skip_if(text, after, &|c| matches!(c, 'C' | 'F')).unwrap_or(after);
        }
        // What a word or number follows belongs to that: "50 %s", "5 $10".
        return if spaced.is_some() && is_at(text, after, &is_word) { end } else { after };
    }
    if let Some(after) = skip(text, end, '+') {
        return if is_at(text, after, &is_word) { end } else { after };
    }
    match skip(text, end, '/').filter(|_| has_letters) {
        Some(slash) => {
            let after = scan(text, slash, &is_word);
            if (1..=3).contains(&after.wrapping_sub(slash)) { after } else { end }
        }
        None => end,
    }
}

fn is_sign(c: char) -> bool {
    matches!(c, '+' | '-' | '\u{2212}' | '\u{b1}')
}

fn is_unit(c: char) -> bool {
    matches!(
        c,
        '%' | '\u{b0}' | '\u{2030}' | '\u{2032}' | '\u{2033}' | '\u{2103}' | '\u{2109}' | '\u{66a}' | '\u{ff05}'
    )
}

#[inline(never)]
fn is_currency(c: char) -> bool {
    matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{58f}' | '\u{60b}' | '\u{e3f}' | '\u{20a0}'..='\u{20cf}')
        || matches!(c, '\u{ff04}' | '\u{ffe0}' | '\u{ffe1}' | '\u{ffe5}' | '\u{ffe6}')
}

/// Whether `c` may stand between two digits of a number, a date, a range, a product. `x` is a letter that glues.
#[inline(never)]
fn is_separator(c: char) -> bool {
    matches!(c, '.' | ',' | ':' | '/' | '-' | '\'' | '+' | '*' | '^' | '=' | '~' | '%' | '\u{b0}' | '\u{d7}' | '\u{b7}')
        || matches!(
            c,
            '\u{2019}' | '\u{2010}'..='\u{2013}' | '\u{2044}' | '\u{2212}' | '\u{301c}' | '\u{66b}' | '\u{66c}'
        )
        || matches!(c, '\u{ff0c}' | '\u{ff0e}' | '\u{ff0f}' | '\u{ff1a}' | '\u{ff0d}' | '\u{ff5e}')
}

/// Whether `c` separates groups of digits: space, no-break and thin spaces.
fn is_group_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}')
}
