//! A SentencePiece model file with the pieces of a random checkpoint.
//!
//! Only the fields that say something are written; field numbers are those of SentencePiece's `sentencepiece_model.proto`.

use prost::Message;

use super::SplitMix64;

#[derive(Clone, PartialEq, Message)]
struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    trainer_spec: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    normalizer_spec: Option<NormalizerSpec>,
}

#[derive(Clone, PartialEq, Message)]
struct Piece {
    #[prost(string, optional, tag = "1")]
    piece: Option<String>,
    #[prost(float, optional, tag = "2")]
    score: Option<f32>,
    #[prost(int32, optional, tag = "3")]
    kind: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct TrainerSpec {
    #[prost(int32, optional, tag = "3")]
    model_type: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    vocab_size: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct NormalizerSpec {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
}

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const UNIGRAM: i32 = 1;

/// The file's bytes. Pieces stand in another order than their ids, as they do in trained models, so that an id taken
/// from the place in this file shows as wrong.
pub(super) fn model(vocabulary: &[String], random: &mut SplitMix64) -> Vec<u8> {
    let piece = |text: &str, score, kind| Piece { piece: Some(text.to_owned()), score: Some(score), kind: Some(kind) };
    let mut pieces = vec![piece("<unk>", 0.0, UNKNOWN), piece("<s>", 0.0, CONTROL), piece("</s>", 0.0, CONTROL)];
    let normal = vocabulary.iter().filter(|text| !matches!(text.as_str(), "</s>" | "<unk>" | "<pad>"));
    // Log-probabilities between -8 and -2, the likeliest first as the trainer writes them.
    let mut scored: Vec<(f32, &String)> = normal.map(|text| (-5.0 + 3.0 * random.signed(), text)).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    pieces.extend(scored.into_iter().map(|(score, text)| piece(text, score, NORMAL)));
    let trainer_spec = TrainerSpec { model_type: Some(UNIGRAM), vocab_size: Some(pieces.len() as i32) };
    // No charsmap: text is taken as it is, spaces are collapsed and made visible by SentencePiece's own defaults.
    let normalizer_spec = NormalizerSpec { name: Some("identity".to_owned()) };
    ModelProto { pieces, trainer_spec: Some(trainer_spec), normalizer_spec: Some(normalizer_spec) }.encode_to_vec()
}
