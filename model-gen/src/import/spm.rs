//! SentencePiece models (`.spm`, `.model`): the fields of `sentencepiece_model.proto` that the tokenizer depends on.
//!
//! Pieces are read as bytes, so that one that is not UTF-8 can be named in the error.

use super::charsmap::{CompactCharsMap, double_array::DoubleArray};
use anyhow::{Context, bail};
use prost::Message;

/// A whole model.
#[derive(Clone, PartialEq, Message)]
pub struct SpmModel {
    /// Pieces in order of SentencePiece's own ids.
    #[prost(message, repeated, tag = "1")]
    pub pieces: Vec<SpmPiece>,
    /// How it was trained, and some of how it runs.
    #[prost(message, optional, tag = "2")]
    pub trainer_spec: Option<TrainerSpec>,
    /// How text is normalized.
    #[prost(message, optional, tag = "3")]
    pub normalizer_spec: Option<NormalizerSpec>,
    /// How decoded text is changed in the end.
    #[prost(message, optional, tag = "5")]
    pub denormalizer_spec: Option<NormalizerSpec>,
}

/// One piece.
#[derive(Clone, PartialEq, Message)]
pub struct SpmPiece {
    /// Its text.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub piece: Option<Vec<u8>>,
    /// Log-probability.
    #[prost(float, optional, tag = "2")]
    pub score: Option<f32>,
    /// A [`PieceType`].
    #[prost(enumeration = "PieceType", optional, tag = "3", default = "Normal")]
    pub r#type: Option<i32>,
}

/// What a piece is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PieceType {
    /// Matched in text.
    Normal = 1,
    /// Stands for what no piece covers.
    Unknown = 2,
    /// Never in text, such as the end of sentence.
    Control = 3,
    /// Always one piece.
    UserDefined = 4,
    /// Never produced.
    Unused = 5,
    /// One byte, under byte fallback.
    Byte = 6,
}

/// Training options, of which few matter later.
#[derive(Clone, PartialEq, Message)]
pub struct TrainerSpec {
    /// A [`ModelType`].
    #[prost(enumeration = "ModelType", optional, tag = "3", default = "Unigram")]
    pub model_type: Option<i32>,
    /// The dummy whitespace goes after the text.
    #[prost(bool, optional, tag = "24")]
    pub treat_whitespace_as_suffix: Option<bool>,
    /// Unknown characters become byte pieces.
    #[prost(bool, optional, tag = "35")]
    pub byte_fallback: Option<bool>,
    /// What an unknown piece is written as.
    #[prost(string, optional, tag = "44", default = " \u{2047} ")]
    pub unk_surface: Option<String>,
}

/// How a model segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ModelType {
    /// By a unigram language model.
    Unigram = 1,
    /// By byte pair encoding.
    Bpe = 2,
    /// At whitespace.
    Word = 3,
    /// Into characters.
    Char = 4,
}

/// Normalization options.
#[derive(Clone, PartialEq, Message)]
pub struct NormalizerSpec {
    /// Trie and replacement strings.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub precompiled_charsmap: Option<Vec<u8>>,
    /// The text gets a whitespace before it.
    #[prost(bool, optional, tag = "3", default = "true")]
    pub add_dummy_prefix: Option<bool>,
    /// Runs of whitespace become one.
    #[prost(bool, optional, tag = "4", default = "true")]
    pub remove_extra_whitespaces: Option<bool>,
    /// Spaces become U+2581.
    #[prost(bool, optional, tag = "5", default = "true")]
    pub escape_whitespaces: Option<bool>,
}

impl SpmModel {
    /// Reads a model; `name` is the file's name, for errors.
    pub fn parse(name: &str, bytes: &[u8]) -> anyhow::Result<Self> {
        let model = Self::decode(bytes).with_context(|| format!("{name} is not a SentencePiece model"))?;
        if model.pieces.is_empty() {
            bail!("{name} has no pieces: it is not a SentencePiece model, or was cut short");
        }
        // They follow the pieces: a file cut between two records would else lose its options without a word.
        for (field, there) in
            [("trainer_spec", model.trainer_spec.is_some()), ("normalizer_spec", model.normalizer_spec.is_some())]
        {
            if !there {
                bail!("{name} has no {field}: it was cut short; copy the whole checkpoint directory");
            }
        }
        Ok(model)
    }

