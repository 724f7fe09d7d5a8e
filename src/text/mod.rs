//! Text to ids and ids to text, equal to SentencePiece's C++ on every string, unigram and BPE models alike.
//!
//! Any bytes are a text: what is not UTF-8 becomes U+FFFD, a byte at a time. Nothing here computes with floats; the
//! scores' IEEE arithmetic is done in integers by [`crate::num::soft_float`].

#[cfg(feature = "bpe")]
mod bpe;
pub mod charsmap;
pub mod detokenizer;
mod language;
mod locate;
mod normalizer;
mod segments;
pub mod unigram;
pub mod vocab;

pub use detokenizer::Detokenizer;
pub(crate) use locate::SourceSpan;
pub use segments::{MAX_TEXT, Node};
pub use vocab::Vocab;

use crate::blob::layout::SectionKind;
use crate::blob::tokenizer::{Algorithm, TokenizerTables, source_flag};
use crate::error::{BlobError, Error};
use charsmap::CharsMap;
use core::ops::Range;
use normalizer::Normalizer;
use vocab::SourceKind;

/// Buffers that [`Tokenizer::encode`] works in.
#[derive(Debug)]
pub struct EncodeWork<'w> {
    /// Receives the normalized text.
    pub text: &'w mut [u8],
    /// One node a byte of normalized text: 8 bytes each.
    pub nodes: &'w mut [Node],
}

/// A view of a model's tokenizer sections.
#[derive(Clone, Copy)]
pub struct Tokenizer<'b> {
    tables: TokenizerTables<'b>,
    charsmap: CharsMap<'b>,
    source: Vocab<'b>,
    target: Vocab<'b>,
    has_user_defined: bool,
    /// Language code of texts that have none.
    language_id: Option<u16>,
}

/// Sizes; not the tables.
impl core::fmt::Debug for Tokenizer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tokenizer").field("source", &self.source).field("target", &self.target).finish()
    }
}

impl<'b> Tokenizer<'b> {
    /// Checks the sections of a blob once; `target_vocab` is given where the two sides have a vocabulary each.
    pub fn parse(
        tokenizer: &'b [u8],
        source_vocab: &'b [u8],
        target_vocab: Option<&'b [u8]>,
    ) -> Result<Self, BlobError> {
        let tables = TokenizerTables::parse(tokenizer)?;
        let malformed = BlobError::Malformed { section: SectionKind::Tokenizer as u32, index: 0 };
        let charsmap = CharsMap::parse(tables.charsmap, tables.strings).ok_or(malformed)?;
        let source = Vocab::parse(source_vocab, SectionKind::SourceVocab as u32)?;
        let target = match target_vocab {
            Some(bytes) => Vocab::parse(bytes, SectionKind::TargetVocab as u32)?,
            None => source,
        };
        let kinds = source.kinds.iter().fold(0u16, |seen, kind| seen | 1 << (kind & 15));
        let has = |kind: SourceKind| kinds & 1 << kind as u16 != 0;
        let has_user_defined = has(SourceKind::UserDefined);
        let unused_fits = tables.algorithm == Algorithm::Bpe || !has(SourceKind::Unused);
        let mut tokenizer = Tokenizer { tables, charsmap, source, target, has_user_defined, language_id: None };
        tokenizer.swap_language(None);
        let ids_fit = [tables.unk_id, tables.language_id].iter().all(|&id| source.entry_of(id).is_some());
        if !ids_fit || !unused_fits {
            return Err(BlobError::Malformed { section: SectionKind::Tokenizer as u32, index: 0 });
        }
        Ok(tokenizer)
    }

    /// How text is segmented.
    pub const fn algorithm(&self) -> Algorithm {
        self.tables.algorithm
    }

    /// Id of source pieces that the vocabulary lacks.
    pub const fn unk_id(&self) -> u16 {
        self.tables.unk_id
    }

