//! A model's parameters in one run of numbers: a gradient, a sum of gradients and an optimizer's state are each another
//! run of the same length.

use crate::import::Checkpoint;
use crate::import::checkpoint::{Attention, LayerNorm, Linear, Matrix};
use crate::reference::Site;
use latimer::blob::layout::Role;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Where a matrix lies, row-major.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixAt {
    pub at: usize,
    pub rows: usize,
    pub cols: usize,
}

impl MatrixAt {
    pub fn range(self) -> Range<usize> {
        self.at..self.at + self.rows * self.cols
    }
}

/// Where a linear lies: the bias is as long as the matrix has rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinearAt {
    pub weight: MatrixAt,
    pub bias: usize,
}

impl LinearAt {
    pub fn bias(self) -> Range<usize> {
        self.bias..self.bias + self.weight.rows
    }
}

/// Where a layer norm lies: gamma, then beta.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormAt {
    pub gamma: usize,
    pub len: usize,
}

impl NormAt {
    pub fn gamma(self) -> Range<usize> {
        self.gamma..self.gamma + self.len
    }

    pub fn beta(self) -> Range<usize> {
        self.gamma + self.len..self.gamma + 2 * self.len
    }
}

/// An attention's query, key, value and output projections.
pub type AttentionAt = [LinearAt; 4];

/// One layer of either kind.
#[derive(Clone, Copy, Debug)]
pub struct LayerAt {
    pub attention: AttentionAt,
    pub attention_norm: NormAt,
    /// Of a decoder layer.
    pub cross: Option<(AttentionAt, NormAt)>,
    pub fc1: LinearAt,
    pub fc2: LinearAt,
    pub final_norm: NormAt,
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub struct Layout {
    pub encoder: Vec<LayerAt>,
    pub decoder: Vec<LayerAt>,
    pub source_embedding: MatrixAt,
    pub target_embedding: MatrixAt,
    pub output: LinearAt,
    pub len: usize,
}

/// Puts tensors one after the other, or takes them back in the same order.
trait Walk {
    fn values(&mut self, values: &mut Vec<f32>) -> usize;

    fn matrix(&mut self, matrix: &mut Matrix) -> MatrixAt {
        let (rows, cols) = (matrix.rows, matrix.cols);
        MatrixAt { at: self.values(&mut matrix.data), rows, cols }
    }

    fn linear(&mut self, linear: &mut Linear) -> LinearAt {
        LinearAt { weight: self.matrix(&mut linear.weight), bias: self.values(&mut linear.bias) }
    }

    fn attention(&mut self, a: &mut Attention) -> AttentionAt {
        [&mut a.q_proj, &mut a.k_proj, &mut a.v_proj, &mut a.out_proj].map(|linear| self.linear(linear))
    }

    fn norm(&mut self, norm: &mut LayerNorm) -> NormAt {
        let len = norm.weight.len();
        let gamma = self.values(&mut norm.weight);
        self.values(&mut norm.bias);
        NormAt { gamma, len }
    }
}

struct Put(Vec<f32>);

impl Walk for Put {
    fn values(&mut self, values: &mut Vec<f32>) -> usize {
        let at = self.0.len();
        self.0.extend_from_slice(values);
        at
    }
}

struct Take<'p>(&'p [f32]);

impl Walk for Take<'_> {
    fn values(&mut self, values: &mut Vec<f32>) -> usize {
        let (head, rest) = self.0.split_at(values.len());
        values.copy_from_slice(head);
        self.0 = rest;
        0
    }
}

