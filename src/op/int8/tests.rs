//! The operators against the same computation in f64, at ordinary sizes and at the ends of what the format allows.

use super::*;
use crate::op::made::{Made, Noise};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

mod attention;

/// `2^n`.
fn power(n: i32) -> f64 {
    2f64.powi(n)
}

/// What a scale stands for, in a quantizer with so many steps.
fn unit(scale: Scale, steps: f64) -> f64 {
    f64::from(scale.mantissa) * power(scale.exponent.into()) / steps
}

fn spec(norm_eps_q32: u32) -> SpecHeader {
    SpecHeader { norm_eps_q32, ..SpecHeader::default() }
}

/// Holds each output of a linear to one rounding: half a unit, and what f64 itself loses.
fn check_linear(weights: &[i8], cols: usize, linear: &Made, bias: &[i32], x: &[i16], scales: &[Scale]) {
    let rows = weights.len() / cols;
    let entry = linear.entry;
    let row_scales = linear.tensor().scales();
    let mut out = vec![7; scales.len() * rows];
    Int8.linear(&linear.tensor(), x, scales, &mut out);
    for (t, (x, scale)) in x.chunks_exact(cols).zip(scales).enumerate() {
        for (row, weights) in weights.chunks_exact(cols).enumerate() {
            let sum: i64 = weights.iter().zip(x).map(|(w, x)| i64::from(*w) * i64::from(*x)).sum();
            let factor = f64::from(row_scales[row]) * power(-i32::from(entry.scale_shift)) * unit(*scale, 1.0);
            let ends = (f64::from(i32::MIN), f64::from(i32::MAX));
            let product = (sum as f64 * factor * power(entry.out_frac.into())).clamp(ends.0, ends.1);
            let wanted = (product + f64::from(bias[row])).clamp(ends.0, ends.1);
            let found = f64::from(out[t * rows + row]);
            assert!((found - wanted).abs() <= 0.5 + wanted.abs() * power(-40), "row {row}: {found}, not {wanted}");
        }
        let mut logits = vec![];
        Int8.logits(&linear.tensor(), Rows::All, x, *scale, |first, block| {
            assert_eq!(first, logits.len());
            let Logits::Fixed { values, frac } = block else { panic!("{block:?}") };
            assert_eq!(frac, entry.out_frac);
            logits.extend_from_slice(values);
        });
        assert_eq!(logits, &out[t * rows..][..rows], "logits are the linear, nothing added");
    }
}

proptest! {
    #[test]
    fn a_linear_rounds_once(
        rows in 1usize..14, cols in 1usize..40, tokens in 1usize..5, bits in 8u8..=16, seed: u64,
        scale_shift in 20i8..40, out_frac in -4i8..=20, with_bias: bool,
    ) {
        let mut noise = Noise(seed);
        let weights: Vec<i8> = (0..rows * cols).map(|_| noise.within(127) as i8).collect();
        let row_scales: Vec<u16> = (0..rows).map(|_| noise.bits() as u16).collect();
        let bias: Vec<i32> = (0..rows).map(|_| if with_bias { noise.within(1 << 24) as i32 } else { 0 }).collect();
        let steps = (1i64 << (bits - 1)) - 1;
        let x: Vec<i16> = (0..tokens * cols).map(|_| noise.within(steps) as i16).collect();
        let scales: Vec<Scale> = (0..tokens)
            .map(|_| Scale { mantissa: (1 << 14) + noise.bits() as u16 % (1 << 14), exponent: noise.within(12) as i16 })
            .collect();
        let mut linear = Made::matrix(rows, cols, &weights).scales(&row_scales);
        if with_bias {
            linear = linear.bias(&bias);
        }
        (linear.entry.scale_shift, linear.entry.out_frac, linear.entry.in_bits) = (scale_shift, out_frac, bits);
        check_linear(&weights, cols, &linear, &bias, &x, &scales);
    }
}

/// 512 columns of 16 bits, or 4096 of 12, the widest a blob may have: every product at its largest, of one sign and of
/// both.
#[test]
fn the_widest_sums_are_exact_and_saturate() {
    for (cols, largest) in [(512, i16::MAX), (4096, 2047)] {
        let signs: [fn(usize) -> i16; 3] = [|_| 1, |_| -1, |i| if i % 2 == 0 { 1 } else { -1 }];
        let x: Vec<i16> = signs.iter().flat_map(|sign| (0..cols).map(move |i| sign(i) * largest)).collect();
        let weights: Vec<i8> = (0..5 * cols).map(|i| [127, -128, 1, -1, 0][i / cols]).collect();
        let bias = [i32::MAX, i32::MIN, 0, -1, 1];
        for (shift, mantissa) in [(40, 1 << 15), (16, 1 << 15), (62, 1 << 14), (30, 0)] {
            let mut linear = Made::matrix(5, cols, &weights).scales(&[u16::MAX, u16::MAX, 1, 32_768, 5]).bias(&bias);
            linear.entry.scale_shift = shift;
            check_linear(&weights, cols, &linear, &bias, &x, &[Scale { mantissa, exponent: 0 }; 3]);
        }
    }
}

