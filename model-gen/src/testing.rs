//! For tests: small checkpoints with random weights, made on the spot.
//!
//! A trained checkpoint has friendly sizes; these have whatever sizes are asked for, so that tests reach the remainders
//! of every loop. They are as deterministic as their seed.

use std::io;
use std::path::Path;

mod charsmap;
mod containers;
mod marian;
pub mod pickle;
mod pieces;
mod random;
mod spm;
mod weights;

pub use charsmap::charsmap_of;
pub use containers::{Container, rewrite_weights};
pub use marian::write_marian;
pub use random::SplitMix64;

/// Sizes of a random checkpoint.
#[derive(Clone, Debug)]
pub struct RandomSpec {
    /// Width of the residual stream.
    pub d_model: usize,
    /// Attention heads of every layer; must divide `d_model`.
    pub heads: usize,
    /// Inner width of every feed-forward block.
    pub ffn: usize,
    /// Pieces of the vocabulary, `</s>`, `<unk>` and `<pad>` among them; at least 8.
    pub vocab: usize,
    /// Number of encoder layers.
    pub encoder_layers: usize,
    /// Number of decoder layers.
    pub decoder_layers: usize,
    /// `activation_function` of the config.
    pub activation: &'static str,
    /// Pieces of a target vocabulary of its own, numbered otherwise than the source's; at least 8.
    pub target_vocab: Option<usize>,
    /// The output matrix is the target embedding.
    pub tied_output: bool,
    /// `source.spm` has a character map and a user-defined piece, where the vocabulary has one of several letters.
    pub rich_tokenizer: bool,
    /// `source.spm` and `target.spm` are BPE models with byte fallback and unused pieces; the vocabularies hold the 256
    /// byte pieces and need room for them.
    pub bpe: bool,
    /// Languages with a code in the source vocabulary, and room for it.
    pub languages: &'static [&'static str],
    /// The special pieces stand elsewhere: `<pad>` 2, `</s>` 3, `<unk>` 4, and the decoder starts with the last id.
    pub moved_ids: bool,
    /// Other seeds give other weights, pieces and scores.
    pub seed: u64,
}

impl Default for RandomSpec {
    /// Sizes that divide nothing: no row, head or vocabulary is a multiple of a vector register. With this seed some
    /// phrases end and some run into the limit.
    fn default() -> Self {
        Self {
            d_model: 36,
            heads: 3,
            ffn: 50,
            vocab: 77,
            encoder_layers: 2,
            decoder_layers: 3,
            activation: "swish",
            target_vocab: None,
            tied_output: true,
            rich_tokenizer: false,
            bpe: false,
            languages: &[],
            moved_ids: false,
            seed: 2,
        }
    }
}

impl RandomSpec {
    /// Rows of the target embedding and of the output matrix.
    fn target_pieces(&self) -> usize {
        self.target_vocab.unwrap_or(self.vocab)
    }

    /// Ids of `</s>`, of `<pad>` and of the decoder's first input.
    fn special_ids(&self) -> (usize, usize, usize) {
        let last = self.target_pieces() - 1;
        if self.moved_ids { (3, 2, last) } else { (0, last, last) }
    }
}

/// Writes `config.json`, `model.safetensors` (F32), `source.spm`, `target.spm`, `vocab.json`, `target_vocab.json` where
/// the target has a vocabulary of its own, and `tokenizer_config.json` into `dir`, which must exist.
pub fn write_random_checkpoint(dir: &Path, spec: &RandomSpec) -> io::Result<()> {
    let mut random = SplitMix64::new(spec.seed);
    let pieces = pieces::source(spec, &mut random);
    write_json(&dir.join("config.json"), &config(spec))?;
    write_vocabulary(&dir.join("vocab.json"), &pieces)?;
    let separate = spec.target_vocab.is_some();
    let languages = serde_json::json!({"source_lang": "eng", "target_lang": "spa", "separate_vocabs": separate});
    write_json(&dir.join("tokenizer_config.json"), &languages)?;
    let source = spm::model(&pieces, spec.rich_tokenizer, spec.bpe, &mut random);
    let target = match spec.target_vocab {
        None => source.clone(),
        Some(size) => {
            let pieces = pieces::target(spec, size, &mut random);
            write_vocabulary(&dir.join("target_vocab.json"), &pieces)?;
            spm::model(&pieces, false, spec.bpe, &mut random)
        }
    };
    std::fs::write(dir.join("source.spm"), source)?;
    std::fs::write(dir.join("target.spm"), target)?;
    weights::write(&dir.join("model.safetensors"), spec, &mut random)
}

fn write_vocabulary(path: &Path, pieces: &[String]) -> io::Result<()> {
    let ids: serde_json::Map<_, _> = pieces.iter().enumerate().map(|(id, piece)| (piece.clone(), id.into())).collect();
    write_json(path, &ids.into())
}

fn write_json(path: &Path, value: &serde_json::Value) -> io::Result<()> {
    std::fs::write(path, serde_json::to_string_pretty(value)?)
}

fn config(spec: &RandomSpec) -> serde_json::Value {
    let (eos, pad, start) = spec.special_ids();
    serde_json::json!({
        "model_type": "marian",
        "activation_function": spec.activation,
        "d_model": spec.d_model,
        "encoder_layers": spec.encoder_layers,
        "decoder_layers": spec.decoder_layers,
        "encoder_attention_heads": spec.heads,
        "decoder_attention_heads": spec.heads,
        "encoder_ffn_dim": spec.ffn,
        "decoder_ffn_dim": spec.ffn,
        "vocab_size": spec.vocab,
        "decoder_vocab_size": spec.target_pieces(),
        "bos_token_id": 0,
        "eos_token_id": eos,
        "pad_token_id": pad,
        "decoder_start_token_id": start,
        "scale_embedding": true,
        "static_position_embeddings": true,
        "max_position_embeddings": 64,
        "tie_word_embeddings": spec.tied_output,
        "share_encoder_decoder_embeddings": spec.target_vocab.is_none(),
    })
}

#[cfg(test)]
mod tests;
