//! A SentencePiece model with the pieces of a random checkpoint.

use prost::Message;

use super::{SplitMix64, charsmap};
use crate::import::spm::{ModelType, NormalizerSpec, PieceType, SpmModel, SpmPiece, TrainerSpec};

/// The file's bytes. Pieces stand in another order than their ids, as they do in trained models, so that an id taken
/// from the place in this file shows as wrong.
///
/// A rich one has a character map, and its first piece of several letters is user-defined; others take text as it is,
/// spaces collapsed and made visible by SentencePiece's defaults. In a BPE model every fifth piece of several letters
/// is unused.
pub(super) fn model(vocabulary: &[String], rich: bool, bpe: bool, random: &mut SplitMix64) -> Vec<u8> {
    let mut pieces = vec![
        piece("<unk>", 0.0, PieceType::Unknown),
        piece("<s>", 0.0, PieceType::Control),
        piece("</s>", 0.0, PieceType::Control),
    ];
    let user_defined =
        vocabulary.iter().find(|text| rich && text.len() > 1 && text.bytes().all(|b| b.is_ascii_lowercase()));
    let bytes: Vec<&String> = vocabulary.iter().filter(|text| text.starts_with("<0x")).collect();
    // Language codes are the vocabulary's alone.
    let special = |text: &str| matches!(text, "</s>" | "<unk>" | "<pad>") || text.starts_with(">>");
    let normal = vocabulary.iter().filter(|text| !special(text) && !text.starts_with("<0x"));
    // Log-probabilities between -8 and -2, the likeliest first as the trainer writes them.
    let mut scored: Vec<(f32, &String)> = normal.map(|text| (-5.0 + 3.0 * random.signed(), text)).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    pieces.extend(scored.into_iter().map(|(score, text)| match user_defined {
        Some(special) if special == text => piece(text, 0.0, PieceType::UserDefined),
        _ if bpe && text.chars().count() > 1 && random.below(5) == 0 => piece(text, score, PieceType::Unused),
        _ => piece(text, score, PieceType::Normal),
    }));
    let normalizer =
        NormalizerSpec { precompiled_charsmap: rich.then(charsmap::precompiled), ..NormalizerSpec::default() };
    pieces.extend(bytes.iter().map(|text| piece(text, 0.0, PieceType::Byte)));
    let model_type = bpe.then_some(ModelType::Bpe as i32);
    let trainer = TrainerSpec { model_type, byte_fallback: bpe.then_some(true), ..TrainerSpec::default() };
    let (trainer_spec, normalizer_spec) = (Some(trainer), Some(normalizer));
    SpmModel { pieces, trainer_spec, normalizer_spec, ..SpmModel::default() }.encode_to_vec()
}

fn piece(text: &str, score: f32, kind: PieceType) -> SpmPiece {
    SpmPiece { piece: Some(text.into()), score: Some(score), r#type: Some(kind as i32) }
}
