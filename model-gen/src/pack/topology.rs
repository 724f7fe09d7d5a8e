//! Which tensors a blob has, in the order of its table, and the spec that goes with them.

use crate::import::checkpoint::{Attention, LayerNorm, Linear, Matrix};
use crate::import::config::Activation;
use crate::import::tokenizer::SpecialIds;
use crate::import::{Checkpoint, Config};
use crate::quantize::Usage;
use anyhow::{Context, Result, ensure};
use latimer::blob::layout::{Block, DECODER_ROLES, ENCODER_ROLES, Role, SpecHeader};
use latimer::blob::spec::{MAX_D_MODEL, MAX_HEADS, MAX_SUM};
use std::f64::consts::TAU;

/// A tensor of the checkpoint.
#[derive(Clone, Copy, Debug)]
pub enum Source<'c> {
    /// An embedding, or the output matrix with its bias.
    Vocabulary(&'c Matrix, Option<&'c [f32]>),
    /// Phase steps of the sinusoidal positions.
    Positions,
    /// A linear.
    Linear(&'c Linear),
    /// A layer norm.
    Norm(&'c LayerNorm),
}

/// One entry to be.
#[derive(Clone, Copy, Debug)]
pub struct Item<'c> {
    pub role: Role,
    /// Block index, or 65535.
    pub block: u16,
    pub source: Source<'c>,
}

/// The tensors in order, and where the global ones stand.
#[derive(Debug)]
pub struct Tensors<'c> {
    pub items: Vec<Item<'c>>,
    source_embedding: u32,
    target_embedding: u32,
    output: u32,
    positions: u32,
}

/// A spec about to be written.
#[derive(Debug)]
pub struct SpecParts {
    pub header: SpecHeader,
    pub blocks: Vec<Block>,
}

/// The tensor of a role that blocks of both kinds have.
fn in_both<'c>(
    role: Role,
    attention: &'c Attention,
    [attention_norm, final_norm]: [&'c LayerNorm; 2],
    [fc1, fc2]: [&'c Linear; 2],
) -> Source<'c> {
    match role {
        Role::SelfQ => Source::Linear(&attention.q_proj),
        Role::SelfK => Source::Linear(&attention.k_proj),
        Role::SelfV => Source::Linear(&attention.v_proj),
        Role::SelfOut => Source::Linear(&attention.out_proj),
        Role::SelfNorm => Source::Norm(attention_norm),
        Role::Fc1 => Source::Linear(fc1),
        Role::Fc2 => Source::Linear(fc2),
        _ => Source::Norm(final_norm),
    }
}

impl<'c> Tensors<'c> {
    /// The tensors of a checkpoint; those that are tied stand there once.
    pub fn of(checkpoint: &'c Checkpoint) -> Self {
        let mut items = Vec::new();
        let mut add = |role, source| {
            items.push(Item { role, block: u16::MAX, source });
            items.len() as u32 - 1
        };
        let bias = checkpoint.final_logits_bias.as_slice();
        let (tied, shared) = (checkpoint.output_is_tied(), checkpoint.embeddings_are_shared());
        // Logits take their bias from whichever entry is the output matrix.
        let target_bias = tied.then_some(bias);
        let source_bias = if shared { target_bias } else { None };
        let source_embedding = add(Role::Embedding, Source::Vocabulary(&checkpoint.source_embedding, source_bias));
        let target_embedding = if shared {
            source_embedding
        } else {
            add(Role::Embedding, Source::Vocabulary(&checkpoint.target_embedding, target_bias))
        };
        let output =
            if tied { target_embedding } else { add(Role::Output, Source::Vocabulary(&checkpoint.output, Some(bias))) };
        let positions = add(Role::Positions, Source::Positions);
        for (i, layer) in checkpoint.encoder.iter().enumerate() {
            for role in ENCODER_ROLES {
                let norms = [&layer.self_attn_layer_norm, &layer.final_layer_norm];
                let source = in_both(role, &layer.self_attn, norms, [&layer.fc1, &layer.fc2]);
                items.push(Item { role, block: i as u16, source });
            }
        }
        for (i, layer) in checkpoint.decoder.iter().enumerate() {
            for role in DECODER_ROLES {
                let norms = [&layer.self_attn_layer_norm, &layer.final_layer_norm];
                let source = match role {
                    Role::CrossQ => Source::Linear(&layer.encoder_attn.q_proj),
                    Role::CrossK => Source::Linear(&layer.encoder_attn.k_proj),
                    Role::CrossV => Source::Linear(&layer.encoder_attn.v_proj),
                    Role::CrossOut => Source::Linear(&layer.encoder_attn.out_proj),
                    Role::CrossNorm => Source::Norm(&layer.encoder_attn_layer_norm),
                    _ => in_both(role, &layer.self_attn, norms, [&layer.fc1, &layer.fc2]),
                };
                items.push(Item { role, block: (checkpoint.encoder.len() + i) as u16, source });
            }
        }
        Tensors { items, source_embedding, target_embedding, output, positions }
    }