    /// The source vocabulary.
    pub const fn source(&self) -> &Vocab<'b> {
        &self.source
    }

    /// The target vocabulary; the same where the sides share one.
    pub const fn target(&self) -> &Vocab<'b> {
        &self.target
    }

    /// The target piece with an id.
    pub fn piece(&self, id: u16) -> Option<&'b str> {
        self.target.piece(id)
    }

    /// Writes the normalized text, a language code included, to `out` and returns its length in bytes. Whitespace that is dropped from the end
    /// takes room in `out` first.
    pub fn normalize(&self, text: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        self.normalizer().normalize(text, out)
    }

    fn normalizer(&self) -> Normalizer<'b> {
        Normalizer { flags: self.tables.source_flags, charsmap: self.charsmap, user_defined: self.user_defined() }
    }

    /// The vocabulary, if it has user-defined pieces to look for.
    fn user_defined(&self) -> Option<Vocab<'b>> {
        self.has_user_defined.then_some(self.source)
    }

    /// Writes the ids of a text to `ids`, without the end of sentence, and returns their number.
    pub fn encode(&self, text: &[u8], work: EncodeWork, ids: &mut [u16]) -> Result<usize, Error> {
        let limit = ids.len();
        let mut count = 0usize;
        self.encode_with(text, work, |id, _| {
            *ids.get_mut(count).ok_or(Error::TooManyTokens { limit })? = id;
            count = count.wrapping_add(1);
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `visit` with each id of a text and its range of bytes in the normalized text (`work.text`).
    ///
    /// The bytes of an unknown character under byte fallback come one by one; a run of unknown characters otherwise
    /// is one id. A language code has an empty range.
    pub fn encode_with(
        &self,
        text: &[u8],
        work: EncodeWork,
        mut visit: impl FnMut(u16, Range<usize>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (language, text) = self.split_language(text);
        if let Some(id) = language {
            visit(id, 0..0)?;
        }
        let limit = work.text.len().min(work.nodes.len()).min(MAX_TEXT);
        let too_long = Error::TextTooLong { limit };
        let room = work.text.get_mut(..limit).ok_or(too_long)?;
        let len = self.normalize(text, room)?;
        let text = work.text.get(..len).ok_or(too_long)?;
        let nodes = work.nodes.get_mut(..len).ok_or(too_long)?;
        let byte_fallback = self.tables.source_flags & source_flag::BYTE_FALLBACK != 0;
        let segments = match self.tables.algorithm {
            #[cfg(feature = "bpe")]
            Algorithm::Bpe => bpe::segment(&self.source, self.user_defined(), text, nodes),
            _ => unigram::segment(&self.source, self.tables.unk_score, text, nodes),
        };
        let mut unknown = 0..0;
        for (range, entry) in segments {
            match entry {
                Some(entry) => {
                    self.visit_unknown(text, &mut unknown, &mut visit)?;
                    visit(self.source.id_of(entry).unwrap_or(self.tables.unk_id), range)?;
                }
                None if byte_fallback => {
                    for (at, &byte) in range.clone().zip(text.get(range).unwrap_or_default()) {
                        visit(self.id_or_unknown(&byte_piece(byte)), at..at.wrapping_add(1))?;
                    }
                }
                None if unknown.is_empty() => unknown = range,
                None => unknown.end = range.end,
            }
        }
        self.visit_unknown(text, &mut unknown, &mut visit)
    }

    /// A run of unknown characters is one piece, and may be one that the vocabulary knows after all.
    fn visit_unknown(
        &self,
        text: &[u8],
        range: &mut Range<usize>,
        visit: &mut impl FnMut(u16, Range<usize>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let range = core::mem::take(range);
        if range.is_empty() {
            return Ok(());
        }
        visit(self.id_or_unknown(text.get(range.clone()).unwrap_or_default()), range)
    }

    fn id_or_unknown(&self, piece: &[u8]) -> u16 {
        self.source.id(piece).unwrap_or(self.tables.unk_id)
    }

    /// What a target id is to those that watch for loops.
    pub(crate) fn guarded_as(&self, id: u16) -> crate::search::Piece {
        use crate::search::Piece;
        match self.target.target(id) {
            Some((vocab::TargetKind::Normal | vocab::TargetKind::Foreign, text)) => {
                if text.bytes().any(|byte| byte.is_ascii_digit()) {
                    Piece::Free
                } else if text.as_bytes().starts_with(normalizer::SPACE.as_bytes()) {
                    Piece::Start
                } else {
                    Piece::Inside
                }
            }
            Some((vocab::TargetKind::Byte, _)) => Piece::Inside,
            _ => Piece::Free,
        }
    }

    /// A writer of target ids as text.
    pub const fn detokenizer(&self) -> Detokenizer<'b> {
        Detokenizer::new(self.target, self.tables.unk_surface, self.tables.target_flags)
    }
}

/// The piece `<0xNN>` of a byte.
fn byte_piece(byte: u8) -> [u8; 6] {
    let digit = |nibble: u8| if nibble < 10 { b'0'.wrapping_add(nibble) } else { b'A'.wrapping_add(nibble - 10) };
    [b'<', b'0', b'x', digit(byte >> 4), digit(byte & 15), b'>']
}

#[cfg(test)]
mod tests;
