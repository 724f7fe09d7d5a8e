//! Embedding rows with sinusoidal positions.

use crate::blob::Tensor;
use crate::num::{high_product, round_shift, saturate_i16, saturate_i32, sine_cosine};

/// Fraction bits in which row and position are added.
const SUM_FRAC: i32 = 20;

/// Writes row `id`, scaled, plus the sinusoids of `position`: sines in the first half, cosines in the second
/// (Vaswani et al. 2017, in the half-and-half order of Marian). Frequency `i` is a phase step for each position.
pub(super) fn embed(table: &Tensor, steps: &Tensor, id: u16, position: u16, out: &mut [i16]) {
    let row = id as usize;
    let row_scale = table.scales().get(row).copied().unwrap_or(0) as i64;
    let e = &table.entry;
    // 16 bits of row scale times 31 bits of embedding scale, back to 31 bits: one multiplier for the row.
    let multiplier = round_shift(row_scale * (e.embed_scale & 0x7fff_ffff) as i64, 16);
    let shift = e.embed_shift as i32 - 16 - SUM_FRAC;
    let cut = SUM_FRAC - e.embed_frac as i32;
    table.row(row, out);
    let steps = steps.vector::<u32>();
    if let (13..=43, 1..=31) = (shift, cut) {
        // The usual case: weights have 11 bits and a sign, so that 20 more leave all but 12 bits of the product to the
        // upper word, in which it is rounded.
        let (half, half_unit) = (1 << (shift - 13), 1 << (cut - 1));
        let (multiplier, shift) = (multiplier as i32, shift - 12);
        add_positions(steps, position, out, |weight, sinusoid| {
            let part = high_product((weight as i32) << 20, multiplier).wrapping_add(half) >> shift;
            saturate_i16(part.wrapping_add(sinusoid + half_unit) >> cut)
        });
    } else {
        add_any(steps, position, out, (multiplier, shift, cut));
    }
}

/// Formats that no ordinary model has.
#[cold]
#[inline(never)]
fn add_any(steps: &[u32], position: u16, out: &mut [i16], (multiplier, shift, cut): (i64, i32, i32)) {
    add_positions(steps, position, out, |weight, sinusoid| {
        let sum = round_shift(weight as i64 * multiplier, shift).saturating_add(sinusoid as i64);
        saturate_i16(saturate_i32(round_shift(sum, cut)))
    });
}

/// The sine and the cosine of a frequency at a position.
#[inline(always)]
fn sinusoids(step: u32, position: u16) -> (i32, i32) {
    let (sine, cosine) = sine_cosine(step.wrapping_mul(position as u32));
    (sine >> (30 - SUM_FRAC), cosine >> (30 - SUM_FRAC))
}

/// Puts what `sum` makes of each weight and its sinusoid in its place.
#[inline(always)]
fn add_positions(steps: &[u32], position: u16, out: &mut [i16], sum: impl Fn(i16, i32) -> i16) {
    let (first, second) = out.split_at_mut_checked(steps.len()).unwrap_or_default();
    // A row of odd length has one sine more than cosines.
    let (pairs, last) = steps.split_at_checked(second.len()).unwrap_or((steps, &[]));
    for ((sine_at, cosine_at), &step) in first.iter_mut().zip(&mut *second).zip(pairs) {
        let (sine, cosine) = sinusoids(step, position);
        // A loop, so that where code is to be small there is one sum.
        for (at, sinusoid) in [(sine_at, sine), (cosine_at, cosine)] {
            *at = sum(*at, sinusoid);
        }
    }
    for (sine_at, &step) in first.iter_mut().skip(second.len()).zip(last) {
        *sine_at = sum(*sine_at, sinusoids(step, position).0);
    }
}
