//! Kernels of f16 weights.

use crate::num::half_float::widen;
use half::f16;

/// Dot products of the four rows of a block with one vector: f16 weights, f32 activations, summed in order of
/// columns.
#[inline(always)]
pub fn dot4_f16(block: &[[f16; 4]], x: &[f32]) -> [f32; 4] {
    let mut acc = [0f32; 4];
    for (w, &x) in block.iter().zip(x) {
        for (acc, &w) in acc.iter_mut().zip(w) {
            *acc += x * widen(w);
        }
    }
    acc
}

/// [`dot4_f16`] for two vectors at once, each summed as if alone.
#[inline(always)]
pub fn dot4x2_f16(block: &[[f16; 4]], x0: &[f32], x1: &[f32]) -> [[f32; 4]; 2] {
    let mut acc = [[0f32; 4]; 2];
    for (w, (&x0, &x1)) in block.iter().zip(x0.iter().zip(x1)) {
        for (row, &w) in w.iter().enumerate() {
            let w = widen(w);
            acc[0][row] += x0 * w;
            acc[1][row] += x1 * w;
        }
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        /// Any finite f16 and any f32 at all: sums that overflow or are no number are the same too.
        #[test]
        fn float_sums_run_in_order_of_columns(
            columns in proptest::collection::vec((any::<[u16; 4]>(), any::<[u32; 2]>()), 0..70), tame: bool,
        ) {
            // Of about one size, so that every rounding counts; or of any.
            let x = |bits: u32| f32::from_bits(if tame { bits & 0x80ff_ffff | 0x3f00_0000 } else { bits });
            let w = |bits: u16| f16::from_bits(if tame { bits & 0x83ff | 0x3800 } else { bits & 0xfbff });
            let block: Vec<[f16; 4]> = columns.iter().map(|(ws, _)| ws.map(w)).collect();
            let [x0, x1] = [0, 1].map(|i| columns.iter().map(|(_, xs)| x(xs[i])).collect::<Vec<f32>>());
            let naive = |x: &[f32], row: usize| {
                let mut sum = 0f32;
                for (w, x) in block.iter().zip(x) {
                    let product = w[row].to_f32() * x;
                    sum += product;
                }
                sum
            };
            // A NaN's payload differs from processor to processor and is not part of the contract.
            let bits = |sums: [f32; 4]| sums.map(|sum| if sum.is_nan() { f32::NAN } else { sum }.to_bits());
            let wanted = [&x0, &x1].map(|x| bits([0, 1, 2, 3].map(|row| naive(x, row))));
            prop_assert_eq!([&x0, &x1].map(|x| bits(dot4_f16(&block, x))), wanted);
            prop_assert_eq!(dot4x2_f16(&block, &x0, &x1).map(bits), wanted);
        }
    }
}
