//! The model on one sentence, forwards and backwards: how far its next-token distributions are from the float model's,
//! and which way each parameter leads nearer.

use super::algebra::{Heads, Normed, Rows, add, add_norm, add_norm_back, linear, linear_back};
use super::layout::{AttentionAt, LayerAt, Layout, LinearAt, MatrixAt, NormAt};
use crate::import::Config;
use crate::import::config::Activation;
use crate::quantize::Sentence;
use crate::reference::softmax;

/// A model's shape; parameters are given with each call.
pub struct Network<'a> {
    pub config: &'a Config,
    pub layout: &'a Layout,
}

/// Receives what the derivatives of the parameters are made of, layer by layer.
pub trait Sink {
    /// A linear's inputs and the derivatives of its outputs, one row a token.
    fn linear(&mut self, at: LinearAt, x: &[f32], dy: &[f32]);
    /// A norm's values and the derivatives of its outputs.
    fn norm(&mut self, at: NormAt, normed: &Normed, dy: &[f32]);
    /// Ids read on the source side, or the target side, and the derivatives of their rows.
    fn embedding(&mut self, at: MatrixAt, of_source: bool, ids: &[u32], drows: &[f32]);
}

/// What an attention's derivative needs.
struct Attended {
    x: Rows,
    memory: Option<Rows>,
    q: Rows,
    k: Rows,
    v: Rows,
    weights: Vec<Vec<f32>>,
    context: Rows,
    normed: Normed,
}

/// What a layer's derivative needs.
struct Layered {
    own: Attended,
    cross: Option<Attended>,
    x: Rows,
    inner: Rows,
    active: Rows,
    normed: Normed,
}

/// A sentence read forwards.
pub struct Pass {
    source: Vec<u32>,
    target: Vec<u32>,
    encoder: Vec<Layered>,
    decoder: Vec<Layered>,
    last: Rows,
    /// `target tokens x vocabulary`.
    pub logits: Rows,
}

