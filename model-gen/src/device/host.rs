//! The host's engine, doing what a board's firmware does: the same code, so that the bits must be equal.

use latimer::report::Report;
use latimer::self_test::StageCrcs;
use latimer::{AlignmentCrc, Error, Limits, LogitsCrc, Model, TextOptions, Translator};
use serde::Deserialize;
use serde_json::Value;

/// What `:trace` answers: checksums of what each stage made of a phrase, which the model got as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Trace {
    /// Ids of the source.
    pub source_ids: Vec<u16>,
    /// Of the stages, embeddings and the layers of the encoder first, then those of the decoder.
    pub stages: Vec<u32>,
    /// Layers of the encoder.
    pub encoder_layers: usize,
    /// Of every logit.
    pub logits_crc: u32,
    /// Ids chosen.
    pub target_ids: Vec<u16>,
}

/// A model to compare with.
#[derive(Debug)]
pub struct Host<'m> {
    translator: Translator<'m>,
}

impl<'m> Host<'m> {
    /// With the limits of the board.
    ///
    /// # Errors
    ///
    /// The engine's, where limits or arena don't suit the model.
    pub fn new(model: &Model<'m>, arena: &'m mut [u8], limits: Limits) -> Result<Self, Error> {
        Ok(Self { translator: model.translator(arena, limits)? })
    }

    /// What a board answers to a phrase in JSON.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub fn report(&mut self, phrase: &str) -> Result<Value, Error> {
        let mut crcs = (LogitsCrc::new(), AlignmentCrc::new());
        let mut target = String::new();
        let outcome =
            self.translator.translate_text(phrase.as_bytes(), TextOptions::DEFAULT, &mut crcs, &mut target)?;
        let (source_ids, target_ids) = match outcome.parts {
            0 => (&[][..], &[][..]),
            _ => (self.translator.source_ids(), self.translator.target_ids()),
        };
        let (logits_crc, alignment_crc) = (crcs.0.value(), crcs.1.value());
        let report =
            Report { source_ids, target_ids, logits_crc, alignment_crc, ..Report::of(phrase, &target, &outcome) };
        Ok(serde_json::to_value(report).unwrap_or_default())
    }

    /// What a board answers to `:trace`, with checksums over the ids that the board has chosen: a fault that changes a choice would
    /// else show in the embedding of the next step before the layer that is to blame.
    ///
    /// # Errors
    ///
    /// The engine's, where the ids are none of the model's too.
    pub fn trace(&mut self, phrase: &str, chosen: &[u16]) -> Result<Trace, Error> {
        let spec = *self.translator.blob().spec();
        let fresh = || (StageCrcs::new(spec.encoder_blocks()), LogitsCrc::new());
        let mut crcs = fresh();
        self.translator.translate_phrase(phrase.as_bytes(), &mut crcs, &mut String::new())?;
        let (source_ids, target_ids) = (self.translator.source_ids().to_vec(), self.translator.target_ids().to_vec());
        if chosen != target_ids && !source_ids.is_empty() {
            crcs = fresh();
            self.translator.encode_ids(&source_ids, &mut crcs)?;
            let mut id = spec.header().start_id;
            for &next in chosen {
                self.translator.step(id, &mut crcs)?;
                id = next;
            }
        }
        let stages = crcs.0.values(StageCrcs::count(spec.encoder_blocks(), spec.decoder_blocks())).to_vec();
        let (encoder_layers, logits_crc) = (spec.encoder_blocks(), crcs.1.value());
        Ok(Trace { source_ids, stages, encoder_layers, logits_crc, target_ids })
    }
}
