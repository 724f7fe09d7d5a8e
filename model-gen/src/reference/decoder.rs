//! The decoder, one token at a time over cached keys and values.

use std::sync::Arc;

use super::attention::{KeyValues, attend};
use super::embed;
use super::math::{add_and_norm, argmax, feed_forward, matrix_vector};
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
    pub(super) fn new(checkpoint: &'c Checkpoint, memory: &Matrix) -> Self {
        let cache = |layer: &DecoderLayer| LayerCache {
            self_attn: KeyValues::new(&layer.self_attn),
            encoder_attn: Arc::new(KeyValues::of(&layer.encoder_attn, memory)),
        };
        Self { checkpoint, caches: checkpoint.decoder.iter().map(cache).collect(), position: 0 }
    }

    /// Reads `id` at the next position. The first one is the config's `decoder_start_token_id`. Panics on an id outside
    /// the vocabulary.
    pub fn step(&mut self, id: u32) -> Step {
        let checkpoint = self.checkpoint;
        let mut state = embed(checkpoint, &checkpoint.target_embedding, id, self.position);
        self.position += 1;
        let mut states = vec![state.clone()];
        for (layer, cache) in checkpoint.decoder.iter().zip(&mut self.caches) {
            state = decoder_layer(checkpoint, layer, cache, &state);
            states.push(state.clone());
        }
        let logits = matrix_vector(&checkpoint.output, &checkpoint.final_logits_bias, &state);
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

fn decoder_layer(checkpoint: &Checkpoint, layer: &DecoderLayer, cache: &mut LayerCache, state: &[f32]) -> Vec<f32> {
    let config = &checkpoint.config;
    let eps = config.norm_eps;
    let heads = config.decoder_attention_heads;
    cache.self_attn.push(&layer.self_attn, state);
    let attended = attend(&layer.self_attn, heads, &cache.self_attn, state);
    let state = add_and_norm(&layer.self_attn_layer_norm, eps, state, &attended);
    let attended = attend(&layer.encoder_attn, heads, &cache.encoder_attn, &state);
    let state = add_and_norm(&layer.encoder_attn_layer_norm, eps, &state, &attended);
    let fed = feed_forward(&layer.fc1, &layer.fc2, config.activation_function, &state);
    add_and_norm(&layer.final_layer_norm, eps, &state, &fed)
}