impl Network<'_> {
    /// Reads a sentence, its target teacher-forced.
    pub fn forward(&self, p: &[f32], sentence: &Sentence) -> Pass {
        let config = self.config;
        let mut x = self.embed(p, self.layout.source_embedding, &sentence.source);
        let mut encoder = Vec::new();
        for layer in &self.layout.encoder {
            let (out, kept) = self.layer(p, layer, config.encoder_attention_heads, x, None);
            encoder.push(kept);
            x = out;
        }
        let memory = x;
        let before = sentence.target.iter().take(sentence.target.len().saturating_sub(1));
        let target: Vec<u32> = [config.decoder_start_token_id].iter().chain(before).copied().collect();
        let mut x = self.embed(p, self.layout.target_embedding, &target);
        let mut decoder = Vec::new();
        for layer in &self.layout.decoder {
            let (out, kept) = self.layer(p, layer, config.decoder_attention_heads, x, Some(&memory));
            decoder.push(kept);
            x = out;
        }
        let logits = linear(p, self.layout.output, &x);
        Pass { source: sentence.source.clone(), target, encoder, decoder, last: x, logits }
    }

    /// The derivatives' way back from those of the logits.
    pub fn backward<S: Sink>(&self, p: &[f32], g: &mut S, pass: &Pass, dlogits: &[f32]) {
        let config = self.config;
        g.linear(self.layout.output, &pass.last, dlogits);
        let mut dx = linear_back(p, self.layout.output, dlogits);
        let mut dmemory = vec![0.0; pass.source.len() * config.d_model];
        for (layer, kept) in self.layout.decoder.iter().zip(&pass.decoder).rev() {
            dx = self.layer_back(p, g, layer, config.decoder_attention_heads, kept, dx, &mut dmemory);
        }
        self.scale_rows(&mut dx);
        g.embedding(self.layout.target_embedding, false, &pass.target, &dx);
        let mut dx = dmemory;
        for (layer, kept) in self.layout.encoder.iter().zip(&pass.encoder).rev() {
            dx = self.layer_back(p, g, layer, config.encoder_attention_heads, kept, dx, &mut []);
        }
        self.scale_rows(&mut dx);
        g.embedding(self.layout.source_embedding, true, &pass.source, &dx);
    }

    fn embedding_scale(&self) -> f32 {
        if self.config.scale_embedding { (self.config.d_model as f32).sqrt() } else { 1.0 }
    }

    fn embed(&self, p: &[f32], at: MatrixAt, ids: &[u32]) -> Rows {
        let scale = self.embedding_scale();
        let row = |(position, id): (usize, &u32)| {
            let row = &p[at.at + *id as usize * at.cols..][..at.cols];
            let positions = self.config.frequencies.sinusoid(position, at.cols);
            row.iter().zip(positions).map(|(x, s)| x * scale + s).collect::<Vec<_>>()
        };
        ids.iter().enumerate().flat_map(row).collect()
    }

    fn scale_rows(&self, dx: &mut [f32]) {
        let scale = self.embedding_scale();
        dx.iter_mut().for_each(|dx| *dx *= scale);
    }

    fn layer(&self, p: &[f32], at: &LayerAt, heads: usize, x: Rows, memory: Option<&Rows>) -> (Rows, Layered) {
        let (x, own) = self.attention(p, &at.attention, at.attention_norm, heads, x, None, memory.is_some());
        let (x, cross) = match (at.cross, memory) {
            (Some((attention, norm)), Some(memory)) => {
                let (x, cross) = self.attention(p, &attention, norm, heads, x, Some(memory), false);
                (x, Some(cross))
            }
            _ => (x, None),
        };
        let inner = linear(p, at.fc1, &x);
        let active: Rows = inner.iter().map(|x| activate(self.config.activation_function, *x).0).collect();
        let out = linear(p, at.fc2, &active);
        let (out, normed) = add_norm(p, at.final_norm, self.config.norm_eps as f32, &x, &out);
        (out, Layered { own, cross, x, inner, active, normed })
    }

    #[expect(clippy::too_many_arguments, reason = "the derivative's inputs and its two results")]
    fn layer_back<S: Sink>(
        &self,
        p: &[f32],
        g: &mut S,
        at: &LayerAt,
        heads: usize,
        kept: &Layered,
        dy: Rows,
        dmemory: &mut [f32],
    ) -> Rows {
        g.norm(at.final_norm, &kept.normed, &dy);
        let mut dx = add_norm_back(p, at.final_norm, &kept.normed, &dy);
        g.linear(at.fc2, &kept.active, &dx);
        let mut dinner = linear_back(p, at.fc2, &dx);
        let slope = |x: f32| activate(self.config.activation_function, x).1;
        dinner.iter_mut().zip(&kept.inner).for_each(|(d, x)| *d *= slope(*x));
        g.linear(at.fc1, &kept.x, &dinner);
        add(&mut dx, &linear_back(p, at.fc1, &dinner));
        if let (Some((attention, norm)), Some(cross)) = (at.cross, &kept.cross) {
            dx = self.attention_back(p, g, &attention, norm, heads, cross, dx, false, dmemory);
        }
        self.attention_back(p, g, &at.attention, at.attention_norm, heads, &kept.own, dx, at.cross.is_some(), &mut [])
    }

    #[expect(clippy::too_many_arguments, reason = "both kinds of attention in one")]
    fn attention(
        &self,
        p: &[f32],
        [q, k, v, out]: &AttentionAt,
        norm: NormAt,
        heads: usize,
        x: Rows,
        memory: Option<&Rows>,
        causal: bool,
    ) -> (Rows, Attended) {
        let seen = memory.unwrap_or(&x);
        let [q, k, v]: [Rows; 3] = [linear(p, *q, &x), linear(p, *k, seen), linear(p, *v, seen)];
        let heads = Heads { width: self.config.d_model, count: heads, causal };
        let (context, weights) = heads.attend(&q, &k, &v);
        let (y, normed) = add_norm(p, norm, self.config.norm_eps as f32, &x, &linear(p, *out, &context));
        (y, Attended { x, memory: memory.cloned(), q, k, v, weights, context, normed })
    }

    #[expect(clippy::too_many_arguments, reason = "the derivative's inputs and its two results")]
    fn attention_back<S: Sink>(
        &self,
        p: &[f32],
        g: &mut S,
        [q, k, v, out]: &[LinearAt; 4],
        norm: NormAt,
        heads: usize,
        kept: &Attended,
        dy: Rows,
        causal: bool,
        dmemory: &mut [f32],
    ) -> Rows {
        g.norm(norm, &kept.normed, &dy);
        let mut dx = add_norm_back(p, norm, &kept.normed, &dy);
        g.linear(*out, &kept.context, &dx);
        let dcontext = linear_back(p, *out, &dx);
        let heads = Heads { width: self.config.d_model, count: heads, causal };
        let [dq, dk, dv] = heads.back(&kept.q, &kept.k, &kept.v, &kept.weights, &dcontext);
        g.linear(*q, &kept.x, &dq);
        add(&mut dx, &linear_back(p, *q, &dq));
        let seen = kept.memory.as_ref().unwrap_or(&kept.x);
        for (at, d) in [(k, dk), (v, dv)] {
            g.linear(*at, seen, &d);
            let dseen = linear_back(p, *at, &d);
            add(if kept.memory.is_some() { &mut *dmemory } else { &mut dx }, &dseen);
        }
        dx
    }
}

/// An activation and its derivative.
fn activate(activation: Activation, x: f32) -> (f32, f32) {
    match activation {
        Activation::Relu => (x.max(0.0), if x > 0.0 { 1.0 } else { 0.0 }),
        Activation::Silu => {
            let sigmoid = 1.0 / (1.0 + (-x).exp());
            (x * sigmoid, sigmoid * (1.0 + x * (1.0 - sigmoid)))
        }
        Activation::Gelu => {
            // The normal distribution and its density.
            let phi = 0.5 * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2));
            let density = (-0.5 * x * x).exp() / std::f32::consts::TAU.sqrt();
            (x * phi, phi + x * density)
        }
    }
}

/// Divergence of the distributions of `found` from those of `wanted` (logits, one row a token), summed over tokens, in
/// nats; `found` becomes its derivative.
pub fn divergence(wanted: &[f32], found: &mut [f32], vocabulary: usize) -> f64 {
    let mut total = 0.0;
    for (wanted, found) in wanted.chunks_exact(vocabulary).zip(found.chunks_exact_mut(vocabulary)) {
        let mut p = wanted.to_vec();
        softmax(&mut p);
        softmax(found);
        for (found, p) in found.iter_mut().zip(&p) {
            if *p > 0.0 {
                total += f64::from(*p) * f64::from(p / found.max(f32::MIN_POSITIVE)).ln();
            }
            *found -= p;
        }
    }
    total
}