/// Holds an embedded row to half a unit of the hidden state, two of Q20, and the multiplier's one rounding.
fn check_embedding(table: &Made, weights: &[i8], scales: &[u16], steps: &[u32], id: u16, position: u16) {
    let cols = table.entry.cols as usize;
    let steps_made = Made::vector(steps);
    let mut out = vec![0; cols];
    Int8.embed(&table.tensor(), &steps_made.tensor(), id, position, &mut out);
    let scale = f64::from(scales[id as usize]);
    let factor = scale * f64::from(table.entry.embed_scale) * power(-i32::from(table.entry.embed_shift));
    let multiplier = scale * f64::from(table.entry.embed_scale) * power(-16);
    let frac = i32::from(table.entry.embed_frac);
    for (col, found) in out.into_iter().enumerate() {
        let phase =
            f64::from(steps[col % steps.len()].wrapping_mul(position.into())) * core::f64::consts::TAU * power(-32);
        let sinusoid = if col < steps.len() { phase.sin() } else { phase.cos() };
        let part = f64::from(weights[id as usize * cols + col]) * factor;
        let wanted = (part + sinusoid).clamp(-32768.0 * power(-frac), 32767.0 * power(-frac));
        let bound = 0.5 * power(-frac) + power(-19) + part.abs() * 0.5 / multiplier.max(1.0);
        let found = f64::from(found) * power(-frac);
        assert!((found - wanted).abs() <= bound, "column {col} of {cols}: {found}, not {wanted} +- {bound}");
    }
}

proptest! {
    #[test]
    fn an_embedding_is_row_plus_sinusoid(
        rows in 1usize..10, cols in 1usize..40, position in 0u16..512, frac in 8i8..=14, seed: u64,
    ) {
        let mut noise = Noise(seed);
        let weights: Vec<i8> = (0..rows * cols).map(|_| noise.within(127) as i8).collect();
        let scales: Vec<u16> = (0..rows).map(|_| 1 + noise.bits() as u16 / 2).collect();
        let steps: Vec<u32> = (0..cols.div_ceil(2)).map(|_| noise.bits() as u32).collect();
        let mut table = Made::matrix(rows, cols, &weights).scales(&scales);
        table.entry.embed_scale = (1 << 30) + (noise.bits() as u32 >> 2);
        (table.entry.embed_shift, table.entry.embed_frac) = (52, frac);
        for id in 0..rows as u16 {
            check_embedding(&table, &weights, &scales, &steps, id, position);
        }
    }
}

#[test]
fn an_embedding_saturates_and_zeros_leave_the_sinusoid() {
    let weights = [127, -128, 127, -128, 0, 0, 0, 0];
    let scales = [u16::MAX, 1];
    let mut table = Made::matrix(2, 4, &weights).scales(&scales);
    (table.entry.embed_scale, table.entry.embed_shift, table.entry.embed_frac) = (0x7fff_ffff, 30, 14);
    for position in [0, 1, 511] {
        check_embedding(&table, &weights, &scales, &[683_565_276, 6_835_653], 0, position);
        check_embedding(&table, &weights, &scales, &[683_565_276, 6_835_653], 1, position);
    }
}

/// One norm: its input, parameters and formats.
struct Norm<'a> {
    hidden: &'a [i16],
    wide: &'a [i32],
    gamma: &'a [i16],
    beta: &'a [i32],
    eps_q32: u32,
    frac: i8,
    wide_frac: i8,
    gamma_frac: i8,
    out_frac: i8,
}

