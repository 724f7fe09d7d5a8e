//! Marian's own model files: one `.npz` with the weights and the options they were trained with, and the vocabularies
//! beside it.
//!
//! Names and shapes after marian-dev's `models/transformer.h`, `layers/output.cpp` and `models/encoder_decoder.cpp`.
//! Where Marian and transformers differ, the [`Checkpoint`] says so in numbers (positions, epsilon); what Marian does
//! without, a start token, becomes a row of zeros, as it does in transformers' converted models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::error::{ImportError, read_file};
use super::positions::Frequencies;
use super::vocab::{Vocab, Vocabularies};

mod npz;
mod options;
mod vocab;
mod weights;
mod yaml;

use npz::Npz;
use options::Options;
use vocab::VocabFiles;

/// Marian's own layer-norm epsilon.
const NORM_EPS: f64 = 1e-6;

/// Sinusoids have no end, and the file names none: transformers' default.
const MAX_POSITIONS: usize = 1024;

/// An opened model: its options have been checked, its vocabulary files found.
#[derive(Clone, Debug)]
pub(super) struct Marian {
    npz: PathBuf,
    options: Options,
    files: VocabFiles,
}

impl Marian {
    /// Reads the options and looks for the vocabularies; the weights are read by [`Marian::tensors`].
    pub(super) fn open(npz: &Path) -> Result<Self, ImportError> {
        let bytes = read_file(npz, "check the path given for the checkpoint")?;
        let options = Options::parse(npz, &Npz::read(npz, &bytes)?.options(npz)?)?;
        Ok(Self { npz: npz.to_owned(), options, files: VocabFiles::find(npz)? })
    }

    /// What `config.json` would say.
    pub(super) fn config(&self) -> Result<Config, ImportError> {
        let (source, target) = self.vocabs()?;
        let options = &self.options;
        let end = |vocab: &Vocab| {
            vocab.id("</s>").ok_or_else(|| ImportError::Problems {
                path: self.npz.with_file_name(vocab.name()),
                summary: "not a vocabulary of Marian's:",
                problems: vec!["</s>: found no such piece, wanted the end of a sentence".to_owned()],
            })
        };
        if end(&source)? != end(&target)? {
            let problem = format!(
                "</s>: found id {} here and {} in {}, wanted one id",
                end(&source)?,
                end(&target)?,
                target.name()
            );
            let path = self.npz.with_file_name(source.name());
            return Err(ImportError::Problems { path, summary: "does not fit the target's:", problems: vec![problem] });
        }
        let pad = target.pieces().len() - 1;
        Ok(Config {
            d_model: options.dim_emb,
            encoder_layers: options.enc_depth,
            decoder_layers: options.dec_depth,
            encoder_attention_heads: options.heads,
            decoder_attention_heads: options.heads,
            encoder_ffn_dim: options.dim_ffn,
            decoder_ffn_dim: options.decoder_dim_ffn,
            activation_function: options.activation.function(),
            vocab_size: source.pieces().len(),
            decoder_vocab_size: target.pieces().len(),
            eos_token_id: end(&target)?,
            pad_token_id: pad as u32,
            decoder_start_token_id: pad as u32,
            scale_embedding: true,
            max_position_embeddings: MAX_POSITIONS,
            frequencies: Frequencies::Marian,
            norm_eps: NORM_EPS,
            tie_word_embeddings: options.tied_output,
            share_encoder_decoder_embeddings: options.shared_embeddings,
        })
    }

    /// The weights, checked against the config.
    pub(super) fn tensors(&self, config: Config) -> Result<Checkpoint, ImportError> {
        let bytes = read_file(&self.npz, "check the path given for the checkpoint")?;
        weights::read(&self.npz, Npz::read(&self.npz, &bytes)?, &self.options, config)
    }

    /// The vocabularies, each with the start token's piece where its matrix has the row of zeros.
    pub(super) fn vocabularies(&self) -> Result<Vocabularies, ImportError> {
        let (source, target) = self.vocabs()?;
        Ok(Vocabularies { source, target, source_lang: None, target_lang: None })
    }

    fn vocabs(&self) -> Result<(Arc<Vocab>, Arc<Vocab>), ImportError> {
        self.files.read(self.options.shared_embeddings)
    }

    /// The SentencePiece models of both sides.
    pub(super) fn spm(&self) -> [&Path; 2] {
        self.files.spm()
    }
}

#[cfg(test)]
mod tests;
