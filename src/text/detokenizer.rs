//! From ids back to text, one id at a time, as SentencePiece's `Decode` writes the pieces.

use super::normalizer::{REPLACEMENT, SPACE};
use super::vocab::{TargetKind, Vocab};
use crate::blob::tokenizer::target_flag;
use crate::blob::vocab::byte_of_piece;
use crate::error::Error;
use core::fmt::Write;

/// Writes the text of a sequence of ids as they come.
#[derive(Clone, Copy)]
pub struct Detokenizer<'b> {
    vocab: Vocab<'b>,
    unk_surface: &'b str,
    flags: u8,
    /// Whether whitespace before the text is still to be dropped.
    at_start: bool,
    /// Whether some has been.
    dropped: bool,
    /// Whether nothing has been written.
    empty: bool,
    /// Bytes of a character that is not complete yet.
    bytes: [u8; 4],
    byte_count: usize,
}

impl<'b> Detokenizer<'b> {
    pub(super) const fn new(vocab: Vocab<'b>, unk_surface: &'b str, flags: u8) -> Self {
        let bytes = [0; 4];
        Detokenizer { vocab, unk_surface, flags, at_start: true, dropped: false, empty: true, bytes, byte_count: 0 }
    }

    /// Writes the text of the next id. Bytes of an incomplete character are held back until it is complete.
    pub fn push(&mut self, id: u16, out: &mut impl Write) -> Result<(), Error> {
        let (kind, text) = self.vocab.target(id).ok_or(Error::InvalidId { id })?;
        if kind == TargetKind::Byte {
            return self.push_byte(byte_of_piece(text).ok_or(Error::InvalidId { id })?, out);
        }
        self.finish(out)?;
        if self.dropped || !self.empty {
            self.at_start = false;
        }
        self.dropped = false;
        match kind {
            TargetKind::Hidden => Ok(()),
            TargetKind::Unknown => self.write(self.unk_surface, out),
            TargetKind::Foreign => self.write_unescaped(text, out),
            TargetKind::Normal | TargetKind::Byte => {
                let text = self.drop_leading(text);
                self.write_unescaped(text, out)
            }
        }
    }

    /// Writes what has been held back. Call it after the last id.
    pub fn finish(&mut self, out: &mut impl Write) -> Result<(), Error> {
        while self.byte_count > 0 {
            self.write_char(out, true)?;
        }
        Ok(())
    }

    fn drop_leading(&mut self, text: &'b str) -> &'b str {
        if !self.at_start || self.flags & target_flag::DROP_LEADING == 0 {
            return text;
        }
        match text.strip_prefix(SPACE) {
            Some(rest) => {
                self.dropped = self.flags & target_flag::DROP_ALL_LEADING == 0;
                rest
            }
            None => text,
        }
    }

    fn push_byte(&mut self, byte: u8, out: &mut impl Write) -> Result<(), Error> {
        // Four bytes are a character or have a fault, so there is always room for one.
        if let Some(slot) = self.bytes.get_mut(self.byte_count) {
            *slot = byte;
            self.byte_count = self.byte_count.wrapping_add(1);
        }
        while self.byte_count > 0 && self.write_char(out, false)? {}
        Ok(())
    }

    /// Writes the first held character, or U+FFFD for a byte that starts none; false where more bytes could still
    /// complete it and this is not the `last` chance.
    fn write_char(&mut self, out: &mut impl Write, last: bool) -> Result<bool, Error> {
        let bytes = self.bytes;
        let held = bytes.get(..self.byte_count).unwrap_or(&bytes);
        let (valid, incomplete) = match core::str::from_utf8(held) {
            Ok(text) => (text, false),
            Err(fault) => {
                let valid = held.get(..fault.valid_up_to()).and_then(|valid| core::str::from_utf8(valid).ok());
                (valid.unwrap_or(""), fault.valid_up_to() == 0 && fault.error_len().is_none())
            }
        };
        if incomplete && !last {
            return Ok(false);
        }
        match valid.chars().next() {
            Some(first) => {
                self.write(first.encode_utf8(&mut [0; 4]), out)?;
                self.forget(first.len_utf8());
            }
            None => {
                self.write(REPLACEMENT, out)?;
                self.forget(1);
            }
        }
        Ok(true)
    }

    /// Drops the first `count` held bytes.
    fn forget(&mut self, count: usize) {
        let mut kept = [0; 4];
        for (to, from) in kept.iter_mut().zip(self.bytes.iter().skip(count)) {
            *to = *from;
        }
        self.bytes = kept;
        self.byte_count = self.byte_count.saturating_sub(count);
    }

    fn write_unescaped(&mut self, text: &str, out: &mut impl Write) -> Result<(), Error> {
        // Searched as bytes: the standard library's search in strings holds checks that the linker cannot drop.
        let mut rest = text;
        while let Some(at) = rest.as_bytes().windows(SPACE.len()).position(|bytes| bytes == SPACE.as_bytes()) {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.write(before, out)?;
            self.write(" ", out)?;
            rest = from.get(SPACE.len()..).unwrap_or_default();
        }
        self.write(rest, out)
    }

    fn write(&mut self, text: &str, out: &mut impl Write) -> Result<(), Error> {
        self.empty &= text.is_empty();
        out.write_str(text).map_err(|_| Error::OutputFull)
    }
}
