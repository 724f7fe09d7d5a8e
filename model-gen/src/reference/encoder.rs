//! The encoder, all layers over all tokens.

use super::attention::{KeyValues, SELF, attend};
use super::embed;
use super::math::{add_and_norm, feed_forward};
use super::tap::{At, Tap};
use crate::import::Checkpoint;
use crate::import::checkpoint::{EncoderLayer, Matrix};

/// Hidden states after the embedding and after each layer.
pub(super) fn encode<T: Tap>(checkpoint: &Checkpoint, ids: &[u32], tap: &mut T) -> Vec<Matrix> {
    let mut embedded = Matrix::zeros(0, checkpoint.config.d_model);
    for (position, &id) in ids.iter().enumerate() {
        embedded.push_row(&embed(checkpoint, &checkpoint.source_embedding, id, position));
    }
    let mut states = vec![embedded];
    for (block, layer) in (0..).zip(&checkpoint.encoder) {
        let next = encoder_layer(checkpoint, layer, &states[states.len() - 1], &mut At { tap, block });
        states.push(next);
    }
    states
}

fn encoder_layer<T: Tap>(checkpoint: &Checkpoint, layer: &EncoderLayer, states: &Matrix, at: &mut At<T>) -> Matrix {
    let config = &checkpoint.config;
    let eps = config.norm_eps;
    let cache = KeyValues::of(&layer.self_attn, SELF, states, at);
    let mut next = Matrix::zeros(0, states.cols);
    for state in states.iter_rows() {
        let attended = attend(&layer.self_attn, SELF, config.encoder_attention_heads, &cache, state, at);
        let state = add_and_norm(&layer.self_attn_layer_norm, eps, state, &attended);
        let fed = feed_forward(&layer.fc1, &layer.fc2, config.activation_function, &state, at);
        next.push_row(&add_and_norm(&layer.final_layer_norm, eps, &state, &fed));
    }
    next
}
