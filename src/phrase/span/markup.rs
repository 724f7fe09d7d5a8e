//! Tags and entities of HTML and XML.

use super::{is_at, scan, skip};
use crate::phrase::chars::is_space;

/// End of the tag or entity at the byte `at`.
#[inline(never)]
pub(super) fn tag(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'<' => angled(text, at.saturating_add(1)),
        b'&' => entity(text, at.saturating_add(1)),
        _ => None,
    }
}

/// End of the tag after its `<`. Attributes have an equals sign, so that "a <b and c> d" has no tag.
fn angled(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at..)?.starts_with(b"!--") {
        let body = at.saturating_add(3);
        let len = text.get(body..)?.windows(3).take(super::LONGEST).position(|bytes| bytes == b"-->")?;
        return Some(body.saturating_add(len).saturating_add(3));
    }
    let name = skip(text, at, '/').unwrap_or(at);
    if !is_at(text, name, &|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let name_end = scan(text, name, &|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.'));
    let close = scan(text, name_end, &|c| !matches!(c, '<' | '>'));
    let attributes = text.get(name_end..close)?;
    let is_empty = attributes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    let has_values = is_at(text, name_end, &is_space) && scan(text, name_end, &|c| c != '=') < close;
    skip(text, close, '>').filter(|_| is_empty || has_values)
}

/// End of the entity after its `&`: `amp;`, `#39;`, `#x27;`.
fn entity(text: &[u8], at: usize) -> Option<usize> {
    let name = skip(text, at, '#').unwrap_or(at);
    let end = scan(text, name, &|c| c.is_ascii_alphanumeric());
    let is_named = name > at || is_at(text, name, &|c| c.is_ascii_alphabetic());
    skip(text, end, ';').filter(|_| is_named && (2..=31).contains(&end.wrapping_sub(at)))
}
