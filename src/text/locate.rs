//! Where the tokens of a text are in it, and what the vocabulary knows.

use super::normalizer::SPACE;
use super::vocab::Score;
use super::{EncodeWork, Tokenizer, Vocab};
use crate::error::Error;
use crate::phrase::chars::{char_at, is_letter};
use bytemuck::{Pod, Zeroable};

/// Bytes of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SourceSpan {
    pub start: u16,
    pub end: u16,
}

impl Tokenizer<'_> {
    /// Writes the bytes of `text` that each token is made from, white space before a word with it; how many tokens there are.
    /// Tokens beyond the room are not looked for.
    pub(crate) fn locate(&self, text: &[u8], work: EncodeWork, spans: &mut [SourceSpan]) -> Result<usize, Error> {
        let mut count = 0;
        let EncodeWork { text: normalized, nodes } = work;
        self.encode_with(text, EncodeWork { text: &mut *normalized, nodes }, |_, range| {
            if let Some(span) = spans.get_mut(count) {
                *span = SourceSpan { start: range.start as u16, end: range.end as u16 };
                count += 1;
            }
            Ok(())
        })?;
        let spans = spans.get_mut(..count).unwrap_or_default();
        let whole = text;
        let (code, text) = self.split_language(whole);
        let before = whole.len().saturating_sub(text.len());
        let skipped = usize::from(code.is_some());
        // Of the tokens' bytes in the normalized text, those in the text itself: both ascend, and so do the two cursors.
        let (mut starts, mut ends) = (skipped, skipped);
        self.normalizer().normalize_watched(text, normalized, |from, to| {
            while let Some(span) = spans.get_mut(starts).filter(|span| (span.start as usize) < to.end) {
                span.start = (before + from.start) as u16;
                starts += 1;
            }
            while let Some(span) = spans.get_mut(ends).filter(|span| span.end as usize <= to.end) {
                span.end = (before + from.end) as u16;
                ends += 1;
            }
        })?;
        let len = whole.len() as u16;
        spans.iter_mut().skip(starts).for_each(|span| span.start = len);
        spans.iter_mut().skip(ends).for_each(|span| span.end = len);
        Ok(count)
    }

    /// Whether the model reads a character as what it is: the vocabulary has it as it is normalized, which leaves something of it,
    /// and no letters of a sign, as "TM" of U+2122.
    pub(crate) fn knows(&self, c: char) -> bool {
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        let has = |vocab: &Vocab, piece: &[u8]| {
            let entry = vocab.prefixes(piece).find(|&(_, len)| len == piece.len());
            entry.is_some_and(|(entry, _)| vocab.score(entry).is_some())
        };
        let is_sign = !is_letter(c) || is_small_letter(c);
        let (mut known, mut left) = (true, false);
        let mut check = |piece: &[u8]| {
            left = true;
            known &= piece == b" " || has(&self.source, piece);
            known &= !(is_sign && char_at(piece, 0).is_some_and(is_letter));
        };
        self.normalizer().characters(bytes, &mut check);
        known && left
    }

    /// Score of a word that is a piece, Q16.
    pub(crate) fn word_score(&self, word: &[u8]) -> Option<i32> {
        let mut piece = [0; 40];
        let len = SPACE.len() + word.len();
        let (head, tail) = piece.get_mut(..len)?.split_at_mut_checked(SPACE.len())?;
        head.copy_from_slice(SPACE.as_bytes());
        tail.copy_from_slice(word);
        let (entry, _) = self.source.prefixes(piece.get(..len)?).find(|&(_, found)| found == len)?;
        match self.source.score(entry)? {
            Score::Normal(bits) => Some(to_q16(bits)),
            Score::UserDefined(_) => None,
        }
    }
}

/// Whether `c` is a letter above or below the line.
fn is_small_letter(c: char) -> bool {
    matches!(c, '\u{2b0}'..='\u{2b8}' | '\u{1d2c}'..='\u{1d6a}' | '\u{2071}' | '\u{207f}' | '\u{2090}'..='\u{209c}')
}

/// A binary32 in Q16, rounded towards zero, at the ends of the format where it is larger.
const fn to_q16(bits: u32) -> i32 {
    let (exponent, mantissa) = ((bits >> 23 & 0xff) as i32, (bits & 0x7f_ffff | 0x80_0000) as i64);
    let shift = 127 + 23 - 16 - exponent;
    let magnitude = if shift >= 0 {
        if shift > 62 { 0 } else { mantissa >> shift }
    } else if shift < -8 {
        i32::MAX as i64
    } else {
        mantissa << -shift
    };
    let magnitude = if magnitude > i32::MAX as i64 { i32::MAX as i64 } else { magnitude };
    if bits >> 31 == 0 { magnitude as i32 } else { -magnitude as i32 }
}

#[cfg(test)]
mod tests {
    use super::to_q16;

    #[test]
    fn floats_become_fixed() {
        for (value, q16) in [(0.0f32, 0), (1.0, 1 << 16), (-2.5, -163_840), (-11.75, -770_048), (1e-9, 0)] {
            assert_eq!(to_q16(value.to_bits()), q16, "{value}");
        }
        for huge in [1e9f32, f32::INFINITY, 32_768.0] {
            assert_eq!(to_q16(huge.to_bits()), i32::MAX);
            assert_eq!(to_q16((-huge).to_bits()), -i32::MAX);
        }
    }
}
