//! The tokenizer section: [`TokenizerHeader`], the character map ([`super::charsmap`]), its replacement strings, the
//! surface of unknown pieces.

use super::layout::SectionKind;
use super::record::record;
use crate::error::BlobError;
use crate::num::soft_float::is_finite32;

record! {
    /// Start of the tokenizer section.
    pub struct TokenizerHeader[24] {
        /// Segmentation: 0 unigram, 1 BPE.
        algorithm: u8 @ 0,
        /// Source side: 1 remove extra whitespace, 2 dummy prefix, 4 escape whitespace, 8 whitespace as suffix,
        /// 16 byte fallback, 32 language codes, 64 default language.
        source_flags: u8 @ 1,
        /// Target side: 1 drop whitespace before the first piece, 2 drop it before all leading pieces.
        target_flags: u8 @ 2,
        /// Character map: 0 none, 2 ranges and automaton. 1 was SentencePiece's double array, which is no longer read.
        charsmap: u8 @ 3,
        /// Id of source pieces that are not in the vocabulary.
        unk_id: u16 @ 4,
        /// Bytes of the surface that an unknown target piece is written as.
        unk_surface_len: u16 @ 6,
        /// Score of an unknown character, the bits of a binary32.
        unk_score: u32 @ 8,
        /// Bytes of the character map.
        charsmap_len: u32 @ 12,
        /// Bytes of the replacement strings, each ended by a zero byte.
        strings_len: u32 @ 16,
        /// Id of the language code that phrases without one get; zero where there is no default language.
        language_id: u16 @ 20,
        /// Zero.
        reserved: u16 @ 22,
    }
}

/// How text is segmented; the discriminant is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Algorithm {
    /// Unigram language model: [`crate::text::unigram`].
    Unigram = 0,
    /// Byte pair encoding.
    Bpe = 1,
}

impl Algorithm {
    /// The algorithm with a number.
    ///
    /// # Errors
    ///
    /// [`BlobError::Feature`] for one whose feature is off, [`BlobError::Unsupported`] for others.
    pub const fn from_header(algorithm: u8) -> Result<Self, BlobError> {
        match algorithm {
            0 => Ok(Algorithm::Unigram),
            1 if cfg!(feature = "bpe") => Ok(Algorithm::Bpe),
            1 => Err(BlobError::Feature { name: "bpe" }),
            _ => Err(unsupported()),
        }
    }
}

/// [`TokenizerHeader::charsmap`] of a section without a character map.
const NO_CHARSMAP: u8 = 0;
/// [`TokenizerHeader::charsmap`] of a section whose map is as [`super::charsmap`] says.
const COMPACT_CHARSMAP: u8 = 2;

/// Bits of [`TokenizerHeader::source_flags`].
pub mod source_flag {
    /// Runs of whitespace become one, none stays at the ends.
    pub const REMOVE_EXTRA_WHITESPACES: u8 = 1;
    /// The text gets a whitespace before (or after) it.
    pub const ADD_DUMMY_PREFIX: u8 = 2;
    /// Spaces become U+2581.
    pub const ESCAPE_WHITESPACES: u8 = 4;
    /// The dummy whitespace goes after the text.
    pub const WHITESPACE_AS_SUFFIX: u8 = 8;
    /// Unknown characters become byte pieces.
    pub const BYTE_FALLBACK: u8 = 16;
    /// A text may start with a language code, `>>xxx<<`, which is one piece.
    pub const LANGUAGE_CODES: u8 = 32;
    /// Texts that start with none get one.
    pub const DEFAULT_LANGUAGE: u8 = 64;
    /// All of them.
    pub const ALL: u8 = 127;
}

/// Bits of [`TokenizerHeader::target_flags`].
pub mod target_flag {
    /// A whitespace that starts the first written piece is dropped.
    pub const DROP_LEADING: u8 = 1;
    /// So is one of every further piece while nothing has been written.
    pub const DROP_ALL_LEADING: u8 = 2;
    /// All of them.
    pub const ALL: u8 = 3;
}

/// What the tokenizer section holds, borrowed.
#[derive(Clone, Copy)]
pub struct TokenizerTables<'b> {
    /// How text is segmented.
    pub algorithm: Algorithm,
    /// Bits of [`source_flag`].
    pub source_flags: u8,
    /// Bits of [`target_flag`].
    pub target_flags: u8,
    /// Id of source pieces that are not in the vocabulary.
    pub unk_id: u16,
    /// Id of the language code that texts without one get; zero unless [`source_flag::DEFAULT_LANGUAGE`] is set.
    pub language_id: u16,
    /// Score of an unknown character, the bits of a binary32.
    pub unk_score: u32,
    /// The character map; empty without one.
    pub charsmap: &'b [u8],
    /// Replacement strings, each ended by a zero byte.
    pub strings: &'b [u8],
    /// What an unknown target piece is written as.
    pub unk_surface: &'b str,
}

/// Sizes; not the tables.
impl core::fmt::Debug for TokenizerTables<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut f = f.debug_struct("TokenizerTables");
        f.field("charsmap", &self.charsmap.len()).field("strings", &self.strings.len()).finish_non_exhaustive()
    }
}

impl<'b> TokenizerTables<'b> {
    /// Reads and checks a section. The character map's own parts are checked where it is opened.
    pub fn parse(section: &'b [u8]) -> Result<Self, BlobError> {
        Self::parse_checked(section).unwrap_or(Err(malformed()))
    }

