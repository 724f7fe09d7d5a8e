//! Embedding rows with sinusoidal positions.

use crate::blob::Tensor;
use crate::num::{quarter_turn, round_shift, saturate_i16, sine};

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
    let steps = steps.vector::<u32>();
    table.row(row, out);
    for (col, out) in out.iter_mut().enumerate() {
        let (step, offset) = match steps.get(col) {
            Some(&step) => (step, 0),
            None => (steps.get(col - steps.len()).copied().unwrap_or(0), quarter_turn()),
        };
        let phase = step.wrapping_mul(position as u32).wrapping_add(offset);
        let weight = *out as i64;
        let sum = round_shift(weight * multiplier, shift).saturating_add(sine(phase) as i64 >> (30 - SUM_FRAC));
        *out = saturate_i16(round_shift(sum, SUM_FRAC - e.embed_frac as i32));
    }
}
