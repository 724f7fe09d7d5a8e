//! `config.json` of a MarianMT checkpoint, as far as inference depends on it.
//!
//! Absent keys take the defaults of transformers' `MarianConfig` where those are the same for every model; a key that
//! describes this one model (a dimension, an id) has no sane default and is asked for by name. Values that would need
//! another network are refused here, so that nothing later has to think of them. `normalize_before` is not read:
//! transformers' Marian is post-norm whatever it says.

use std::path::Path;

use super::error::{ImportError, read_text};
use super::positions::Frequencies;

mod keys;

pub(super) use keys::Keys;

/// `torch.nn.LayerNorm`'s default, which transformers' Marian keeps.
const PYTORCH_NORM_EPS: f64 = 1e-5;

/// Nothing that runs on a microcontroller comes near these; they keep a damaged config from asking for the moon.
pub(super) const MAX_DIM: usize = 1 << 16;
const MAX_VOCAB: usize = 1 << 20;
pub(super) const MAX_LAYERS: usize = 256;

/// The nonlinearity between the two linears of a feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x * sigmoid(x)`, also called swish.
    Silu,
    /// `x * Phi(x)` with the normal distribution itself, none of its approximations.
    Gelu,
}

/// The values of `config.json` that inference depends on; fields are named after the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Width of the residual stream.
    pub d_model: usize,
    /// Number of encoder layers.
    pub encoder_layers: usize,
    /// Number of decoder layers.
    pub decoder_layers: usize,
    /// Attention heads of each encoder layer.
    pub encoder_attention_heads: usize,
    /// Attention heads of each decoder layer, self- and cross-attention alike.
    pub decoder_attention_heads: usize,
    /// Width between the two linears of an encoder layer's feed-forward block.
    pub encoder_ffn_dim: usize,
    /// Width between the two linears of a decoder layer's feed-forward block.
    pub decoder_ffn_dim: usize,
    /// Nonlinearity of the feed-forward blocks.
    pub activation_function: Activation,
    /// Rows of the source embedding.
    pub vocab_size: usize,
    /// Rows of the target embedding and of the output matrix.
    pub decoder_vocab_size: usize,
    /// Ends a sentence on both sides.
    pub eos_token_id: u32,
    /// Fills batches; never produced.
    pub pad_token_id: u32,
    /// What the decoder reads first.
    pub decoder_start_token_id: u32,
    /// Embeddings are multiplied by `sqrt(d_model)` before positions are added.
    pub scale_embedding: bool,
    /// Most positions the model was trained for.
    pub max_position_embeddings: usize,
    /// Of the sinusoidal positions. No key: transformers has one formula, Marian another.
    pub frequencies: Frequencies,
    /// What layer norms add to the variance. No key: PyTorch's default in transformers, another in Marian.
    pub norm_eps: f64,
    /// The output matrix is the target embedding.
    pub tie_word_embeddings: bool,
    /// Source and target embedding are one matrix.
    pub share_encoder_decoder_embeddings: bool,
}

