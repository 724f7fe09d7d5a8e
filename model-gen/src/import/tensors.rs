//! Weights into a [`Checkpoint`]: every key is asked for once, every mismatch is collected, then all are reported
//! together.

use std::path::Path;

use super::checkpoint::{Attention, Checkpoint, DecoderLayer, EncoderLayer, LayerNorm, Linear, Matrix};
use super::config::Config;
use super::error::ImportError;

mod embeddings;
mod files;
mod index;
mod pickle;
mod reader;
mod stored;
mod torch;

pub(super) use reader::Reader;
pub(super) use stored::{Element, Stored};

/// Reads the weights of the checkpoint in `dir` and checks them against `config`: `model.safetensors`, else
/// `pytorch_model.bin`, each whole or in shards.
pub fn read(dir: &Path, config: Config) -> Result<Checkpoint, ImportError> {
    let files = files::Files::read(dir)?;
    let mut reader = Reader::new(files.tensors()?);
    let checkpoint = assemble(&mut reader, config);
    ImportError::collect(files.path(), "tensors that do not fit config.json:", reader.finish()).map(|()| checkpoint)
}

/// Values of a tensor that is missing or misshapen are left empty; the caller must look at the reader's problems.
fn assemble(reader: &mut Reader, config: Config) -> Checkpoint {
    let encoder = (0..config.encoder_layers).map(|layer| encoder_layer(reader, &config, layer)).collect();
    let decoder = (0..config.decoder_layers).map(|layer| decoder_layer(reader, &config, layer)).collect();
    let embeddings = embeddings::read(reader, &config);
    for side in ["encoder", "decoder"] {
        reader.check_positions(&format!("model.{side}.embed_positions.weight"), &config);
    }
    Checkpoint {
        encoder,
        decoder,
        source_embedding: embeddings.source,
        target_embedding: embeddings.target,
        output: embeddings.output,
        final_logits_bias: reader
            .optional("final_logits_bias", &[1, config.decoder_vocab_size])
            .unwrap_or_else(|| vec![0.0; config.decoder_vocab_size]),
        config,
    }
}

fn encoder_layer(reader: &mut Reader, config: &Config, layer: usize) -> EncoderLayer {
    let (d, ffn) = (config.d_model, config.encoder_ffn_dim);
    let key = |part: &str| format!("model.encoder.layers.{layer}.{part}");
    EncoderLayer {
        self_attn: attention(reader, &key("self_attn"), d),
        self_attn_layer_norm: layer_norm(reader, &key("self_attn_layer_norm"), d),
        fc1: linear(reader, &key("fc1"), ffn, d),
        fc2: linear(reader, &key("fc2"), d, ffn),
        final_layer_norm: layer_norm(reader, &key("final_layer_norm"), d),
    }
}

fn decoder_layer(reader: &mut Reader, config: &Config, layer: usize) -> DecoderLayer {
    let (d, ffn) = (config.d_model, config.decoder_ffn_dim);
    let key = |part: &str| format!("model.decoder.layers.{layer}.{part}");
    DecoderLayer {
        self_attn: attention(reader, &key("self_attn"), d),
        self_attn_layer_norm: layer_norm(reader, &key("self_attn_layer_norm"), d),
        encoder_attn: attention(reader, &key("encoder_attn"), d),
        encoder_attn_layer_norm: layer_norm(reader, &key("encoder_attn_layer_norm"), d),
        fc1: linear(reader, &key("fc1"), ffn, d),
        fc2: linear(reader, &key("fc2"), d, ffn),
        final_layer_norm: layer_norm(reader, &key("final_layer_norm"), d),
    }
}

fn attention(reader: &mut Reader, key: &str, d_model: usize) -> Attention {
    let mut proj = |name| linear(reader, &format!("{key}.{name}"), d_model, d_model);
    Attention { q_proj: proj("q_proj"), k_proj: proj("k_proj"), v_proj: proj("v_proj"), out_proj: proj("out_proj") }
}

fn linear(reader: &mut Reader, key: &str, outputs: usize, inputs: usize) -> Linear {
    Linear {
        weight: matrix(reader, &format!("{key}.weight"), outputs, inputs),
        bias: reader.required(&format!("{key}.bias"), &[outputs]),
    }
}

fn layer_norm(reader: &mut Reader, key: &str, d_model: usize) -> LayerNorm {
    LayerNorm {
        weight: reader.required(&format!("{key}.weight"), &[d_model]),
        bias: reader.required(&format!("{key}.bias"), &[d_model]),
    }
}

fn matrix(reader: &mut Reader, key: &str, rows: usize, cols: usize) -> Matrix {
    Matrix { rows, cols, data: reader.required(key, &[rows, cols]) }
}

#[cfg(test)]
mod tests;
