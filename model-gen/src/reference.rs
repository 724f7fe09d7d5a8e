//! The float model: the oracle that every engine is measured against, as plain f32 code in the order of the paper
//! ("Attention Is All You Need", post-norm, with Marian's sinusoids).
//!
//! [`Reference::encode`] runs the source once; [`Reference::decoder`] projects the cross-attention's keys and values
//! once and then steps id by id over cached self-attention; [`Reference::greedy`] is the loop over both and
//! [`Reference::beam_search`] the loop over several decoders. Each keeps the hidden state after every layer, so that a
//! difference can be traced to the layer it starts in.

use std::sync::Arc;

use crate::import::Checkpoint;
use crate::import::checkpoint::Matrix;

mod attention;
mod beam;
mod decoder;
mod encoder;
mod math;
mod tap;

pub use beam::{BeamOptions, Hypothesis};
pub use decoder::{Decoder, Step};
pub(crate) use math::softmax;
pub use tap::{Site, Tap};

/// A checkpoint ready to run.
#[derive(Clone, Debug)]
pub struct Reference {
    checkpoint: Arc<Checkpoint>,
}

impl Reference {
    /// Wraps the weights; nothing is copied.
    pub fn new(checkpoint: Arc<Checkpoint>) -> Self {
        Self { checkpoint }
    }

    /// The weights it runs.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The encoder's hidden states for the source `ids` (with `</s>`): element 0 after embedding and positions, element
    /// `L` after layer `L`, each with one row a token. Panics on an id outside the vocabulary.
    pub fn encode(&self, ids: &[u32]) -> Vec<Matrix> {
        self.encode_tapped(ids, &mut ())
    }

    /// [`Reference::encode`], the linears' inputs shown to `tap`.
    pub fn encode_tapped<T: Tap>(&self, ids: &[u32], tap: &mut T) -> Vec<Matrix> {
        encoder::encode(&self.checkpoint, ids, tap)
    }

    /// A decoder that attends to the encoder's last hidden states.
    pub fn decoder(&self, memory: &Matrix) -> Decoder<'_> {
        self.decoder_tapped(memory, &mut ())
    }

    /// [`Reference::decoder`], the cross-attention's inputs shown to `tap`.
    pub fn decoder_tapped<T: Tap>(&self, memory: &Matrix, tap: &mut T) -> Decoder<'_> {
        Decoder::new(&self.checkpoint, memory, tap)
    }

    /// Greedy search for the source `ids`: [`Decoder::greedy`] over their encoding.
    pub fn greedy(&self, ids: &[u32], max_tokens: usize) -> Vec<u32> {
        let states = self.encode(ids);
        self.decoder(states.last().expect("the embedding is always there")).greedy(max_tokens)
    }
}

/// The embedding of `id`, scaled where the config says so, plus the position.
fn embed(checkpoint: &Checkpoint, embedding: &Matrix, id: u32, position: usize) -> Vec<f32> {
    let config = &checkpoint.config;
    let scale = if config.scale_embedding { (config.d_model as f32).sqrt() } else { 1.0 };
    let row = embedding.row(id as usize);
    let positions = config.frequencies.sinusoid(position, config.d_model);
    row.iter().zip(positions).map(|(x, position)| x * scale + position).collect()
}
