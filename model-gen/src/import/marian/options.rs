//! The options a model was trained with, as far as they describe its network. Keys are Marian's command-line options.

use std::path::Path;

use serde_json::{Map, Value};

use crate::import::config::{Activation, Keys, MAX_DIM, MAX_LAYERS};
use crate::import::error::ImportError;

use super::yaml;

/// Nonlinearities of `transformer-ffn-activation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nonlinearity {
    Relu,
    Swish,
    /// `x * sigmoid(1.702 x)`: what Marian calls gelu.
    QuickGelu,
}

impl Nonlinearity {
    /// `f` of `f(scale * x) / scale`, which is the nonlinearity.
    pub(super) fn function(self) -> Activation {
        match self {
            Self::Relu => Activation::Relu,
            Self::Swish | Self::QuickGelu => Activation::Silu,
        }
    }

    /// See [`Nonlinearity::function`].
    pub(super) fn scale(self) -> f32 {
        if self == Self::QuickGelu { 1.702 } else { 1.0 }
    }
}

/// A post-norm Transformer's options; fields are named after the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) dim_emb: usize,
    pub(super) enc_depth: usize,
    pub(super) dec_depth: usize,
    pub(super) heads: usize,
    pub(super) dim_ffn: usize,
    pub(super) decoder_dim_ffn: usize,
    pub(super) activation: Nonlinearity,
    /// Source and target embedding are one matrix: `tied-embeddings-src` or `tied-embeddings-all`.
    pub(super) shared_embeddings: bool,
    /// The output matrix is the target embedding: `tied-embeddings` or `tied-embeddings-all`.
    pub(super) tied_output: bool,
    pub(super) omit_bias: bool,
}

impl Options {
    /// Reads and checks the YAML; every problem in it is reported at once, under the name of the `.npz`.
    pub(super) fn parse(path: &Path, yaml: &str) -> Result<Self, ImportError> {
        let object: Map<String, Value> = yaml::from_str(yaml).map_err(|error| ImportError::Damaged {
            path: path.to_owned(),
            reason: format!("the model's options are not YAML ({error})"),
            remedy: "copy the file again".to_owned(),
        })?;
        let mut keys = Keys::of(path, object);
        refuse_other_networks(&mut keys);
        let dim_ffn = keys.count("transformer-dim-ffn", MAX_DIM, None);
        let decoder_dim_ffn = if is_set(&keys, "transformer-decoder-dim-ffn") {
            keys.count("transformer-decoder-dim-ffn", MAX_DIM, None)
        } else {
            dim_ffn
        };
        let tied_all = keys.flag("tied-embeddings-all", false);
        let tied_src = keys.flag("tied-embeddings-src", false);
        let tied = keys.flag("tied-embeddings", false);
        let options = Self {
            dim_emb: keys.count("dim-emb", MAX_DIM, None),
            enc_depth: keys.count("enc-depth", MAX_LAYERS, None),
            dec_depth: keys.count("dec-depth", MAX_LAYERS, None),
            heads: keys.count("transformer-heads", MAX_DIM, None),
            dim_ffn,
            decoder_dim_ffn,
            activation: activation(&mut keys),
            shared_embeddings: tied_all || tied_src,
            tied_output: tied_all || tied,
            omit_bias: keys.flag("output-omit-bias", false),
        };
        if keys.is_clean() && !options.dim_emb.is_multiple_of(options.heads) {
            let wanted = format!("a divisor of dim-emb ({})", options.dim_emb);
            keys.problem("transformer-heads", &options.heads.to_string(), &wanted);
        }
        // The last frequency is the first to the power of 1 / (dim-emb / 2 - 1).
        if keys.is_clean() && (options.dim_emb < 4 || !options.dim_emb.is_multiple_of(2)) {
            keys.problem(
                "dim-emb",
                &options.dim_emb.to_string(),
                "an even number from 4 on, as Marian's positions need",
            );
        }
        keys.finish(options)
    }
}

