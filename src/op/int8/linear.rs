//! Matrix times tokens, and the output matrix.

use crate::blob::Tensor;
use crate::kernel::{ROWS, dot4, dot4x2};
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

/// `out[t] = W x[t] + b`: weight blocks outside, tokens inside, so that each block is read from flash once.
pub(super) fn linear(tensor: &Tensor, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    let (rows, cols) = (tensor.rows().max(1), tensor.cols().max(1));
    let tail = Tail::of(tensor);
    for (b, block) in tensor.blocks::<i8>().chunks_exact(cols).enumerate() {
        let mut tokens = x.chunks_exact(cols).zip(scales).zip(out.chunks_exact_mut(rows));
        while let Some(((x0, &s0), out0)) = tokens.next() {
            if let Some(((x1, &s1), out1)) = tokens.next() {
                let [acc0, acc1] = dot4x2(block, x0, x1);
                tail.finish(b, acc0, s0, rows_of(b, out0));
                tail.finish(b, acc1, s1, rows_of(b, out1));
            } else {
                tail.finish(b, dot4(block, x0), s0, rows_of(b, out0));
            }
        }
    }
}

/// Logits of one token, a row block at a time.
pub(super) fn logits(tensor: &Tensor, x: &[i16], scale: Scale, mut sink: impl FnMut(usize, Logits<'_>)) {
    let tail = Tail::of(tensor);
    let frac = tensor.entry.out_frac;
    for (b, block) in tensor.blocks::<i8>().chunks_exact(tensor.cols().max(1)).enumerate() {
        let first = b * ROWS;
        let mut values = [0; ROWS];
        tail.finish(b, dot4(block, x), scale, &mut values);
        let live = tensor.rows().saturating_sub(first).min(ROWS);
        sink(first, Logits::Fixed { values: values.get(..live).unwrap_or_default(), frac });
    }
}
