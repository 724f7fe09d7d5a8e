//! Kernels in plain Rust: the oracle every other kernel is held to, and good code on cores without a multiply that
//! takes more than one pair.

#[cfg(feature = "f16")]
use crate::num::half_float::widen;
#[cfg(feature = "f16")]
use half::f16;

/// Dot products of the four rows of a block with one vector: i8 weights, i16 activations, exact i32 sums.
#[inline(always)]
pub fn dot4(block: &[[i8; 4]], x: &[i16]) -> [i32; 4] {
    let mut acc = [0i32; 4];
    for (w, &x) in block.iter().zip(x) {
        let x = x as i32;
        for (acc, &w) in acc.iter_mut().zip(w) {
            *acc = acc.wrapping_add(x.wrapping_mul(w as i32));
        }
    }
    acc
}

/// [`dot4`] for two vectors at once: each weight is read and widened once for both.
#[inline(always)]
pub fn dot4x2(block: &[[i8; 4]], x0: &[i16], x1: &[i16]) -> [[i32; 4]; 2] {
    let mut acc = [[0i32; 4]; 2];
    for (w, (&x0, &x1)) in block.iter().zip(x0.iter().zip(x1)) {
        let (x0, x1) = (x0 as i32, x1 as i32);
        for (row, &w) in w.iter().enumerate() {
            let w = w as i32;
            acc[0][row] = acc[0][row].wrapping_add(x0.wrapping_mul(w));
            acc[1][row] = acc[1][row].wrapping_add(x1.wrapping_mul(w));
        }
    }
    acc
}

/// Dot products of the four rows of a block with one vector: f16 weights, f32 activations, summed in order of
/// columns.
#[cfg(feature = "f16")]
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
#[cfg(feature = "f16")]
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
        #[test]
        fn sums_are_exact(block in proptest::collection::vec(any::<[i8; 4]>(), 0..70), seed in any::<u64>()) {
            let x: Vec<[i16; 2]> = (0..block.len() as u64)
                .map(|i| {
                    let r = (i + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    [(r >> 48) as i16, (r >> 32) as i16]
                })
                .collect();
            let x0: Vec<i16> = x.iter().map(|x| x[0]).collect();
            let x1: Vec<i16> = x.iter().map(|x| x[1]).collect();
            let naive = |x: &[i16], row: usize| -> i64 {
                block.iter().zip(x).map(|(w, &x)| w[row] as i64 * x as i64).sum()
            };
            let want = [&x0, &x1].map(|x| [0, 1, 2, 3].map(|row| naive(x, row)));
            prop_assert_eq!(dot4(&block, &x0).map(i64::from), want[0]);
            prop_assert_eq!(dot4x2(&block, &x0, &x1).map(|acc| acc.map(i64::from)), want);
        }
    }

    #[cfg(feature = "f16")]
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
