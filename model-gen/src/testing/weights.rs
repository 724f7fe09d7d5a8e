//! Random weights that keep activations sane: the variance is near 1 after every norm and not far from it before.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{RandomSpec, SplitMix64};

/// Linears double the deviation: what a layer adds then outweighs the residual stream, and the tied output matrix does
/// not just give back the token that was read.
const GAIN: f32 = 2.0;

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
    // Scaled by sqrt(d_model) on the way in, used as is on the way out: both ends see values around 1.
    tensors.fill("model.shared.weight".to_owned(), &[spec.vocab, d], 0.0, (d as f32).sqrt().recip());
    tensors.fill("final_logits_bias".to_owned(), &[1, spec.vocab], 0.0, 0.3);
    tensors.save(path)
}

impl Tensors<'_> {
    fn layer(&mut self, key: &str, attentions: &[&str], spec: &RandomSpec) {
        let (d, ffn) = (spec.d_model, spec.ffn);
        for name in attentions {
            for proj in ["q_proj", "k_proj", "v_proj", "out_proj"] {
                self.linear(&format!("{key}.{name}.{proj}"), d, d, GAIN);
            }
            self.layer_norm(&format!("{key}.{name}_layer_norm"), d);
        }
        self.linear(&format!("{key}.fc1"), ffn, d, GAIN);
        self.linear(&format!("{key}.fc2"), d, ffn, GAIN);
        self.layer_norm(&format!("{key}.final_layer_norm"), d);
    }

    fn linear(&mut self, key: &str, outputs: usize, inputs: usize, gain: f32) {
        self.fill(format!("{key}.weight"), &[outputs, inputs], 0.0, gain / (inputs as f32).sqrt());
        self.fill(format!("{key}.bias"), &[outputs], 0.0, 0.1);
    }

    fn layer_norm(&mut self, key: &str, d: usize) {
        self.fill(format!("{key}.weight"), &[d], 1.0, 0.2);
        self.fill(format!("{key}.bias"), &[d], 0.0, 0.1);
    }

    fn fill(&mut self, key: String, shape: &[usize], mean: f32, deviation: f32) {
        let values = (0..shape.iter().product()).flat_map(|_| self.random.uniform(mean, deviation).to_le_bytes());
        let bytes = values.collect();
        self.by_key.insert(key, (shape.to_vec(), bytes));
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
