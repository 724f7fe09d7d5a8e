//! Normalization, as SentencePiece's `Normalizer` does it: the model's own character map, longest match first, then
//! the treatment of whitespace. Input is any bytes; output is what the segmenter reads.

use super::charsmap::{CharsMap, Replacement};
use super::vocab::Vocab;
use crate::blob::tokenizer::source_flag;
use crate::error::Error;
use core::ops::Range;

/// U+2581, which stands for a space inside pieces.
pub(crate) const SPACE: &str = "\u{2581}";
/// U+FFFD, which a byte that is not part of UTF-8 becomes.
pub(crate) const REPLACEMENT: &str = "\u{fffd}";

/// The rules of one model.
#[derive(Clone, Copy)]
pub(crate) struct Normalizer<'b> {
    pub(crate) flags: u8,
    pub(crate) charsmap: CharsMap<'b>,
    /// User-defined pieces in it are left as they are; `None` where it has none, which saves the search.
    pub(crate) user_defined: Option<Vocab<'b>>,
}

impl Normalizer<'_> {
    /// Writes the normalized text to `out` and returns its length. `out` must have room for one whitespace more than
    /// what stays of the text.
    pub(crate) fn normalize(&self, text: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.normalize_watched(text, out, |_, _| {})
    }

    /// The same, telling which bytes of the text became which of the output; of white space that is dropped some too.
    pub(crate) fn normalize_watched(
        &self,
        text: &[u8],
        out: &mut [u8],
        mut watch: impl FnMut(Range<usize>, Range<usize>),
    ) -> Result<usize, Error> {
        let remove_extra = self.has(source_flag::REMOVE_EXTRA_WHITESPACES);
        let space = if self.has(source_flag::ESCAPE_WHITESPACES) { SPACE.as_bytes() } else { b" " };
        let mut out = Writer { out, len: 0 };
        let mut rest = text;
        if remove_extra {
            while let Some((piece, tail)) = self.next(rest)
                && piece.as_bytes() == b" "
            {
                rest = tail;
            }
        }
        if rest.is_empty() {
            return Ok(0);
        }
        let (prefix, suffix) =
            match (self.has(source_flag::ADD_DUMMY_PREFIX), self.has(source_flag::WHITESPACE_AS_SUFFIX)) {
                (false, _) => (false, false),
                (true, suffix) => (!suffix, suffix),
            };
        if prefix {
            out.push(space)?;
        }
        let mut after_space = remove_extra;
        while let Some((piece, tail)) = self.next(rest) {
            let mut piece = piece.as_bytes();
            while after_space && let Some((b' ', after)) = piece.split_first() {
                piece = after;
            }
            let start = out.len;
            for byte in piece {
                out.push(if *byte == b' ' { space } else { core::slice::from_ref(byte) })?;
            }
            // A piece that is mapped to nothing does not count as the end of a run of spaces.
            if let Some(last) = piece.last() {
                after_space = remove_extra && *last == b' ';
            }
            let at = text.len().saturating_sub(rest.len());
            watch(at..text.len().saturating_sub(tail.len()), start..out.len);
            rest = tail;
        }
        if remove_extra {
            out.trim_end(space);
        }
        if suffix {
            out.push(space)?;
        }
        Ok(out.len)
    }

    /// Shows each character of what `text` is normalized to, white space apart.
    pub(crate) fn characters(&self, text: &[u8], show: &mut impl FnMut(&[u8])) {
        let mut rest = text;
        while let Some((piece, tail)) = self.next(rest) {
            let mut piece = piece.as_bytes();
            while let Some(len) = first_char_len(piece) {
                let (c, after) = piece.split_at_checked(len).unwrap_or((piece, &[]));
                show(c);
                piece = after;
            }
            rest = tail;
        }
    }

    /// The next normalized piece and the text after it, `None` at the end.
    fn next<'t>(&self, text: &'t [u8]) -> Option<(Replacement<'t>, &'t [u8])>
    where
        Self: 't,
    {
        if text.is_empty() {
            return None;
        }
        if let Some(len) = self.user_defined.as_ref().and_then(|vocab| vocab.user_defined_len(text)) {
            return kept(text, len);
        }
        if let Some((len, replacement)) = self.charsmap.longest_match(text) {
            return Some((replacement, text.get(len..)?));
        }
        match first_char_len(text) {
            Some(len) => kept(text, len),
            None => Some((Replacement::Bytes(REPLACEMENT.as_bytes()), text.get(1..)?)),
        }
    }

    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Length of a character by its first byte alone, whether or not the rest is valid: what SentencePiece steps by.
pub(crate) const fn char_len_by_lead(lead: u8) -> usize {
    match lead {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
        _ => 1,
    }
}

/// The first `len` bytes as they are, and the text after them.
fn kept(text: &[u8], len: usize) -> Option<(Replacement<'_>, &[u8])> {
    let (piece, rest) = text.split_at_checked(len)?;
    Some((Replacement::Bytes(piece), rest))
}

/// Length of the valid UTF-8 character that `text` starts with.
pub(crate) fn first_char_len(text: &[u8]) -> Option<usize> {
    let len = char_len_by_lead(*text.first()?);
    core::str::from_utf8(text.get(..len)?).ok().map(str::len)
}

/// Output with a bound.
struct Writer<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Writer<'_> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let limit = self.out.len();
        let room = self.out.get_mut(self.len..).and_then(|tail| tail.get_mut(..bytes.len()));
        room.ok_or(Error::TextTooLong { limit })?.copy_from_slice(bytes);
        self.len = self.len.wrapping_add(bytes.len());
        Ok(())
    }

    fn trim_end(&mut self, space: &[u8]) {
        while let Some(head) = self.out.get(..self.len).and_then(|text| text.strip_suffix(space)) {
            self.len = head.len();
        }
    }
}
