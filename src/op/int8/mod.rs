//! The int8 engine: integers only.
//!
//! | quantity | format |
//! |---|---|
//! | weights | i8, in pairs or not, or i8 or 4 bits in groups of columns with a scale each; a u16 scale a row |
//! | input of a linear | 8 to 16 bits in i16, one dynamic [`Scale`] a token |
//! | output of a linear, logits | i32, fraction bits fixed by the blob |
//! | hidden state | i16, fraction bits fixed by the blob for each norm |
//! | keys, values | i8, one dynamic scale a position and head |
//! | softmax weights, times the scales of the values | 15 bits of the largest |

pub(crate) mod attention;
pub(crate) mod cache;
mod embedding;
mod feed_forward;
mod layer_norm;
mod linear;
mod quantize;
pub(crate) mod softmax;

use crate::arena::Sizes;
use crate::blob::Tensor;
use crate::blob::layout::{Block, SpecHeader};
use crate::engine::{AttendScratch, Cached, Engine, EngineKind, Place};
use crate::kernel::specialized;
use crate::num::Scale;
use crate::observe::{Logits, Row};
use crate::rows::Rows;

/// The engine; it has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int8;

const _: () = assert!(Sizes::of(EngineKind::Int8).are_those_of::<Int8>(), "the arena plan knows the engine's types");

impl Engine for Int8 {
    type Hidden = i16;
    type Input = i16;
    type Wide = i32;
    type Cache = u8;
    type Scale = Scale;
    const SCALES: usize = 1;
    const KIND: EngineKind = EngineKind::Int8;

    fn embed(self, table: &Tensor, steps: &Tensor, id: u16, position: u16, out: &mut [i16]) {
        embedding::embed(table, steps, id, position, out);
    }

    fn input_of_hidden(self, linear: &Tensor, hidden: &[i16], frac: i8, out: &mut [i16]) -> Scale {
        specialized(
            #[inline(always)]
            || quantize::hidden(hidden, frac, linear.entry.in_bits, out),
        )
    }

    fn input_of_wide(self, linear: &Tensor, wide: &[i32], frac: i8, out: &mut [i16]) -> Scale {
        specialized(
            #[inline(always)]
            || quantize::dynamic(wide, frac, linear.entry.in_bits, out),
        )
    }

    fn linear(self, linear: &Tensor, x: &[i16], scales: &[Scale], out: &mut [i32]) {
        linear::linear(linear, x, scales, out);
    }

    // Its buffer is in a frame of its own.
    #[inline(never)]
    fn store(self, wide: &[i32], frac: i8, heads: usize, place: Place, rows: &mut [u8], scales: &mut [Scale]) {
        specialized(
            #[inline(always)]
            || cache::store(wide, frac, heads, place, rows, scales),
        );
    }

    fn attend(
        self,
        queries: &mut [i32],
        d_model: usize,
        frac: i8,
        keys: Cached<Self>,
        values: Cached<Self>,
        value_frac: i8,
        heads: usize,
        scratch: &mut AttendScratch<Self>,
    ) {
        specialized(
            #[inline(always)]
            || attention::attend(queries, d_model, frac, keys, values, value_frac, heads, scratch),
        );
    }

    fn activate(self, wide: &mut [i32], frac: i8, block: &Block) {
        feed_forward::activate(wide, frac, block.activation());
    }

    fn add_norm(self, norm: &Tensor, spec: &SpecHeader, hidden: &mut [i16], frac: i8, wide: &mut [i32], wide_frac: i8) {
        specialized(
            #[inline(always)]
            || layer_norm::add_norm(norm, spec.norm_eps_q32, hidden, frac, wide, wide_frac),
        );
    }

    fn logits(self, output: &Tensor, rows: Rows, x: &[i16], scale: Scale, sink: impl FnMut(usize, Logits<'_>)) {
        linear::logits(output, rows, x, scale, sink);
    }

    fn logits_of(self, output: &Tensor, first: usize, x: &[i16], scales: &[Scale], out: &mut [i32]) {
        linear::logits_of(output, first, x, scales, out);
    }

    fn logits_row<'v>(output: &Tensor, values: &'v [i32]) -> Logits<'v> {
        Logits::Fixed { values, frac: output.entry.out_frac }
    }

    fn row(values: &[i16], frac: i8) -> Row<'_> {
        Row::Fixed { values, frac }
    }
}

#[cfg(test)]
mod tests;
