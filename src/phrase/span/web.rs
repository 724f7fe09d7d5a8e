//! Links and addresses.

use super::{is_word, scan, skip};
use crate::phrase::chars::{is_cjk, is_closing, is_final_mark, is_space, is_wide_mark, last};

/// End of the address of electronic mail at the byte `at`.
#[inline(never)]
pub(super) fn email(text: &[u8], at: usize) -> Option<usize> {
    let local = scan(text, at, &|c| is_word(c) || matches!(c, '.' | '%' | '+' | '-'));
    let domain = skip(text, local, '@').filter(|_| local > at)?;
    let end = scan(text, domain, &is_host).min(text.len());
    let end = domain.saturating_add(trimmed_host(text.get(domain..end)?));
    let host = text.get(domain..end)?;
    let ending = host.rsplit(|byte| *byte == b'.').next()?;
    let is_domain = ending.len() < host.len() && ending.len() >= 2 && ending.iter().all(u8::is_ascii_alphabetic);
    is_domain.then_some(end)
}

/// End of the link with a scheme, or with `www.`, at the byte `at`.
#[inline(never)]
pub(super) fn link(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let starts = |prefix: &[u8]| rest.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let scheme = scan(text, at, &|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-'));
    let body = if text.get(scheme..).is_some_and(|rest| rest.starts_with(b"://")) && scheme > at {
        scheme.saturating_add(3)
    } else if starts(b"www.") {
        at.saturating_add(4)
    } else if starts(b"mailto:") || starts(b"tel:+") {
        scheme.saturating_add(1)
    } else {
        return None;
    };
    let end = link_end(text, body);
    (end > body).then_some(end)
}

/// End of the link whose scheme, or `www`, ends at the byte `at`, whatever stands before that: "v1.0https://x.com". Not where ASCII
/// letters stand before `www`: "awww".
#[inline(never)]
pub(super) fn glued(text: &[u8], at: usize) -> Option<usize> {
    let (before, rest) = text.split_at_checked(at)?;
    let is_www = |(head, last): (&[u8], &[u8; 3])| {
        last.eq_ignore_ascii_case(b"www") && !head.last().is_some_and(u8::is_ascii_alphabetic)
    };
    let body = match rest {
        [b':', b'/', b'/', ..] => at.saturating_add(3),
        [b'.', ..] if before.split_last_chunk().is_some_and(is_www) => at.saturating_add(1),
        _ => return None,
    };
    Some(link_end(text, body)).filter(|end| *end > body)
}

/// End of a link's rest, without final marks and closing brackets that were not opened in it.
#[inline(never)]
pub(super) fn link_end(text: &[u8], at: usize) -> usize {
    let end = scan(text, at, &|c| {
        let ends = is_space(c) || is_cjk(c) || is_wide_mark(c) || matches!(c, '<' | '>' | '"' | '`' | '\u{ff0c}');
        !(ends || c.is_control() || (!c.is_ascii() && is_closing(c)) || matches!(c, '\u{3000}'..='\u{303f}'))
    });
    at.saturating_add(trimmed(text.get(at..end).unwrap_or_default()))
}

/// Length of a link without what follows it in a sentence.
#[inline(never)]
fn trimmed(mut link: &[u8]) -> usize {
    // Closing brackets less opening ones: round, square, curly.
    let mut excess = [0i32; 3];
    for byte in link {
        let [round, square, curly] = &mut excess;
        match byte {
            b'(' => *round = round.wrapping_sub(1),
            b')' => *round = round.wrapping_add(1),
            b'[' => *square = square.wrapping_sub(1),
            b']' => *square = square.wrapping_add(1),
            b'{' => *curly = curly.wrapping_sub(1),
            b'}' => *curly = curly.wrapping_add(1),
            _ => {}
        }
    }
    let [round, square, curly] = &mut excess;
    while let Some((c, len)) = last(link) {
        let bracket = match c {
            ')' => &mut *round,
            ']' => &mut *square,
            '}' => &mut *curly,
            ',' | ':' | ';' | '\'' | '*' => &mut 1,
            _ if is_final_mark(c) => &mut 1,
            _ => break,
        };
        if *bracket <= 0 {
            break;
        }
        *bracket = bracket.wrapping_sub(1);
        link = link.get(..link.len().saturating_sub(len)).unwrap_or_default();
    }
    link.len()
}

/// Whether `c` may be part of a host's name: letters of other languages too.
pub(super) fn is_host(c: char) -> bool {
    is_word(c) || matches!(c, '.' | '-')
}

/// Length of a host's name without stops and hyphens at its end.
#[inline(never)]
pub(super) fn trimmed_host(host: &[u8]) -> usize {
    host.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |at| at.saturating_add(1))
}
