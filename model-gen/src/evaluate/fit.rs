//! Whether a blob was packed from a checkpoint of this shape: otherwise there is nothing to compare.

use crate::import::config::Activation;
use crate::import::vocab::Vocab;
use crate::import::{Config, Vocabularies};
use anyhow::{Result, bail};
use latimer::Model;
use latimer::blob::spec;
use std::fmt::Debug;

/// Fails with all differences of dimensions, or with the first differing piece of a vocabulary.
pub(super) fn check(model: &Model<'_>, config: &Config, vocabularies: &Vocabularies) -> Result<()> {
    let mut differences = Vec::new();
    compare_dimensions(model, config, &mut differences);
    // Ids of another range would only repeat what the sizes say.
    if differences.is_empty() {
        let tokenizer = model.blob().tokenizer();
        differences.extend(differing_piece(&vocabularies.source, |id| tokenizer.source().piece(id)));
        differences.extend(differing_piece(&vocabularies.target, |id| tokenizer.target().piece(id)));
    }
    if differences.is_empty() {
        return Ok(());
    }
    let list = differences.join("; ");
    bail!("blob and checkpoint do not fit: {list}: give the checkpoint that the blob was packed from")
}

fn compare_dimensions(model: &Model<'_>, config: &Config, differences: &mut Vec<String>) {
    let spec = model.blob().spec();
    let header = spec.header();
    let mut compare = |what: &str, blob: usize, checkpoint: usize| note(differences, what, &blob, &checkpoint);
    compare("d_model", header.d_model.into(), config.d_model);
    compare("vocab_size", header.source_vocab as usize, config.vocab_size);
    compare("decoder_vocab_size", header.target_vocab as usize, config.decoder_vocab_size);
    compare("encoder_layers", spec.encoder_blocks(), config.encoder_layers);
    compare("decoder_layers", spec.decoder_blocks(), config.decoder_layers);
    compare("eos_token_id", header.eos_id.into(), config.eos_token_id as usize);
    compare("pad_token_id", header.pad_id.into(), config.pad_token_id as usize);
    compare("decoder_start_token_id", header.start_id.into(), config.decoder_start_token_id as usize);
    let sides = [
        ("encoder", spec.encoder_block(0), config.encoder_attention_heads, config.encoder_ffn_dim),
        ("decoder", spec.decoder_block(0), config.decoder_attention_heads, config.decoder_ffn_dim),
    ];
    let activation = match config.activation_function {
        Activation::Relu => spec::Activation::Relu,
        Activation::Silu => spec::Activation::Swish,
        Activation::Gelu => spec::Activation::Gelu,
    };
    // The blocks of a side are alike in a checkpoint, and so in a blob packed from one.
    for (side, block, heads, ffn) in sides {
        let Some(block) = block else { continue };
        note(differences, &format!("{side}_attention_heads"), &usize::from(block.heads), &heads);
        note(differences, &format!("{side}_ffn_dim"), &(block.ffn as usize), &ffn);
        note(differences, "activation_function", &block.activation(), &activation);
    }
}

fn note<T: PartialEq + Debug>(differences: &mut Vec<String>, what: &str, blob: &T, checkpoint: &T) {
    if blob != checkpoint {
        differences.push(format!("{what} is {blob:?} in the blob and {checkpoint:?} in the checkpoint"));
    }
}

fn differing_piece<'b>(vocab: &Vocab, piece: impl Fn(u16) -> Option<&'b str>) -> Option<String> {
    let (id, wanted) = (0u16..).zip(vocab.pieces()).find(|(id, wanted)| piece(*id) != Some(wanted.as_str()))?;
    let found = piece(id).unwrap_or("nothing");
    Some(format!("id {id} is {found:?} in the blob and {wanted:?} in {}", vocab.name()))
}
