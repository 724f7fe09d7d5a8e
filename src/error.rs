//! Typed errors: small enums that say what to do.

use crate::blob::SectionKind;
use core::fmt;

/// Why bytes are not a blob this crate can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobError {
    /// The first bytes are not those of a blob: flash the model, or look at another address.
    NotABlob,
    /// The blob was written for another format version: repack it with the matching `model-gen`.
    Version {
        /// Version in the header.
        found: u16,
    },
    /// The blob was packed for an engine that is unknown or whose feature is off: build with it, or repack.
    Engine {
        /// Engine in the header: 0 int8, 1 f16.
        found: u8,
    },
    /// The weights lie in a layout this build has no kernel for: repack with the matching `model-gen`.
    Layout {
        /// Layout in the header.
        found: u8,
    },
    /// The bytes end before the blob does: copy all of it.
    Truncated {
        /// Bytes the blob has by its header.
        need: usize,
        /// Bytes given.
        found: usize,
    },
    /// The blob does not start on a multiple of 16 bytes: use `include_blob!` or align its section.
    Misaligned,
    /// A checksum differs: the bytes were damaged, copy the blob again.
    Checksum {
        /// Section kind, or 0 for the header and the section table.
        section: u32,
    },
    /// A section that every model needs is missing: repack the model.
    MissingSection {
        /// Section kind.
        section: u32,
    },
    /// A section's contents contradict themselves: repack the model.
    Malformed {
        /// Section kind.
        section: u32,
        /// Index of the record within the section.
        index: u32,
    },
    /// The blob needs a Cargo feature that is off in this build: build with it, or repack.
    Feature {
        /// The feature.
        name: &'static str,
    },
    /// The blob uses something this build has no code for (a kind of section, of tokenizer or of layer): build a newer
    /// version, or repack.
    Unsupported {
        /// Section kind.
        section: u32,
        /// Index of the record within the section.
        index: u32,
    },
}

/// Why a phrase could not be translated, or a translator not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The blob can't be run.
    Blob(BlobError),
    /// The arena is too small or misaligned: size it with `arena_len`.
    Arena {
        /// Bytes needed.
        need: usize,
        /// Bytes given.
        found: usize,
    },
    /// The limits ask for zero tokens, bytes or beams, for more positions than `Spec::most_positions` allows, or for more beams
    /// than [`MAX_BEAMS`](crate::MAX_BEAMS).
    Limits,
    /// The phrase has more bytes, once normalized, than `Limits::text_bytes` (or 16 times as many before): shorten or
    /// split it.
    TextTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The phrase has more tokens than `Limits::source_tokens`: shorten or split it.
    TooManyTokens {
        /// The limit in tokens, end of sentence included.
        limit: usize,
    },
    /// The output string is full: give it more room.
    OutputFull,
    /// An id is not in the vocabulary.
    InvalidId {
        /// The id.
        id: u16,
    },
    /// The model has no such target language: `Tokenizer::languages` lists those it has.
    UnknownLanguage,
    /// The blob has no shortlist: `model-gen shortlist` learns one.
    NoShortlist,
    /// There are no source ids: call `tokenize` with a phrase that is not blank, or give ids.
    NothingToEncode,
    /// `step` was called before `encode`, or past the last position of the caches.
    OutOfSteps,
}

impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        Error::Blob(error)
    }
}

/// A section by its number, named where it is known.
struct Section(u32);

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SectionKind::ALL.iter().find(|kind| **kind as u32 == self.0) {
            Some(kind) => write!(f, "section {} ({kind:?})", self.0),
            None if self.0 == 0 => f.write_str("the section table"),
            None => write!(f, "section {}", self.0),
        }
    }
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BlobError::NotABlob => write!(f, "not a latimer blob (wrong magic)"),
            BlobError::Version { found } => {
                write!(f, "blob format version {found}, this build reads {}: repack the model", crate::blob::VERSION)
            }
            BlobError::Engine { found: 0 } => write!(f, "blob for the int8 engine: build with feature `int8`"),
            BlobError::Engine { found: 1 } => write!(f, "blob for the f16 engine: build with feature `f16`"),
            BlobError::Engine { found } => write!(f, "blob for engine {found}, which this build does not know"),
            BlobError::Layout { found } => write!(f, "weight layout {found}, which this build does not know: repack"),
            BlobError::Truncated { need, found } => write!(f, "blob cut short: {found} of {need} bytes"),
            BlobError::Misaligned => write!(f, "blob not at a multiple of 16 bytes: use include_blob!"),
            BlobError::Checksum { section: 0 } => write!(f, "damaged blob: header checksum differs"),
            BlobError::Checksum { section } => write!(f, "damaged blob: checksum of {} differs", Section(section)),
            BlobError::MissingSection { section } => write!(f, "blob lacks {}: repack the model", Section(section)),
            BlobError::Malformed { section, index } => {
                write!(f, "{}, record {index} contradicts itself: repack the model", Section(section))
            }
            BlobError::Feature { name } => {
                write!(f, "blob needs feature `{name}`, which this build lacks: build with it")
            }
            BlobError::Unsupported { section, index } => {
                write!(f, "{}, record {index} needs something this build does not know", Section(section))
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Blob(error) => error.fmt(f),
            Error::Arena { need, found } => {
                write!(f, "arena of {found} bytes, {need} needed (16-byte aligned): size it with arena_len")
            }
            Error::Limits => {
                let most = crate::MAX_BEAMS;
                write!(
                    f,
                    "limits must be at least 1, tokens at most the model's positions (and 512), beams at most {most}"
                )
            }
            Error::TextTooLong { limit } => write!(f, "phrase longer than {limit} bytes: shorten or split it"),
            Error::TooManyTokens { limit } => write!(f, "phrase longer than {limit} tokens: shorten or split it"),
            Error::OutputFull => write!(f, "output string full: give it more room"),
            Error::InvalidId { id } => write!(f, "id {id} is not in the vocabulary"),
            Error::UnknownLanguage => write!(f, "no such target language in this model: see Tokenizer::languages"),
            Error::NoShortlist => write!(f, "no shortlist in this blob: add one with `model-gen shortlist`"),
            Error::NothingToEncode => write!(f, "no source ids: tokenize a phrase first, or give ids"),
            Error::OutOfSteps => write!(f, "no step left: encode a phrase first, or raise Limits::target_tokens"),
        }
    }
}

impl core::error::Error for BlobError {}
impl core::error::Error for Error {}
