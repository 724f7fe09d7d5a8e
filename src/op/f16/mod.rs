//! The f16 engine: f16 weights and caches, f32 arithmetic in one written order.
//!
//! Sums run in the order written (linears: by column; vectors: four lanes, then lane 0 + 1 plus lane 2 + 3), nothing
//! is fused, and exp and square root come from software, so that every target gives the same bits.

mod attention;
mod embedding;
mod layer_norm;
mod linear;
mod math;

use crate::arena::Sizes;
use crate::blob::Tensor;
use crate::blob::layout::{Block, SpecHeader};
use crate::blob::spec::Activation;
use crate::engine::{AttendScratch, Cached, Engine, EngineKind, Place};
use crate::num::half_float::narrow;
use crate::observe::{Logits, Row};
use crate::rows::Rows;
use half::f16;
pub(crate) use math::Math;

/// The engine, with the choice of elementary functions the blob records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct F16 {
    /// exp and inverse square root.
    pub math: Math,
}

const _: () = assert!(Sizes::of(EngineKind::F16).are_those_of::<F16>(), "the arena plan knows the engine's types");

impl Engine for F16 {
    type Hidden = f32;
    type Input = f32;
    type Wide = f32;
    type Cache = f16;
    type Scale = ();
    const SCALES: usize = 0;
    const KIND: EngineKind = EngineKind::F16;

    fn embed(self, table: &Tensor, steps: &Tensor, id: u16, position: u16, out: &mut [f32]) {
        embedding::embed(table, steps, id, position, out);
    }

    fn input_of_hidden(self, _linear: &Tensor, hidden: &[f32], _frac: i8, out: &mut [f32]) {
        out.iter_mut().zip(hidden).for_each(|(out, &x)| *out = x);
    }

    fn input_of_wide(self, _linear: &Tensor, wide: &[f32], _frac: i8, out: &mut [f32]) {
        out.iter_mut().zip(wide).for_each(|(out, &x)| *out = x);
    }

    fn linear(self, linear: &Tensor, x: &[f32], _scales: &[()], out: &mut [f32]) {
        linear::linear(linear, x, out);
    }

    fn store(self, wide: &[f32], _frac: i8, _heads: usize, place: Place, rows: &mut [f16], _scales: &mut [()]) {
        // Keys and values alike: a position a row.
        let rows = rows.get_mut(place.position * wide.len()..).unwrap_or_default();
        rows.iter_mut().zip(wide).for_each(|(row, &x)| *row = narrow(x));
    }

    fn attend(
        self,
        queries: &mut [f32],
        d_model: usize,
        _frac: i8,
        keys: Cached<Self>,
        values: Cached<Self>,
        _value_frac: i8,
        heads: usize,
        scratch: &mut AttendScratch<Self>,
    ) {
        for query in queries.chunks_exact_mut(d_model.max(1)).enumerate() {
            attention::attend(self.math, query, keys, values, heads, scratch);
        }
    }

    fn activate(self, wide: &mut [f32], _frac: i8, block: &Block) {
        match block.activation() {
            Activation::Relu => wide.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 }),
            Activation::Swish => wide.iter_mut().for_each(|x| *x /= 1.0 + self.math.exp(-*x)),
            Activation::Gelu => wide.iter_mut().for_each(|x| *x = math::gelu(*x)),
        }
    }

    fn add_norm(
        self,
        norm: &Tensor,
        spec: &SpecHeader,
        hidden: &mut [f32],
        _frac: i8,
        wide: &mut [f32],
        _wide_frac: i8,
    ) {
        layer_norm::add_norm(self.math, norm, spec.norm_eps_q32, hidden, wide);
    }

    fn logits(self, output: &Tensor, rows: Rows, x: &[f32], _scale: (), sink: impl FnMut(usize, Logits<'_>)) {
        linear::logits(output, rows, x, sink);
    }

    fn logits_of(self, output: &Tensor, first: usize, x: &[f32], _scales: &[()], out: &mut [f32]) {
        linear::logits_of(output, first, x, out);
    }

    fn logits_row<'v>(_output: &Tensor, values: &'v [f32]) -> Logits<'v> {
        Logits::Float(values)
    }

    fn row(hidden: &[f32], _frac: i8) -> Row<'_> {
        Row::Float(hidden)
    }
}

/// Sum of `f(a, b)` over four lanes, folded as (0 + 1) + (2 + 3).
#[inline(always)]
fn lanes(pairs: impl Iterator<Item = f32>) -> f32 {
    let mut acc = [0f32; 4];
    for (i, x) in pairs.enumerate() {
        acc[i & 3] += x;
    }
    (acc[0] + acc[1]) + (acc[2] + acc[3])
}

#[cfg(test)]
mod tests;