impl Config {
    /// Reads and checks the file; every problem in it is reported at once.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let remedy = "a MarianMT checkpoint directory has one; save the model with transformers' `save_pretrained`, or give \
                      Marian's own .npz";
        Self::parse(path, &read_text(path, remedy)?)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ImportError> {
        let mut keys = Keys::parse(path, text)?;
        let why = "transformers' MarianMT and Marian's own .npz can be imported, no other architecture";
        keys.must_be_text("model_type", "marian", why);
        // Another architecture's keys say nothing of use.
        keys = keys.stop_at_problem()?;
        refuse_other_networks(&mut keys);
        let activation_function = activation(&mut keys);
        let vocab_size = keys.count("vocab_size", MAX_VOCAB, None);
        let share_encoder_decoder_embeddings = keys.flag("share_encoder_decoder_embeddings", true);
        let config = Self {
            d_model: keys.count("d_model", MAX_DIM, None),
            encoder_layers: keys.count("encoder_layers", MAX_LAYERS, None),
            decoder_layers: keys.count("decoder_layers", MAX_LAYERS, None),
            encoder_attention_heads: keys.count("encoder_attention_heads", MAX_DIM, None),
            decoder_attention_heads: keys.count("decoder_attention_heads", MAX_DIM, None),
            encoder_ffn_dim: keys.count("encoder_ffn_dim", MAX_DIM, None),
            decoder_ffn_dim: keys.count("decoder_ffn_dim", MAX_DIM, None),
            activation_function,
            vocab_size,
            decoder_vocab_size: keys.count("decoder_vocab_size", MAX_VOCAB, Some(vocab_size)),
            eos_token_id: keys.id("eos_token_id", Some(0)),
            pad_token_id: keys.id("pad_token_id", None),
            decoder_start_token_id: keys.id("decoder_start_token_id", None),
            scale_embedding: keys.flag("scale_embedding", false),
            max_position_embeddings: keys.count("max_position_embeddings", MAX_VOCAB, Some(1024)),
            frequencies: Frequencies::Paper,
            norm_eps: PYTORCH_NORM_EPS,
            tie_word_embeddings: keys.flag("tie_word_embeddings", true),
            share_encoder_decoder_embeddings,
        };
        // Values that could not be read are placeholders: comparing them would only add noise.
        if keys.is_clean() {
            config.check(&mut keys);
        }
        keys.finish(config)
    }

    /// What must hold between the values.
    fn check(&self, keys: &mut Keys) {
        for (key, heads) in [
            ("encoder_attention_heads", self.encoder_attention_heads),
            ("decoder_attention_heads", self.decoder_attention_heads),
        ] {
            if !self.d_model.is_multiple_of(heads) {
                keys.problem(key, &heads.to_string(), &format!("a divisor of d_model ({})", self.d_model));
            }
        }
        if self.share_encoder_decoder_embeddings && self.decoder_vocab_size != self.vocab_size {
            let wanted = format!("vocab_size ({}), as share_encoder_decoder_embeddings is true", self.vocab_size);
            keys.problem("decoder_vocab_size", &self.decoder_vocab_size.to_string(), &wanted);
        }
        let source = ("vocab_size", self.vocab_size);
        let target = ("decoder_vocab_size", self.decoder_vocab_size);
        for (key, id, (side, size)) in [
            ("eos_token_id", self.eos_token_id, source),
            ("eos_token_id", self.eos_token_id, target),
            ("pad_token_id", self.pad_token_id, target),
            ("decoder_start_token_id", self.decoder_start_token_id, target),
        ] {
            if id as usize >= size {
                keys.problem(key, &id.to_string(), &format!("an id below {side} ({size})"));
            }
        }
        if self.eos_token_id == self.pad_token_id {
            keys.problem("pad_token_id", &self.pad_token_id.to_string(), "an id other than eos_token_id's");
        }
    }
}

/// Values that mean a network other than the one this project runs.
fn refuse_other_networks(keys: &mut Keys) {
    keys.must_be_flag(
        "static_position_embeddings",
        true,
        "learned positions are not supported; retrain with sinusoids",
    );
    keys.must_be_flag("add_final_layer_norm", false, "a layer norm after the last layer is not supported");
    keys.must_be_flag("normalize_embedding", false, "a layer norm on embeddings is not supported");
    keys.must_be_flag("is_encoder_decoder", true, "only encoder-decoder models translate");
}

fn activation(keys: &mut Keys) -> Activation {
    let wanted = "\"relu\", \"swish\", \"silu\" or \"gelu\" (the exact one); retrain with one of these";
    match keys.text("activation_function") {
        Some("relu") => Activation::Relu,
        Some("swish" | "silu") => Activation::Silu,
        Some("gelu" | "gelu_python") => Activation::Gelu,
        Some(other) => {
            let found = format!("{other:?}");
            keys.problem("activation_function", &found, wanted);
            Activation::Relu
        }
        None => {
            keys.absent("activation_function", wanted);
            Activation::Relu
        }
    }
}

#[cfg(test)]
mod tests;