impl Norm<'_> {
    /// Runs the operator and holds it to f64. A centred value is off by half a unit of `wide` each for the residual
    /// and the mean, and by half of its 24th bit; it moves the deviation as much, hence twice, over the deviation. The
    /// sum with beta is cut eight bits below the output's last, and the factor before that costs half as much.
    fn check(&self) {
        let mut norm = Made::vector(self.gamma).bias(self.beta);
        (norm.entry.scale_shift, norm.entry.out_frac, norm.entry.in_bits) = (self.gamma_frac, self.out_frac, 16);
        let (mut hidden, mut wide) = (self.hidden.to_vec(), self.wide.to_vec());
        Int8.add_norm(&norm.tensor(), &spec(self.eps_q32), &mut hidden, self.frac, &mut wide, self.wide_frac);

        let unit = power(-i32::from(self.wide_frac));
        let ends = (f64::from(i32::MIN) * unit, f64::from(i32::MAX) * unit);
        let residual = self.hidden.iter().map(|h| f64::from(*h) * power(-i32::from(self.frac)));
        let sums: Vec<f64> =
            residual.zip(self.wide).map(|(h, w)| (h + f64::from(*w) * unit).clamp(ends.0, ends.1)).collect();
        let count = sums.len() as f64;
        let mean = sums.iter().sum::<f64>() / count;
        let variance = sums.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + f64::from(self.eps_q32) * power(-32)).sqrt();
        let largest = sums.iter().fold(0f64, |m, x| m.max((x - mean).abs()));
        let off = unit + largest * power(-23);
        for (i, found) in hidden.into_iter().enumerate() {
            let normal = (sums[i] - mean) / deviation;
            let gamma = f64::from(self.gamma[i]) * power(-i32::from(self.gamma_frac));
            let out = power(-i32::from(self.out_frac));
            let wanted = normal * gamma + f64::from(self.beta[i]) * power(-16);
            let wanted = wanted.clamp(-32768.0 * out, 32767.0 * out);
            let bound =
                (0.5 + 1.5 * power(-8)) * out + gamma.abs() * (off / deviation * (1.0 + normal.abs()) + power(-22));
            let found = f64::from(found) * out;
            assert!((found - wanted).abs() <= bound, "element {i}: {found}, not {wanted} +- {bound}");
        }
    }
}

proptest! {
    #[test]
    fn a_norm_is_that_of_f64(
        d in 1usize..80, seed: u64, spread in 10u32..30, mean in -20i32..20, frac in 8i8..=14, wide_frac in 12i8..=16,
        out_frac in 8i8..=14,
    ) {
        let mut noise = Noise(seed);
        let norm = Norm {
            hidden: &(0..d).map(|_| noise.within(32767) as i16).collect::<Vec<_>>(),
            wide: &(0..d).map(|_| (mean << 20) + noise.within(1 << spread) as i32).collect::<Vec<_>>(),
            gamma: &(0..d).map(|_| noise.within(32767) as i16).collect::<Vec<_>>(),
            beta: &(0..d).map(|_| noise.within(1 << 17) as i32).collect::<Vec<_>>(),
            eps_q32: 42_950,
            gamma_frac: 14,
            frac, wide_frac, out_frac,
        };
        norm.check();
    }
}

/// Every element the same: beta alone remains, whatever the value and the width.
#[test]
fn no_variance_gives_beta() {
    for d in [1usize, 3, 512, 4096] {
        for (value, wide) in [(0, 0), (1, 0), (-32767, i32::MIN), (32767, i32::MAX), (5, 1 << 30)] {
            let (gamma, beta) = (vec![32767i16; d], vec![-70_001i32; d]);
            let mut norm = Made::vector(&gamma).bias(&beta);
            (norm.entry.scale_shift, norm.entry.out_frac) = (14, 12);
            let (mut hidden, mut wide) = (vec![value; d], vec![wide; d]);
            Int8.add_norm(&norm.tensor(), &spec(42_950), &mut hidden, 14, &mut wide, 16);
            assert_eq!(hidden, vec![-4375; d], "{d} of {value} + {wide:?}"); // -70001 / 16, rounded
        }
    }
}

/// 4096 elements, and inputs at the ends of i32: evenly to both sides, and one against all others, whose normalized
/// value is `sqrt(d - 1)`, the largest there is.
#[test]
fn norms_of_extreme_inputs_are_those_of_f64() {
    for d in [2usize, 5, 512, 4096] {
        let both: Vec<i32> = (0..d).map(|i| if i % 2 == 0 { i32::MAX } else { i32::MIN }).collect();
        let one = |of: i32, others: i32| (0..d).map(|i| if i == d / 2 { of } else { others }).collect::<Vec<_>>();
        let inputs =
            [both, one(i32::MAX, 0), one(i32::MIN, 0), one(i32::MAX, i32::MIN), one(i32::MIN, i32::MAX), one(9, 0)];
        for wide in &inputs {
            for (hidden, eps_q32) in [(0, 1), (32767, 42_950), (-32767, u32::MAX)] {
                let (gamma, beta) = (vec![16384; d], vec![0; d]);
                Norm {
                    hidden: &vec![hidden; d],
                    wide,
                    gamma: &gamma,
                    beta: &beta,
                    eps_q32,
                    frac: 14,
                    wide_frac: 16,
                    gamma_frac: 14,
                    out_frac: 8,
                }
                .check();
            }
        }
    }
}