    /// What the matrix at `index` of the table is used for.
    pub fn usage(&self, index: usize) -> Usage {
        let is = |other: u32| index == other as usize;
        Usage { source: is(self.source_embedding), target: is(self.target_embedding), output: is(self.output) }
    }

    /// The spec section's contents.
    pub fn spec(
        &self,
        checkpoint: &Checkpoint,
        ids: &SpecialIds,
        tensors: usize,
        micromath: bool,
    ) -> Result<SpecParts> {
        let config = &checkpoint.config;
        check_limits(config)?;
        let layers = |key: &str, count: usize| {
            u8::try_from(count).with_context(|| format!("config.json: {key} {count} exceeds 255"))
        };
        let start = config.decoder_start_token_id;
        let header = SpecHeader {
            d_model: narrow("d_model", config.d_model)?,
            max_positions: config.max_position_embeddings.min(u16::MAX as usize) as u16,
            encoder_blocks: layers("encoder_layers", config.encoder_layers)?,
            decoder_blocks: layers("decoder_layers", config.decoder_layers)?,
            math: micromath as u8,
            reserved: 0,
            source_vocab: config.vocab_size as u32,
            target_vocab: config.decoder_vocab_size as u32,
            eos_id: ids.eos,
            unk_id: ids.unk,
            pad_id: ids.pad,
            start_id: narrow("decoder_start_token_id", start as usize)?,
            norm_eps_q32: (config.norm_eps * 2f64.powi(32)).round() as u32,
            source_embedding: self.source_embedding,
            target_embedding: self.target_embedding,
            output: self.output,
            positions: self.positions,
            tensor_count: tensors as u32,
        };
        let activation = match config.activation_function {
            Activation::Relu => 0,
            Activation::Silu => 1,
            Activation::Gelu => 2,
        };
        let heads = |key: &str, count: usize| {
            u8::try_from(count).with_context(|| format!("config.json: {key} {count} exceeds 255"))
        };
        let encoder = Block {
            kind: 0,
            heads: heads("encoder_attention_heads", config.encoder_attention_heads)?,
            activation,
            ffn: config.encoder_ffn_dim as u32,
            ..Block::default()
        };
        let decoder = Block {
            kind: 1,
            heads: heads("decoder_attention_heads", config.decoder_attention_heads)?,
            activation,
            ffn: config.decoder_ffn_dim as u32,
            cross_source: header.encoder_blocks.saturating_sub(1),
            ..Block::default()
        };
        let mut blocks = vec![encoder; config.encoder_layers];
        blocks.extend(vec![decoder; config.decoder_layers]);
        Ok(SpecParts { header, blocks })
    }
}

/// What the runtime takes, by the keys the user knows.
fn check_limits(config: &Config) -> Result<()> {
    let most = |key: &str, found: usize, most: usize| {
        ensure!(found <= most, "config.json: {key} {found} exceeds {most}, the most the runtime takes");
        Ok(())
    };
    most("d_model", config.d_model, MAX_D_MODEL.into())?;
    for (side, heads, ffn) in [
        ("encoder", config.encoder_attention_heads, config.encoder_ffn_dim),
        ("decoder", config.decoder_attention_heads, config.decoder_ffn_dim),
    ] {
        most(&format!("{side}_attention_heads"), heads, MAX_HEADS.into())?;
        most(&format!("d_model / {side}_attention_heads"), config.d_model / heads.max(1), MAX_SUM.into())?;
        most(&format!("{side}_ffn_dim"), ffn, u16::MAX.into())?;
    }
    Ok(())
}

fn narrow(key: &str, value: usize) -> Result<u16> {
    u16::try_from(value).with_context(|| format!("config.json: {key} {value} exceeds 65535"))
}

/// What an embedding row is multiplied by.
pub fn embedding_scale(config: &Config) -> f64 {
    if config.scale_embedding { (config.d_model as f64).sqrt() } else { 1.0 }
}

/// Phase of one position for each frequency, in 2^32 parts of a turn.
pub fn phase_steps(config: &Config) -> Vec<u32> {
    let steps = config.frequencies.radians(config.d_model);
    steps.map(|radians| (radians / TAU * 2f64.powi(32)).round() as u32).collect()
}