/// Options that mean a network other than the one this project runs.
fn refuse_other_networks(keys: &mut Keys) {
    let post_norm = "only the post-norm Transformer is supported (transformer-preprocess \"\", transformer-postprocess \
                     \"dan\", transformer-postprocess-top \"\"); retrain with these";
    must_be(
        keys,
        "type",
        None,
        "transformer",
        "only Marian's transformer is supported, not its recurrent or other models",
    );
    must_be(
        keys,
        "transformer-decoder-autoreg",
        Some("self-attention"),
        "self-attention",
        "a decoder with rnn, SSRU or average attention is not supported; retrain with self-attention",
    );
    operations_must_be(keys, "transformer-preprocess", "", "", post_norm);
    operations_must_be(keys, "transformer-postprocess", "dan", "an", post_norm);
    operations_must_be(keys, "transformer-postprocess-top", "", "", post_norm);
    operations_must_be(keys, "transformer-postprocess-emb", "d", "", "a layer norm on embeddings is not supported");
    for (key, why) in [
        ("transformer-train-position-embeddings", "learned positions are not supported; retrain with sinusoids"),
        ("transformer-train-positions", "learned positions are not supported; retrain with sinusoids"),
        ("transformer-no-projection", "attention without an output projection is not supported"),
        ("transformer-pool", "a decoder that reads one vector of the encoder's is not supported"),
        ("right-left", "a model that writes from right to left is not supported"),
        ("ulr", "universal language representations are not supported"),
    ] {
        keys.must_be_flag(key, false, why);
    }
    for (key, why) in [
        ("transformer-tied-layers", "decoder layers that share weights are not supported"),
        ("lemma-dim-emb", "factored vocabularies are not supported"),
    ] {
        if is_set(keys, key) {
            let found = keys.value(key).map(Value::to_string).unwrap_or_default();
            keys.problem(key, &found, why);
        }
    }
    for key in ["transformer-ffn-depth", "transformer-decoder-ffn-depth"] {
        if is_set(keys, key) && keys.count(key, MAX_LAYERS, None) != 2 {
            let found = keys.value(key).map(Value::to_string).unwrap_or_default();
            keys.problem(key, &found, "2: a feed-forward block has two linears");
        }
    }
}

/// Whether the key has a value that turns something on: Marian writes 0, false and empty lists for what is off.
fn is_set(keys: &Keys, key: &str) -> bool {
    match keys.value(key) {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Number(n)) => n.as_f64() != Some(0.0),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

/// A text with one supported value; absent means `default`.
fn must_be(keys: &mut Keys, key: &str, default: Option<&str>, wanted: &str, why: &str) {
    let found = keys.text(key).or(default).map(str::to_owned);
    match found {
        None => keys.absent(key, &format!("{wanted:?}: {why}")),
        Some(found) if found == wanted => {}
        Some(found) => keys.problem(key, &format!("{found:?}"), &format!("{wanted:?}: {why}")),
    }
}

/// A text of one letter an operation; `d`, dropout, does nothing at inference.
fn operations_must_be(keys: &mut Keys, key: &str, default: &str, wanted: &str, why: &str) {
    let found = keys.text(key).unwrap_or(default).to_owned();
    if found.replace('d', "") != wanted {
        keys.problem(key, &format!("{found:?}"), why);
    }
}

fn activation(keys: &mut Keys) -> Nonlinearity {
    match keys.text("transformer-ffn-activation").unwrap_or("swish") {
        "relu" => Nonlinearity::Relu,
        "swish" => Nonlinearity::Swish,
        "gelu" => Nonlinearity::QuickGelu,
        other => {
            let found = format!("{other:?}");
            keys.problem(
                "transformer-ffn-activation",
                &found,
                "\"relu\", \"swish\" or \"gelu\"; retrain with one of these",
            );
            Nonlinearity::Relu
        }
    }
}
