//! Random weights that keep activations sane: the variance is near 1 after every norm and not far from it before.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{RandomSpec, SplitMix64};

/// Linears shrink the deviation a little: what a layer adds must not drown the token that was read, or every step after
/// the first gives the same id.
const GAIN: f32 = 0.7;

/// Lifts `</s>`, so that for most seeds some phrases end before the limit and some do not.
const EOS_BIAS: f32 = 2.0;

/// Tensors by key: shape and little-endian f32 bytes.
struct Tensors<'r> {
    random: &'r mut SplitMix64,
    by_key: BTreeMap<String, (Vec<usize>, Vec<u8>)>,
}

pub(super) fn write(path: &Path, spec: &RandomSpec, random: &mut SplitMix64) -> io::Result<()> {
    let d = spec.d_model;
    let mut tensors = Tensors { random, by_key: BTreeMap::new() };
    for layer in 0..spec.encoder_layers {
        let key = format!("model.encoder.layers.{layer}");
        tensors.layer(&key, &["self_attn"], spec);
    }
    for layer in 0..spec.decoder_layers {
        let key = format!("model.decoder.layers.{layer}");
        tensors.layer(&key, &["self_attn", "encoder_attn"], spec);
    }
    // Scaled by sqrt(d_model) on the way in, used as is on the way out: both ends see values around 2.
    let embedding = 2.0 / (d as f32).sqrt();
    let target = spec.target_pieces();
    match spec.target_vocab {
        None => tensors.fill("model.shared.weight", &[target, d], 0.0, embedding),
        Some(_) => {
            tensors.fill("model.encoder.embed_tokens.weight", &[spec.vocab, d], 0.0, embedding);
            tensors.fill("model.decoder.embed_tokens.weight", &[target, d], 0.0, embedding);
        }
    }
    if !spec.tied_output {
        tensors.fill("lm_head.weight", &[target, d], 0.0, embedding);
    }
    if let Some(last) = spec.decoder_layers.checked_sub(1) {
        tensors.flip_signs(&format!("model.decoder.layers.{last}.final_layer_norm.weight"));
    }
    tensors.fill("final_logits_bias", &[1, target], 0.0, 0.3);
    tensors.set("final_logits_bias", spec.special_ids().0, EOS_BIAS);
    tensors.save(path)
}

impl Tensors<'_> {
    fn layer(&mut self, key: &str, attentions: &[&str], spec: &RandomSpec) {
        let (d, ffn) = (spec.d_model, spec.ffn);
        for name in attentions {
            for proj in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                self.linear(&format!("{key}.{name}.{proj}"), d, d);
            }
            self.layer_norm(&format!("{key}.{name}_layer_norm"), d);
        }
        self.linear(&format!("{key}.fc1"), ffn, d);
        self.linear(&format!("{key}.fc2"), d, ffn);
        self.layer_norm(&format!("{key}.final_layer_norm"), d);
    }

    fn linear(&mut self, key: &str, outputs: usize, inputs: usize) {
        self.fill(&format!("{key}.weight"), &[outputs, inputs], 0.0, GAIN / (inputs as f32).sqrt());
        self.fill(&format!("{key}.bias"), &[outputs], 0.0, 0.1);
    }

    fn layer_norm(&mut self, key: &str, d: usize) {
        self.fill(&format!("{key}.weight"), &[d], 1.0, 0.2);
        self.fill(&format!("{key}.bias"), &[d], 0.0, 0.1);
    }

    /// Turns about half of a vector's signs. The residual stream carries the embedding of the token read, and the tied
    /// output matrix would give back that very token forever; with half of the signs turned the likeness is gone.
    fn flip_signs(&mut self, key: &str) {
        let Some((_, bytes)) = self.by_key.get_mut(key) else { return };
        for [.., sign_byte] in bytes.as_chunks_mut::<4>().0 {
            *sign_byte ^= (self.random.below(2) as u8) << 7;
        }
    }

    fn set(&mut self, key: &str, index: usize, value: f32) {
        let element = self.by_key.get_mut(key).and_then(|(_, bytes)| bytes.as_chunks_mut().0.get_mut(index));
        if let Some(element) = element {
            *element = value.to_le_bytes();
        }
    }

    fn fill(&mut self, key: &str, shape: &[usize], mean: f32, deviation: f32) {
        let values = (0..shape.iter().product()).flat_map(|_| self.random.uniform(mean, deviation).to_le_bytes());
        let bytes = values.collect();
        self.by_key.insert(key.to_owned(), (shape.to_vec(), bytes));
    }

    fn save(&self, path: &Path) -> io::Result<()> {
        let views: Result<Vec<_>, _> = self
            .by_key
            .iter()
            .map(|(key, (shape, bytes))| Ok((key, TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
            .collect();
        let bytes = views.and_then(|views| safetensors::serialize(views, None)).map_err(io::Error::other)?;
        std::fs::write(path, bytes)
    }
}
