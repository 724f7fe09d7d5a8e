//! The encoder, all layers over all tokens.

use super::attention::{KeyValues, attend};
use super::embed;
use super::math::{add_and_norm, feed_forward};
use crate::import::Checkpoint;
use crate::import::checkpoint::{EncoderLayer, Matrix};

/// Hidden states after the embedding and after each layer.
pub(super) fn encode(checkpoint: &Checkpoint, ids: &[u32]) -> Vec<Matrix> {
    let mut embedded = Matrix::zeros(0, checkpoint.config.d_model);
    for (position, &id) in ids.iter().enumerate() {
        embedded.push_row(&embed(checkpoint, &checkpoint.source_embedding, id, position));
    }
    let mut states = vec![embedded];
    for layer in &checkpoint.encoder {
        let next = encoder_layer(checkpoint, layer, &states[states.len() - 1]);
        states.push(next);
    }
    states
}

fn encoder_layer(checkpoint: &Checkpoint, layer: &EncoderLayer, states: &Matrix) -> Matrix {
    let config = &checkpoint.config;
    let eps = config.norm_eps;
    let cache = KeyValues::of(&layer.self_attn, states);
    let mut next = Matrix::zeros(0, states.cols);
    for state in states.iter_rows() {
        let attended = attend(&layer.self_attn, config.encoder_attention_heads, &cache, state);
        let state = add_and_norm(&layer.self_attn_layer_norm, eps, state, &attended);
        let fed = feed_forward(&layer.fc1, &layer.fc2, config.activation_function, &state);
        next.push_row(&add_and_norm(&layer.final_layer_norm, eps, &state, &fed));
    }
    next
}
