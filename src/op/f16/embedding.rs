//! Embedding rows with sinusoidal positions.

use crate::blob::Tensor;
use crate::num::half_float::widen;
use crate::num::{quarter_turn, sine};
use half::f16;

/// One unit of a Q30 sine.
const SINE_UNIT: f32 = 1.0 / 1_073_741_824.0;

/// Writes row `id`, scaled, plus the sinusoids of `position`: sines in the first half, cosines in the second.
pub(super) fn embed(table: &Tensor, steps: &Tensor, id: u16, position: u16, out: &mut [f32]) {
    let blocks = table.blocks::<f16>();
    let scale = f32::from_bits(table.entry.embed_scale);
    let steps = steps.vector::<u32>();
    for (col, out) in out.iter_mut().enumerate() {
        let (step, offset) = match steps.get(col) {
            Some(&step) => (step, 0),
            None => (steps.get(col - steps.len()).copied().unwrap_or(0), quarter_turn()),
        };
        let phase = step.wrapping_mul(position as u32).wrapping_add(offset);
        *out = widen(table.at(blocks, id as usize, col)) * scale + sine(phase) as f32 * SINE_UNIT;
    }
}
