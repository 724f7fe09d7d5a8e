//! Matrix times tokens, and the output matrix.

use crate::blob::Tensor;
use crate::kernel::{ROWS, dot4_f16, dot4x2_f16};
use crate::observe::Logits;
use crate::rows::Rows;
use core::ops::Range;
use half::f16;

/// Adds the bias and writes the rows of a block that exist.
#[inline(always)]
fn finish(block: usize, acc: [f32; ROWS], bias: &[f32], out: &mut [f32]) {
    let first = block * ROWS;
    let end = out.len().min(first + ROWS);
    for (i, (out, acc)) in out.get_mut(first..end).unwrap_or_default().iter_mut().zip(acc).enumerate() {
        *out = acc + bias.get(first + i).copied().unwrap_or(0.0);
    }
}

/// `out[t] = W x[t] + b`, weight blocks outside, tokens inside.
pub(super) fn linear(tensor: &Tensor, x: &[f32], out: &mut [f32]) {
    let (rows, cols) = (tensor.rows().max(1), tensor.cols().max(1));
    let bias = tensor.bias::<f32>();
    for (b, block) in tensor.blocks::<f16>().chunks_exact(cols).enumerate() {
        let mut tokens = x.chunks_exact(cols).zip(out.chunks_exact_mut(rows));
        while let Some((x0, out0)) = tokens.next() {
            if let Some((x1, out1)) = tokens.next() {
                let [acc0, acc1] = dot4x2_f16(block, x0, x1);
                finish(b, acc0, bias, out0);
                finish(b, acc1, bias, out1);
            } else {
                finish(b, dot4_f16(block, x0), bias, out0);
            }
        }
    }
}

/// Logits of several tokens, from row `first` on, the first of a block; `out` has as many of each.
pub(super) fn logits_of(tensor: &Tensor, first: usize, x: &[f32], out: &mut [f32]) {
    let cols = tensor.cols().max(1);
    let rows = (out.len() / (x.len() / cols).max(1)).max(1);
    let bias = tensor.bias::<f32>().get(first..).unwrap_or_default();
    let blocks = tensor.blocks::<f16>().chunks_exact(cols).skip(first / ROWS).take(rows.div_ceil(ROWS));
    for (b, block) in blocks.enumerate() {
        for (x, out) in x.chunks_exact(cols).zip(out.chunks_exact_mut(rows)) {
            finish(b, dot4_f16(block, x), bias, out);
        }
    }
}

/// Logits of one token for the rows chosen, a row block at a time.
pub(super) fn logits(tensor: &Tensor, rows: Rows, x: &[f32], mut sink: impl FnMut(usize, Logits<'_>)) {
    let (bias, cols) = (tensor.bias::<f32>(), tensor.cols().max(1));
    for Range { start: first, end } in rows.runs(tensor.rows(), ROWS) {
        let start = first / ROWS * cols;
        let block = tensor.blocks::<f16>().get(start..start + cols).unwrap_or_default();
        let mut values = dot4_f16(block, x);
        for (i, value) in values.iter_mut().enumerate() {
            *value += bias.get(first + i).copied().unwrap_or(0.0);
        }
        sink(first, Logits::Float(values.get(..end - first).unwrap_or_default()));
    }
}
