//! The decoder, one token at a time over cached keys and values.

use std::sync::Arc;

use super::attention::{CROSS, KeyValues, SELF, attend};
use super::embed;
use super::math::{add_and_norm, argmax, feed_forward};
use super::tap::{At, Tap};
use crate::import::Checkpoint;
use crate::import::checkpoint::{DecoderLayer, Matrix};

/// A decoder in the middle of a phrase.
#[derive(Clone, Debug)]
pub struct Decoder<'c> {
    checkpoint: &'c Checkpoint,
    caches: Vec<LayerCache>,
    position: usize,
}

#[derive(Clone, Debug)]
struct LayerCache {
    self_attn: KeyValues,
    /// Shared by all beams of a phrase.
    encoder_attn: Arc<KeyValues>,
}

/// What one token brings.
#[derive(Clone, Debug)]
pub struct Step {
    /// Hidden state after embedding and position, then after each layer.
    pub states: Vec<Vec<f32>>,
    /// One logit an id of the target vocabulary, `final_logits_bias` added, pad among them.
    pub logits: Vec<f32>,
}

impl<'c> Decoder<'c> {
    pub(super) fn new<T: Tap>(checkpoint: &'c Checkpoint, memory: &Matrix, tap: &mut T) -> Self {
        let cache = |(block, layer): (u16, &DecoderLayer)| LayerCache {
            self_attn: KeyValues::new(&layer.self_attn),
            encoder_attn: Arc::new(KeyValues::of(&layer.encoder_attn, CROSS, memory, &mut At { tap, block })),
        };
        Self { checkpoint, caches: blocks(checkpoint).map(cache).collect(), position: 0 }
    }

    /// Reads `id` at the next position. The first one is the config's `decoder_start_token_id`. Panics on an id outside
    /// the vocabulary.
    pub fn step(&mut self, id: u32) -> Step {
        self.step_tapped(id, &mut ())
    }

    /// [`Decoder::step`], its linears' inputs shown to `tap`.
    pub fn step_tapped<T: Tap>(&mut self, id: u32, tap: &mut T) -> Step {
        let checkpoint = self.checkpoint;
        let mut state = embed(checkpoint, &checkpoint.target_embedding, id, self.position);
        self.position += 1;
        let mut states = vec![state.clone()];
        for ((block, layer), cache) in blocks(checkpoint).zip(&mut self.caches) {
            state = decoder_layer(checkpoint, layer, cache, &state, &mut At { tap, block });
            states.push(state.clone());
        }
        let logits = At::output(tap, &checkpoint.output, &checkpoint.final_logits_bias, &state);
        Step { states, logits }
    }

    /// Greedy search from a decoder that has read nothing: the ids generated, with `</s>` if it came within `max_tokens`
    /// ids.
    ///
    /// The highest logit wins, the lower id on a tie; pad is never produced. (transformers' `max_length` of 64 counts
    /// the start token, so it is `max_tokens` 63 here.)
    pub fn greedy(mut self, max_tokens: usize) -> Vec<u32> {
        let config = &self.checkpoint.config;
        let mut generated = Vec::new();
        let mut previous = config.decoder_start_token_id;
        while generated.len() < max_tokens {
            let mut logits = self.step(previous).logits;
            logits[config.pad_token_id as usize] = f32::NEG_INFINITY;
            previous = argmax(&logits) as u32;
            generated.push(previous);
            if previous == config.eos_token_id {
                break;
            }
        }
        generated
    }
}

/// The decoder's layers with their places among the blob's blocks, which begin with the encoder's.
fn blocks(checkpoint: &Checkpoint) -> impl Iterator<Item = (u16, &DecoderLayer)> {
    (checkpoint.encoder.len() as u16..).zip(&checkpoint.decoder)
}

fn decoder_layer<T: Tap>(
    checkpoint: &Checkpoint,
    layer: &DecoderLayer,
    cache: &mut LayerCache,
    state: &[f32],
    at: &mut At<'_, T>,
) -> Vec<f32> {
    let config = &checkpoint.config;
    let eps = config.norm_eps;
    let heads = config.decoder_attention_heads;
    cache.self_attn.push(&layer.self_attn, SELF, state, at);
    let attended = attend(&layer.self_attn, SELF, heads, &cache.self_attn, state, at);
    let state = add_and_norm(&layer.self_attn_layer_norm, eps, state, &attended);
    let attended = attend(&layer.encoder_attn, CROSS, heads, &cache.encoder_attn, &state, at);
    let state = add_and_norm(&layer.encoder_attn_layer_norm, eps, &state, &attended);
    let fed = feed_forward(&layer.fc1, &layer.fc2, config.activation_function, &state, at);
    add_and_norm(&layer.final_layer_norm, eps, &state, &fed)
}