    /// `None` where a range leaves the section.
    fn parse_checked(section: &'b [u8]) -> Option<Result<Self, BlobError>> {
        let header = TokenizerHeader::read(section, 0)?;
        let known = matches!(header.charsmap, NO_CHARSMAP | COMPACT_CHARSMAP)
            && header.source_flags & !source_flag::ALL == 0
            && header.target_flags & !target_flag::ALL == 0
            && header.reserved == 0;
        if !known {
            return Some(Err(unsupported()));
        }
        let algorithm = match Algorithm::from_header(header.algorithm) {
            Ok(algorithm) => algorithm,
            Err(error) => return Some(Err(error)),
        };
        let (_, rest) = section.split_at_checked(TokenizerHeader::SIZE)?;
        let (charsmap, rest) = rest.split_at_checked(header.charsmap_len as usize)?;
        let (strings, rest) = rest.split_at_checked(header.strings_len as usize)?;
        let unk_surface = core::str::from_utf8(rest).ok()?;
        let consistent = rest.len() == header.unk_surface_len as usize
            && is_finite32(header.unk_score)
            && (header.charsmap == NO_CHARSMAP) == charsmap.is_empty()
            && match header.source_flags & (source_flag::LANGUAGE_CODES | source_flag::DEFAULT_LANGUAGE) {
                0 | source_flag::LANGUAGE_CODES => header.language_id == 0,
                source_flag::DEFAULT_LANGUAGE => false,
                _ => true,
            };
        consistent.then_some(Ok(TokenizerTables {
            algorithm,
            source_flags: header.source_flags,
            target_flags: header.target_flags,
            unk_id: header.unk_id,
            language_id: header.language_id,
            unk_score: header.unk_score,
            charsmap,
            strings,
            unk_surface,
        }))
    }

    /// Bytes [`Self::emit`] writes.
    pub const fn emitted_len(&self) -> usize {
        TokenizerHeader::SIZE
            .saturating_add(self.charsmap.len())
            .saturating_add(self.strings.len())
            .saturating_add(self.unk_surface.len())
    }

    /// Writes the section, or `None` where `out` is too short or a length does not fit its field.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        let len = self.emitted_len();
        let (header, rest) = out.get_mut(..len)?.split_at_mut_checked(TokenizerHeader::SIZE)?;
        TokenizerHeader {
            algorithm: self.algorithm as u8,
            source_flags: self.source_flags,
            target_flags: self.target_flags,
            charsmap: if self.charsmap.is_empty() { NO_CHARSMAP } else { COMPACT_CHARSMAP },
            unk_id: self.unk_id,
            unk_surface_len: self.unk_surface.len().try_into().ok()?,
            unk_score: self.unk_score,
            charsmap_len: self.charsmap.len().try_into().ok()?,
            strings_len: self.strings.len().try_into().ok()?,
            language_id: self.language_id,
            reserved: 0,
        }
        .write(header, 0)?;
        let (charsmap, rest) = rest.split_at_mut_checked(self.charsmap.len())?;
        charsmap.copy_from_slice(self.charsmap);
        let (strings, unk_surface) = rest.split_at_mut_checked(self.strings.len())?;
        strings.copy_from_slice(self.strings);
        unk_surface.copy_from_slice(self.unk_surface.as_bytes());
        Some(len)
    }
}

const fn unsupported() -> BlobError {
    BlobError::Unsupported { section: SectionKind::Tokenizer as u32, index: 0 }
}

const fn malformed() -> BlobError {
    BlobError::Malformed { section: SectionKind::Tokenizer as u32, index: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLES: TokenizerTables = TokenizerTables {
        algorithm: Algorithm::Unigram,
        source_flags: source_flag::ALL,
        target_flags: target_flag::DROP_LEADING,
        unk_id: 1,
        language_id: 3,
        unk_score: 0xc1200000,
        charsmap: &[1, 2, 3, 4, 5, 6, 7, 8],
        strings: b"a\0bc\0",
        unk_surface: " ? ",
    };

    #[test]
    fn reads_what_it_writes() {
        let mut bytes = [0u8; 64];
        let len = TABLES.emit(&mut bytes).unwrap();
        assert_eq!(len, 24 + 8 + 5 + 3);
        let read = TokenizerTables::parse(&bytes[..len]).unwrap();
        assert_eq!(
            (read.charsmap, read.strings, read.unk_surface),
            (TABLES.charsmap, TABLES.strings, TABLES.unk_surface)
        );
        assert_eq!((read.unk_id, read.unk_score), (1, 0xc1200000));
        for cut in 0..len {
            assert!(TokenizerTables::parse(&bytes[..cut]).is_err(), "cut to {cut}");
        }
        assert!(TABLES.emit(&mut bytes[..len - 1]).is_none());
    }

    #[test]
    fn refuses_what_it_can_not_run() {
        let mut bytes = [0u8; 64];
        let len = TABLES.emit(&mut bytes).unwrap();
        for (at, value) in [(0, 2), (1, 128), (2, 4), (3, 1), (3, 3), (22, 1)] {
            let mut bytes = bytes;
            bytes[at] = value;
            let error = TokenizerTables::parse(&bytes[..len]).unwrap_err();
            assert_eq!(error, BlobError::Unsupported { section: 4, index: 0 }, "byte {at}");
        }
        let mut no_codes = bytes;
        no_codes[1] &= !source_flag::LANGUAGE_CODES;
        assert_eq!(TokenizerTables::parse(&no_codes[..len]).unwrap_err(), malformed(), "a default without codes");
        let mut no_default = bytes;
        no_default[1] &= !source_flag::DEFAULT_LANGUAGE;
        assert_eq!(TokenizerTables::parse(&no_default[..len]).unwrap_err(), malformed(), "the id of no language");
        bytes[11] = 0x7f;
        bytes[10] = 0x80;
        assert_eq!(TokenizerTables::parse(&bytes[..len]).unwrap_err(), malformed(), "infinite unknown score");
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = TokenizerTables::parse(&bytes);
        }
    }
}
