//! The pieces of one SentencePiece model, checked, and their parts in segmentation and output.

use crate::import::spm::{ModelType, PieceType, SpmModel};
use anyhow::{Context, bail, ensure};
use latimer::blob::tokenizer::Algorithm;
use latimer::blob::vocab::byte_of_piece;
use latimer::text::vocab::{SourceKind, TargetKind};
use std::collections::HashMap;

/// A model's pieces by string. One string may be both a matched piece and a reserved one, as in SentencePiece.
pub(super) struct Pieces {
    pub algorithm: Algorithm,
    pub matched: HashMap<String, (PieceType, f32)>,
    reserved: HashMap<String, PieceType>,
    pub min_score: f32,
    max_score: f32,
}

impl Pieces {
    pub fn read(name: &str, model: &SpmModel) -> anyhow::Result<Self> {
        let trainer = model.trainer();
        let model_type = trainer.model_type();
        let algorithm = match model_type {
            ModelType::Unigram => Algorithm::Unigram,
            ModelType::Bpe => Algorithm::Bpe,
            ModelType::Word | ModelType::Char => {
                bail!("{name}: trainer_spec.model_type is {model_type:?}; only Unigram and Bpe models are supported")
            }
        };
        // Where SentencePiece starts from; the greatest score is at least the least positive normal number.
        let (mut min_score, mut max_score) = (f32::MAX, f32::MIN_POSITIVE);
        let mut pieces = Pieces { algorithm, matched: HashMap::new(), reserved: HashMap::new(), min_score, max_score };
        for (index, piece) in model.pieces.iter().enumerate() {
            let field = format!("{name}: pieces[{index}]");
            let text = str::from_utf8(piece.piece()).with_context(|| format!("{field} is not UTF-8"))?;
            let (kind, score) = (piece.r#type(), piece.score());
            ensure!(!text.is_empty(), "{field} is empty");
            ensure!(!text.contains('\0'), "{field} contains a zero byte, which SentencePiece can't match");
            ensure!(score.is_finite(), "{field} (\"{text}\") has the score {score}");
            if kind == PieceType::Byte {
                ensure!(trainer.byte_fallback(), "{field} is a byte piece, but trainer_spec.byte_fallback is false");
                ensure!(byte_of_piece(text).is_some(), "{field} (\"{text}\") is a byte piece not of the form <0xNN>");
            }
            let known = match kind {
                PieceType::Normal | PieceType::UserDefined | PieceType::Unused => {
                    pieces.matched.insert(text.to_owned(), (kind, score)).is_some()
                }
                PieceType::Unknown | PieceType::Control | PieceType::Byte => {
                    pieces.reserved.insert(text.to_owned(), kind).is_some()
                }
            };
            ensure!(!known, "{field} (\"{text}\") stands there twice");
            // SentencePiece's BPE looks its results up among both.
            let both = pieces.matched.contains_key(text) && pieces.reserved.contains_key(text);
            ensure!(
                !both || algorithm == Algorithm::Unigram,
                "{field} (\"{text}\") stands there twice, once as a special piece; a Bpe model can't tell them apart"
            );
            if kind == PieceType::Normal {
                (min_score, max_score) = (min_score.min(score), max_score.max(score));
            }
        }
        let count = |kind| pieces.reserved.values().filter(|&&k| k == kind).count();
        let (unknown, bytes) = (count(PieceType::Unknown), count(PieceType::Byte));
        ensure!(unknown == 1, "{name} has {unknown} pieces of the type UNKNOWN, not one");
        ensure!(!trainer.byte_fallback() || bytes == 256, "{name} has byte_fallback but {bytes} byte pieces, not 256");
        Ok(Pieces { min_score, max_score, ..pieces })
    }

    pub fn source_kind(&self, text: &str) -> SourceKind {
        match self.matched.get(text) {
            Some((PieceType::Normal, _)) => SourceKind::Normal,
            Some((PieceType::UserDefined, _)) => SourceKind::UserDefined,
            Some((PieceType::Unused, _)) if self.algorithm == Algorithm::Bpe => SourceKind::Unused,
            _ => SourceKind::None,
        }
    }

    /// Reserved pieces come first where a string is both.
    pub fn target_kind(&self, text: &str) -> TargetKind {
        match (self.reserved.get(text), self.matched.get(text)) {
            (Some(PieceType::Control), _) => TargetKind::Hidden,
            (Some(PieceType::Byte), _) => TargetKind::Byte,
            (Some(_), _) => TargetKind::Unknown,
            (None, Some(_)) => TargetKind::Normal,
            (None, None) => TargetKind::Foreign,
        }
    }

    /// Score of a user-defined piece: SentencePiece multiplies in single and subtracts in double precision.
    pub fn user_defined_score(&self, text: &str) -> f64 {
        f64::from(text.len() as f32 * self.max_score) - 0.1
    }
}
