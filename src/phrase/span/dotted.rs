//! Names with dots and no mark that says so: domains and files, by their endings.

use super::web::{is_host, link_end, trimmed_host};
use super::{SpanKind, is_at, scan, skip};
use crate::phrase::chars::is_listed;

/// Endings that make a domain of a name.
const DOMAINS: &str = "com org net edu gov io dev app info biz xyz eu uk de fr es ru jp cn nl ch pl pt br mx ar cl co ca \
    au se fi dk cz hu gr tr ua kr tw hk nz ie tv ai site online shop store tech cloud";
/// Those that are words as well, after a stop that lacks its space: only with a path.
const WORDS: &str = "it me no in at be us to is am gl ly";
/// Endings of files.
const FILES: &str = "pdf txt doc docx xls xlsx ppt pptx csv png jpg jpeg gif svg mp3 mp4 wav zip exe dll apk html htm js \
    ts py rs cpp java json xml md css sh toml yml yaml log bin hex ini cfg conf";

/// End of the domain or the file at the byte `at`.
#[inline(never)]
pub(super) fn dotted(text: &[u8], at: usize) -> Option<(usize, SpanKind)> {
    let host = end_of(text, at, &is_host);
    if let Some(ending) = ending(text.get(at..host)?) {
        let path = skip(text, host, ':').map_or(host, |port| match scan(text, port, &|c| c.is_ascii_digit()) {
            end if end > port => end,
            _ => host,
        });
        let has_path = is_at(text, path, &|c| c == '/');
        if is_listed(DOMAINS, ending) || (has_path && is_listed(WORDS, ending)) {
            let has_rest = has_path || is_at(text, path, &|c| matches!(c, '?' | '#'));
            // A question mark may be the sentence's.
            let end = if has_rest { link_end(text, path).max(path) } else { path };
            return Some((end, SpanKind::Url));
        }
    }
    let file = end_of(text, at, &|c| is_host(c) || c == '/');
    let ending = ending(text.get(at..file)?)?;
    is_listed(FILES, ending).then_some((file, SpanKind::Code))
}

#[inline(never)]
fn end_of(text: &[u8], at: usize, accepts: &dyn Fn(char) -> bool) -> usize {
    let end = scan(text, at, accepts);
    at.saturating_add(trimmed_host(text.get(at..end).unwrap_or_default()))
}

/// What comes after the last dot, if a name comes before it.
#[inline(never)]
fn ending(name: &[u8]) -> Option<&[u8]> {
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    let (before, ending) = (name.get(dot.checked_sub(1)?)?, name.get(dot.saturating_add(1)..)?);
    // "That's it.De nada" lacks a space; "EXAMPLE.COM" is in capitals throughout.
    let has_lower = |name: &[u8]| name.iter().any(u8::is_ascii_lowercase);
    let has_upper = ending.iter().any(u8::is_ascii_uppercase);
    let is_name = before.is_ascii_alphanumeric() || !before.is_ascii();
    (is_name && !(has_upper && has_lower(name))).then_some(ending)
}