fn walk(checkpoint: &mut Checkpoint, walk: &mut impl Walk) -> Layout {
    let shared = checkpoint.embeddings_are_shared();
    let tied = checkpoint.output_is_tied();
    let source_embedding = walk.matrix(Arc::make_mut(&mut checkpoint.source_embedding));
    let target_embedding = if shared {
        checkpoint.target_embedding = checkpoint.source_embedding.clone();
        source_embedding
    } else {
        walk.matrix(Arc::make_mut(&mut checkpoint.target_embedding))
    };
    let weight = if tied {
        checkpoint.output = checkpoint.target_embedding.clone();
        target_embedding
    } else {
        walk.matrix(Arc::make_mut(&mut checkpoint.output))
    };
    let output = LinearAt { weight, bias: walk.values(&mut checkpoint.final_logits_bias) };
    let encoder = checkpoint.encoder.iter_mut().map(|layer| LayerAt {
        attention: walk.attention(&mut layer.self_attn),
        attention_norm: walk.norm(&mut layer.self_attn_layer_norm),
        cross: None,
        fc1: walk.linear(&mut layer.fc1),
        fc2: walk.linear(&mut layer.fc2),
        final_norm: walk.norm(&mut layer.final_layer_norm),
    });
    let encoder = encoder.collect();
    let decoder = checkpoint.decoder.iter_mut().map(|layer| LayerAt {
        attention: walk.attention(&mut layer.self_attn),
        attention_norm: walk.norm(&mut layer.self_attn_layer_norm),
        cross: Some((walk.attention(&mut layer.encoder_attn), walk.norm(&mut layer.encoder_attn_layer_norm))),
        fc1: walk.linear(&mut layer.fc1),
        fc2: walk.linear(&mut layer.fc2),
        final_norm: walk.norm(&mut layer.final_layer_norm),
    });
    let decoder = decoder.collect();
    Layout { encoder, decoder, source_embedding, target_embedding, output, len: 0 }
}

impl Layout {
    /// The layout of a checkpoint, and its parameters.
    pub fn of(checkpoint: &Checkpoint) -> (Self, Vec<f32>) {
        let mut put = Put(Vec::new());
        let mut layout = walk(&mut checkpoint.clone(), &mut put);
        layout.len = put.0.len();
        (layout, put.0)
    }

    /// Writes parameters back; matrices that are tied stay so.
    pub fn write(parameters: &[f32], checkpoint: &mut Checkpoint) {
        walk(checkpoint, &mut Take(parameters));
    }

    /// Every tensor.
    #[cfg(test)]
    pub fn tensors(&self) -> Vec<Range<usize>> {
        let linear = |at: LinearAt| [at.weight.range(), at.bias()];
        let norm = |at: NormAt| [at.gamma(), at.beta()];
        let mut tensors = vec![self.source_embedding.range()];
        for range in [self.target_embedding.range(), self.output.weight.range()] {
            if !tensors.contains(&range) {
                tensors.push(range);
            }
        }
        tensors.push(self.output.bias());
        for layer in self.encoder.iter().chain(&self.decoder) {
            let cross = layer.cross.into_iter();
            let linears = layer.attention.into_iter().chain(cross.clone().flat_map(|(attention, _)| attention));
            tensors.extend(linears.chain([layer.fc1, layer.fc2]).flat_map(linear));
            let norms = [layer.attention_norm, layer.final_norm].into_iter().chain(cross.map(|(_, norm)| norm));
            tensors.extend(norms.flat_map(norm));
        }
        tensors
    }

    /// Every linear of the layers by its site.
    pub fn linears(&self) -> BTreeMap<Site, LinearAt> {
        let mut sites = BTreeMap::new();
        for (block, layer) in (0..).zip(self.encoder.iter().chain(&self.decoder)) {
            let own = [Role::SelfQ, Role::SelfK, Role::SelfV, Role::SelfOut].into_iter().zip(layer.attention);
            let cross = [Role::CrossQ, Role::CrossK, Role::CrossV, Role::CrossOut];
            let cross = layer.cross.into_iter().flat_map(|(attention, _)| cross.into_iter().zip(attention));
            let rest = [(Role::Fc1, layer.fc1), (Role::Fc2, layer.fc2)];
            sites.extend(own.chain(cross).chain(rest).map(|(role, at)| (Site::new(block, role), at)));
        }
        sites
    }
}
