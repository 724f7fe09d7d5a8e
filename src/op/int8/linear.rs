//! Matrix times tokens, and the output matrix.

use crate::blob::Tensor;
use crate::blob::tensor::RowBlocks;
use crate::kernel::{ROWS, TOKENS, dot_i4, dot_i8};
use crate::num::{Scale, requantize_each};
use crate::observe::Logits;
use core::slice::ChunksExact;

/// What every row of a block needs to leave the accumulator.
#[derive(Clone, Copy)]
struct Tail<'a> {
    scales: &'a [u16],
    bias: &'a [i32],
    /// `scale_shift - out_frac` of the tensor.
    shift: i32,
}

impl<'a> Tail<'a> {
    fn of(tensor: &Tensor<'a>) -> Self {
        let e = &tensor.entry;
        Tail { scales: tensor.scales(), bias: tensor.bias(), shift: e.scale_shift as i32 - e.out_frac as i32 }
    }

    /// Accumulators of block `block` to outputs: one multiplication by the product of row and token scale, one
    /// rounding, then the bias, which is kept in the output's own format.
    #[inline(never)]
    fn finish(&self, block: usize, acc: &[i32; ROWS], token: Scale, out: &mut [i32]) {
        let first = block * ROWS;
        let shift = self.shift - token.exponent as i32;
        // There is a scale for every row; padding has none, nor a place in `out`.
        let scales = self.scales.get(first..).unwrap_or_default();
        // At most 2^16 * 2^15: inside the 31 bits that requantize takes.
        let mantissas = scales.iter().map(|&scale| scale as u32 * token.mantissa as u32);
        requantize_each(shift, out.iter_mut().zip(acc).zip(mantissas).map(|((out, &acc), mantissa)| (out, acc, mantissa)));
        let bias = self.bias.get(first..).unwrap_or_default();
        for (out, &bias) in out.iter_mut().zip(bias) {
            *out = out.saturating_add(bias);
        }
    }
}

/// Rows of a block within an output vector.
#[inline(always)]
fn rows_of(block: usize, out: &mut [i32]) -> &mut [i32] {
    let first = block * ROWS;
    let end = out.len().min(first + ROWS);
    out.get_mut(first..end).unwrap_or_default()
}

/// `out[t] = W x[t] + b`.
pub(super) fn linear(tensor: &Tensor, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    // Each form has a function of its own, so that neither's loops cost the other registers.
    match tensor.row_blocks() {
        RowBlocks::Int8(blocks) => linear_i8(tensor, blocks, x, scales, out),
        RowBlocks::Int4(blocks, group) => linear_i4(tensor, blocks, group, x, scales, out),
    }
}

#[inline(never)]
fn linear_i8(tensor: &Tensor, blocks: ChunksExact<[i8; ROWS]>, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    linear_of(tensor, blocks, x, scales, out, |block, x| dot_i8(block, x), |block, x| dot_i8(block, x));
}

#[inline(never)]
fn linear_i4(tensor: &Tensor, blocks: ChunksExact<u8>, group: usize, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    linear_of(tensor, blocks, x, scales, out, |block, x| dot_i4(block, group, x), |block, x| dot_i4(block, group, x));
}

/// Weight blocks outside, tokens inside, so that each block is read from flash once.
#[inline(always)]
fn linear_of<'b, W: 'b>(
    tensor: &Tensor,
    blocks: ChunksExact<'b, W>,
    x: &[i16],
    scales: &[Scale],
    out: &mut [i32],
    dots: impl Fn(&'b [W], [&[i16]; TOKENS]) -> [[i32; ROWS]; TOKENS],
    dot: impl Fn(&'b [W], [&[i16]; 1]) -> [[i32; ROWS]; 1],
) {
    let (rows, cols) = (tensor.rows().max(1), tensor.cols().max(1));
    let tail = Tail::of(tensor);
    // The buffers may have room for more tokens than one of them holds.
    let tokens = scales.len().min(x.len() / cols).min(out.len() / rows);
    let together = tokens / TOKENS * TOKENS;
    let (scales, last_scales) = scales.split_at_checked(together).unwrap_or_default();
    let (x, last_x) = x.split_at_checked(together * cols).unwrap_or_default();
    let (out, last_out) = out.split_at_mut_checked(together * rows).unwrap_or_default();
    for (b, block) in blocks.enumerate() {
        let tokens =
            x.chunks_exact(cols * TOKENS).zip(scales.chunks_exact(TOKENS)).zip(out.chunks_exact_mut(rows * TOKENS));
        for ((x, scales), out) in tokens {
            let mut parts = x.chunks_exact(cols);
            let acc = dots(block, core::array::from_fn(|_| parts.next().unwrap_or_default()));
            for ((acc, &scale), out) in acc.into_iter().zip(scales).zip(out.chunks_exact_mut(rows)) {
                tail.finish(b, &acc, scale, rows_of(b, out));
            }
        }
        for ((x, &scale), out) in last_x.chunks_exact(cols).zip(last_scales).zip(last_out.chunks_exact_mut(rows)) {
            let [acc] = dot(block, [x]);
            tail.finish(b, &acc, scale, rows_of(b, out));
        }
    }
}

/// Logits of one token, a row block at a time.
pub(super) fn logits(tensor: &Tensor, x: &[i16], scale: Scale, mut sink: impl FnMut(usize, Logits<'_>)) {
    let tail = Tail::of(tensor);
    let frac = tensor.entry.out_frac;
    let mut finish = |b: usize, [acc]: [[i32; ROWS]; 1]| {
        let first = b * ROWS;
        let mut values = [0; ROWS];
        tail.finish(b, &acc, scale, &mut values);
        let live = tensor.rows().saturating_sub(first).min(ROWS);
        sink(first, Logits::Fixed { values: values.get(..live).unwrap_or_default(), frac });
    };
    match tensor.row_blocks() {
        RowBlocks::Int8(blocks) => blocks.enumerate().for_each(|(b, block)| finish(b, dot_i8(block, [x]))),
        RowBlocks::Int4(blocks, group) => {
            blocks.enumerate().for_each(|(b, block)| finish(b, dot_i4(block, group, [x])));
        }
    }
}
