//! Golden vectors: what the runtime computes on the host, for boards to compare with.

use crate::aligned::AlignedBytes;
use anyhow::Result;
use latimer::blob::layout::SelfTestCase;
use latimer::self_test::{StageCrcs, Vector};
use latimer::{Limits, LogitsCrc, Model};

/// Phrases of the vectors; any text will do for any language, since it is the arithmetic that is compared.
const PHRASES: [&str; 2] = ["Hello!", "Where is the train station, please?"];
/// Target tokens of a vector at most: a few steps show a fault as well as many.
const STEPS: usize = 8;
/// Limits that any board's limits should cover.
const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: STEPS as u16, text_bytes: 64, beams: 1 };

/// The self-test section for a blob that has none yet.
pub fn vectors(blob: &[u8]) -> Result<Vec<u8>> {
    let blob = AlignedBytes::copy_of(blob);
    let model = Model::from_bytes(&blob)?;
    let spec = *model.blob().spec();
    let most = spec.most_positions();
    let limits = Limits {
        source_tokens: LIMITS.source_tokens.min(most),
        target_tokens: LIMITS.target_tokens.min(most),
        ..LIMITS
    };
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits)?);
    let mut translator = model.translator(&mut arena, limits)?;
    // A self-test reads all rows.
    translator.set_shortlist(false)?;
    let mut section = Vec::new();
    for phrase in PHRASES {
        let mut observers = (StageCrcs::new(spec.encoder_blocks()), LogitsCrc::new());
        let mut text = String::new();
        match translator.translate_phrase(phrase.as_bytes(), &mut observers, &mut text) {
            Ok(_) => {}
            // A vocabulary of single characters may need more tokens than there are positions.
            Err(latimer::Error::TooManyTokens { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
        let count = StageCrcs::count(spec.encoder_blocks(), spec.decoder_blocks());
        let stages: Vec<u8> = (0..count).flat_map(|i| observers.0.value(i).to_le_bytes()).collect();
        let bytes_of = |ids: &[u16]| -> Vec<u8> { ids.iter().flat_map(|id| id.to_le_bytes()).collect() };
        let (source_ids, target_ids) = (bytes_of(translator.source_ids()), bytes_of(translator.target_ids()));
        let case = SelfTestCase {
            stages: count as u16,
            source_len: translator.source_ids().len() as u16,
            target_len: translator.target_ids().len() as u16,
            phrase_len: phrase.len() as u16,
            logits_crc: observers.1.value(),
            reserved: 0,
        };
        let vector = Vector {
            case,
            stages: &stages,
            source_ids: &source_ids,
            target_ids: &target_ids,
            phrase: phrase.as_bytes(),
        };
        let start = section.len();
        section.resize(start + vector.emitted_len(), 0);
        vector.emit(&mut section[start..]).expect("sized for the vector");
    }
    Ok(section)
}

/// Parses the finished blob and runs its own vectors.
pub fn verify(blob: &[u8]) -> Result<()> {
    let blob = AlignedBytes::copy_of(blob);
    let model = Model::from_bytes(&blob)?;
    let most = model.blob().spec().most_positions();
    let limits = Limits {
        source_tokens: LIMITS.source_tokens.min(most),
        target_tokens: LIMITS.target_tokens.min(most),
        ..LIMITS
    };
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits)?);
    match model.translator(&mut arena, limits)?.self_test() {
        Ok(_) | Err(latimer::SelfTestError::Absent) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
