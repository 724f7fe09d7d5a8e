//! One phrase through both models.

use super::divergence::Divergence;
use super::noise::{EncoderStages, Stages, StepStages};
use super::ranges::Inputs;
use super::target::SideTokenizer;
use crate::reference::{BeamOptions, Decoder, Reference};
use crate::score::pairs::Phrase;
use anyhow::{Context, Result};
use latimer::{Limits, Model, Translator};
use std::time::Instant;

/// The two models and what they share.
pub(super) struct Evaluator<'a> {
    pub model: &'a Model<'a>,
    pub reference: &'a Reference,
    pub target: &'a SideTokenizer,
    pub limits: Limits,
    /// Whether the blob translates by its shortlist.
    pub shortlist: bool,
}

/// One model's translation.
#[derive(Clone, Debug, Default)]
pub(super) struct Translation {
    /// Target ids, end of sentence included where it was reached.
    pub ids: Vec<u16>,
    pub text: String,
    /// Encoding and search; tokenization only in the quantized model, where it is part of the pipeline.
    pub seconds: f64,
}

/// What one phrase gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub float: Translation,
    pub quantized: Translation,
    pub divergence: Divergence,
    pub stages: Stages,
    /// What the float model's linears were given.
    pub inputs: Inputs,
    /// Row blocks of the output matrix that the blob's steps read, and all that there are for them.
    pub output_blocks: [usize; 2],
    /// The reference had more tokens than the limit.
    pub reference_cut: bool,
}

impl Evaluator<'_> {
    /// Translates and teacher-forces; each model encodes the source once.
    pub fn run(&self, phrase: &Phrase, arena: &mut [u8]) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut translator = self.model.translator(arena, self.limits)?;
        // As the float model may.
        translator.set_unknown_allowed(true);
        translator.set_shortlist(self.shortlist)?;
        let mut observed = EncoderStages::default();
        let start = Instant::now();
        let stats = translator
            .translate_phrase(phrase.source.as_bytes(), &mut observed, &mut outcome.quantized.text)
            .context("the blob cannot translate it: raise --source-tokens or --text-bytes")?;
        outcome.quantized.seconds = start.elapsed().as_secs_f64();
        outcome.quantized.ids = translator.target_ids().to_vec();
        // A blank phrase is blank in any language; no model is asked.
        if stats.source_tokens == 0 {
            return Ok(outcome);
        }

        let (read, all) = translator.output_blocks();
        outcome.output_blocks = [read, all].map(|blocks| blocks * stats.target_tokens);
        let ids: Vec<u32> = translator.source_ids().iter().map(|id| u32::from(*id)).collect();
        let start = Instant::now();
        let states = self.reference.encode_tapped(&ids, &mut outcome.inputs);
        let memory = states.last().expect("the embedding is always there");
        let decoder = self.reference.decoder_tapped(memory, &mut outcome.inputs);
        let best = match self.limits.beams {
            1 => decoder.clone().greedy(self.limits.target_tokens.into()),
            beams => {
                let (beams, max_tokens) = (beams.into(), self.limits.target_tokens.into());
                self.reference.beam_search(&ids, &BeamOptions { beams, length_penalty: 1.0, max_tokens }).ids
            }
        };
        outcome.float.seconds = start.elapsed().as_secs_f64();
        // The blob fits the checkpoint: every id fits 16 bits.
        outcome.float.ids = best.into_iter().map(|id| id as u16).collect();
        outcome.float.text = self.text(&outcome.float.ids)?;

        for (layer, (wanted, found)) in states.iter().zip(&observed.0).enumerate() {
            outcome.stages.encoder(layer, &wanted.data, found);
        }
        let mut target = self.target.encode(&phrase.references[0])?;
        outcome.reference_cut = target.len() > self.limits.target_tokens.into();
        target.truncate(self.limits.target_tokens.into());
        teacher_force(decoder, &mut translator, self.start_id(), &target, &mut outcome)?;
        Ok(outcome)
    }

    fn start_id(&self) -> u16 {
        self.model.blob().spec().header().start_id
    }

    /// Target ids as text, by the blob's own detokenizer.
    fn text(&self, ids: &[u16]) -> Result<String> {
        let (mut text, mut detokenizer) = (String::new(), self.model.blob().tokenizer().detokenizer());
        let eos = self.model.blob().spec().header().eos_id;
        for id in ids.iter().filter(|id| **id != eos) {
            detokenizer.push(*id, &mut text)?;
        }
        detokenizer.finish(&mut text)?;
        Ok(text)
    }
}

/// Both models read the start id and then the target; each position foresees the target's token there.
fn teacher_force(
    mut decoder: Decoder<'_>,
    translator: &mut Translator<'_>,
    start_id: u16,
    target: &[u16],
    outcome: &mut Outcome,
) -> Result<()> {
    translator.restart();
    // The distributions that are compared are over all ids.
    translator.set_shortlist(false)?;
    let mut found = StepStages::default();
    let mut previous = start_id;
    for &id in target {
        let wanted = decoder.step_tapped(previous.into(), &mut outcome.inputs);
        found.clear();
        translator.step(previous, &mut found)?;
        for (layer, (wanted, found)) in wanted.states.iter().zip(&found.stages).enumerate() {
            outcome.stages.decoder(layer, wanted, found);
        }
        outcome.stages.logits(&wanted.logits, &found.logits);
        outcome.divergence.note(&wanted.logits, &found.logits, id.into());
        previous = id;
    }
    Ok(())
}
