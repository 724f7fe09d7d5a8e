//! Matrix times tokens, and the output matrix.

use crate::blob::Tensor;
use crate::kernel::tail::Requantize;
use crate::kernel::{self, ROWS, STRIP_BLOCKS, multiply, specialized};
use crate::num::{Scale, requantize};
use crate::observe::Logits;
use crate::rows::Rows;
use core::ops::Range;

/// What every row of a block needs to leave the accumulator.
#[derive(Clone, Copy)]
struct Tail<'a> {
    scales: &'a [u16],
    bias: &'a [i32],
    /// `scale_shift - out_frac` of the tensor.
    shift: i32,
    /// Bits of the largest accumulator.
    sum_bits: i32,
}

impl<'a> Tail<'a> {
    fn of(tensor: &Tensor<'a>) -> Self {
        let e = &tensor.entry;
        let shift = e.scale_shift as i32 - e.out_frac as i32;
        Tail { scales: tensor.scales(), bias: tensor.bias(), shift, sum_bits: sum_bits(tensor) }
    }

    /// Accumulators of the rows from `first` on to outputs, in place: one multiplication by the product of row and token
    /// scale, one rounding, then the bias, which is kept in the output's own format.
    #[inline(never)]
    fn finish(&self, first: usize, token: Scale, out: &mut [i32]) {
        let shift = self.shift - token.exponent as i32;
        let scales = self.scales.get(first..).unwrap_or_default();
        let bias = self.bias.get(first..).unwrap_or_default();
        // At most 2^16 * 2^15: inside the 31 bits of a multiplier.
        let mantissa = token.mantissa as u32;
        // The upper word of the product has the result where 33 bits or more are shifted out; where it is fewer, the
        // accumulator goes up, if it can.
        let up = (33 - shift).max(0);
        let fits = shift <= 63 && (up == 0 || self.sum_bits + up <= 31);
        specialized(
            #[inline(always)]
            || {
                if fits {
                    let (up, shift) = (up as u32, (shift + up - 32) as u32);
                    kernel::tail::finish(
                        &Requantize { mantissa, up, half: 1 << (shift - 1), shift },
                        scales,
                        bias,
                        out,
                    );
                } else {
                    for (out, &scale) in out.iter_mut().zip(scales) {
                        *out = requantize(*out, scale as u32 * mantissa, shift);
                    }
                    out.iter_mut().zip(bias).for_each(|(out, &bias)| *out = out.saturating_add(bias));
                }
            },
        );
    }
}

/// Bits of the largest sum that a matrix can have with inputs of its width, 32 if that is not known.
fn sum_bits(tensor: &Tensor) -> i32 {
    let (Some(packing), bits @ 8..=16) = (tensor.packing(), tensor.entry.in_bits) else { return 32 };
    let most = tensor.cols() as u64 * packing.largest() as u64 * ((1 << (bits - 1)) - 1);
    64 - most.leading_zeros() as i32
}

/// `out[t] = W x[t] + b`.
pub(super) fn linear(tensor: &Tensor, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    let (rows, cols) = (tensor.rows().max(1), tensor.cols().max(1));
    // The buffers may have room for more tokens than one of them holds.
    let tokens = scales.len().min(x.len() / cols).min(out.len() / rows);
    let x = x.get(..tokens * cols).unwrap_or_default();
    let out = out.get_mut(..tokens * rows).unwrap_or_default();
    if let Some(packing) = tensor.packing() {
        multiply(packing, tensor.packed(), cols, x, rows, out);
    }
    let tail = Tail::of(tensor);
    for (out, &scale) in out.chunks_exact_mut(rows).zip(scales) {
        tail.finish(0, scale, out);
    }
}

/// Rows of logits made at a time.
const STRIP: usize = STRIP_BLOCKS * ROWS;

/// Logits of one token for the rows chosen, some at a time.
pub(super) fn logits(tensor: &Tensor, rows: Rows, x: &[i16], scale: Scale, mut sink: impl FnMut(usize, Logits<'_>)) {
    let (tail, frac) = (Tail::of(tensor), tensor.entry.out_frac);
    let mut values = [0; STRIP];
    for Range { start: first, end } in rows.runs(tensor.rows(), STRIP) {
        let values = values.get_mut(..end - first).unwrap_or_default();
        strip(tensor, first, x, values.len(), values);
        tail.finish(first, scale, values);
        sink(first, Logits::Fixed { values, frac });
    }
}

/// Logits of several tokens, from row `first` on, the first of a block; `out` has as many of each.
pub(super) fn logits_of(tensor: &Tensor, first: usize, x: &[i16], scales: &[Scale], out: &mut [i32]) {
    let rows = (out.len() / (x.len() / tensor.cols().max(1)).max(1)).max(1);
    strip(tensor, first, x, rows, out);
    let tail = Tail::of(tensor);
    for (out, &scale) in out.chunks_exact_mut(rows).zip(scales) {
        tail.finish(first, scale, out);
    }
}

/// Accumulators of `rows` rows from `first` on, the first of a block.
#[inline(never)]
fn strip(tensor: &Tensor, first: usize, x: &[i16], rows: usize, out: &mut [i32]) {
    let (Some(packing), cols) = (tensor.packing(), tensor.cols().max(1)) else { return };
    let Some(block) = packing.block_len(cols) else { return };
    let start = first / ROWS * block;
    let weights = tensor.packed().get(start..start + rows.div_ceil(ROWS) * block).unwrap_or_default();
    multiply(packing, weights, cols, x, rows, out);
}