    /// The training options, with the defaults where the file has none.
    pub fn trainer(&self) -> TrainerSpec {
        self.trainer_spec.clone().unwrap_or_default()
    }

    /// The normalization options, with the defaults where the file has none.
    pub fn normalizer(&self) -> NormalizerSpec {
        self.normalizer_spec.clone().unwrap_or_default()
    }
}

impl NormalizerSpec {
    /// The character map, packed; empty where there is none. `field` is its name, for errors.
    pub fn charsmap(&self, field: &str) -> anyhow::Result<CompactCharsMap> {
        self.double_array(field)?.map_or(Ok(CompactCharsMap::default()), |array| CompactCharsMap::new(field, &array))
    }

    /// The character map as it stands in the model, if there is one.
    pub fn double_array(&self, field: &str) -> anyhow::Result<Option<DoubleArray>> {
        let blob = self.precompiled_charsmap();
        if blob.is_empty() {
            return Ok(None);
        }
        let Some((size, rest)) = blob.split_first_chunk::<4>() else {
            bail!("{field} is {} bytes long, too short for its header", blob.len());
        };
        let size = u32::from_le_bytes(*size) as usize;
        let Some((trie, strings)) = rest.split_at_checked(size) else {
            bail!("{field} says its trie has {size} bytes, but {} follow", rest.len());
        };
        let (units, odd) = trie.as_chunks::<4>();
        if !odd.is_empty() || units.is_empty() {
            bail!("{field} has a trie of {size} bytes, not a multiple of 4 above 0");
        }
        if strings.last() != Some(&0) || std::str::from_utf8(strings).is_err() {
            bail!("{field} has replacement strings that are not UTF-8 or have no end: the file is damaged");
        }
        Ok(Some(DoubleArray::new(units, strings.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_fields_have_the_defaults_of_the_schema() {
        let piece = SpmPiece::default();
        assert_eq!(piece.r#type(), PieceType::Normal);
        let trainer = TrainerSpec::default();
        assert_eq!(trainer.model_type(), ModelType::Unigram);
        assert_eq!(trainer.unk_surface(), " \u{2047} ");
        assert!(!trainer.byte_fallback() && !trainer.treat_whitespace_as_suffix());
        let normalizer = NormalizerSpec::default();
        assert!(normalizer.add_dummy_prefix() && normalizer.remove_extra_whitespaces());
        assert!(normalizer.escape_whitespaces());
    }

    #[test]
    fn writes_what_it_reads() {
        let piece = |text: &str, kind: PieceType| SpmPiece {
            piece: Some(text.into()),
            score: Some(-1.5),
            r#type: Some(kind as i32),
        };
        let model = SpmModel {
            pieces: vec![piece("<unk>", PieceType::Unknown), piece("\u{2581}a", PieceType::Normal)],
            trainer_spec: Some(TrainerSpec { byte_fallback: Some(true), ..Default::default() }),
            normalizer_spec: Some(NormalizerSpec { add_dummy_prefix: Some(false), ..Default::default() }),
            denormalizer_spec: None,
        };
        assert_eq!(SpmModel::parse("test.spm", &model.encode_to_vec()).unwrap(), model);
    }

    #[test]
    fn bad_files_are_named() {
        let error = SpmModel::parse("source.spm", b"\xff\xff\xff").unwrap_err().to_string();
        assert_eq!(error, "source.spm is not a SentencePiece model");
        let error = SpmModel::parse("source.spm", b"").unwrap_err().to_string();
        assert!(error.starts_with("source.spm has no pieces"), "{error}");
    }

    #[test]
    fn a_charsmap_must_be_whole() {
        let spec = |bytes: &[u8]| NormalizerSpec { precompiled_charsmap: Some(bytes.into()), ..Default::default() };
        assert_eq!(spec(b"").charsmap("m").unwrap(), CompactCharsMap::default());
        for (bytes, message) in [
            (&b"\x04\0\0"[..], "m is 3 bytes long, too short for its header"),
            (b"\x08\0\0\0abcdx\0", "m says its trie has 8 bytes, but 6 follow"),
            (b"\x03\0\0\0abcdx\0", "m has a trie of 3 bytes, not a multiple of 4 above 0"),
        ] {
            assert_eq!(spec(bytes).charsmap("m").unwrap_err().to_string(), message);
        }
    }
}
