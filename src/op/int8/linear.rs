//! Matrix times tokens, and the output matrix.

use crate::blob::Tensor;
use crate::blob::tensor::RowBlocks;
use crate::kernel::{ROWS, TOKENS, dot_i4, dot_i8};
use crate::num::{Scale, requantize};
use crate::observe::Logits;

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
    #[inline(always)]
    fn finish(&self, block: usize, acc: [i32; ROWS], token: Scale, out: &mut [i32]) {
        let first = block * ROWS;
        let shift = self.shift - token.exponent as i32;
        for (i, (out, acc)) in out.iter_mut().zip(acc).enumerate() {
            // At most 2^16 * 2^15: inside the 31 bits that requantize takes.
            let scale = self.scales.get(first + i).copied().unwrap_or(0) as u32;
            let bias = self.bias.get(first + i).copied().unwrap_or(0);
            *out = requantize(acc, scale * token.mantissa as u32, shift).saturating_add(bias);
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

/// Four rows of weights.
trait RowBlock: Copy {
    /// Accumulators of the four rows for each vector.
    fn dot<const N: usize>(self, x: [&[i16]; N]) -> [[i32; ROWS]; N];
}

impl RowBlock for &[[i8; ROWS]] {
    #[inline(always)]
    fn dot<const N: usize>(self, x: [&[i16]; N]) -> [[i32; ROWS]; N] {
        dot_i8(self, x)
    }
}

/// Four rows of 4-bit weights, and the columns of a group.
#[derive(Clone, Copy)]
struct Grouped<'a>(&'a [u8], usize);

impl RowBlock for Grouped<'_> {
    #[inline(always)]
    fn dot<const N: usize>(self, x: [&[i16]; N]) -> [[i32; ROWS]; N] {
        dot_i4(self.0, self.1, x)
    }
}

/// `out[t] = W x[t] + b`.
pub(super) fn linear(tensor: &Tensor, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    match tensor.row_blocks() {
        RowBlocks::Int8(blocks) => linear_of(tensor, blocks, x, scales, out),
        RowBlocks::Int4(blocks, group) => linear_of(tensor, blocks.map(|b| Grouped(b, group)), x, scales, out),
    }
}

/// Weight blocks outside, tokens inside, so that each block is read from flash once.
#[inline(always)]
fn linear_of(
    tensor: &Tensor,
    blocks: impl Iterator<Item = impl RowBlock>,
    x: &[i16],
    scales: &[Scale],
    out: &mut [i32],
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
            let acc = block.dot::<TOKENS>(core::array::from_fn(|_| parts.next().unwrap_or_default()));
            for ((acc, &scale), out) in acc.into_iter().zip(scales).zip(out.chunks_exact_mut(rows)) {
                tail.finish(b, acc, scale, rows_of(b, out));
            }
        }
        for ((x, &scale), out) in last_x.chunks_exact(cols).zip(last_scales).zip(last_out.chunks_exact_mut(rows)) {
            let [acc] = block.dot([x]);
            tail.finish(b, acc, scale, rows_of(b, out));
        }
    }
}

/// Logits of one token, a row block at a time.
pub(super) fn logits(tensor: &Tensor, x: &[i16], scale: Scale, sink: impl FnMut(usize, Logits<'_>)) {
    match tensor.row_blocks() {
        RowBlocks::Int8(blocks) => logits_of(tensor, blocks, x, scale, sink),
        RowBlocks::Int4(blocks, group) => logits_of(tensor, blocks.map(|b| Grouped(b, group)), x, scale, sink),
    }
}

#[inline(always)]
fn logits_of(
    tensor: &Tensor,
    blocks: impl Iterator<Item = impl RowBlock>,
    x: &[i16],
    scale: Scale,
    mut sink: impl FnMut(usize, Logits<'_>),
) {
    let tail = Tail::of(tensor);
    let frac = tensor.entry.out_frac;
    for (b, block) in blocks.enumerate() {
        let first = b * ROWS;
        let mut values = [0; ROWS];
        let [acc] = block.dot([x]);
        tail.finish(b, acc, scale, &mut values);
        let live = tensor.rows().saturating_sub(first).min(ROWS);
        sink(first, Logits::Fixed { values: values.get(..live).unwrap_or_default(), frac });
    }
}
