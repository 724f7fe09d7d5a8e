//! The operators bit for bit against loops that follow the written order one operation at a time.

use super::*;
use crate::engine::Room;
use crate::op::made::{Made, Noise};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

const MATHS: [Math; 2] = [Math::Libm, Math::Micromath];

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// Numbers of about one size, with all 24 bits of the significand: any other order would round otherwise.
fn floats(noise: &mut Noise, count: usize) -> Vec<f32> {
    (0..count).map(|_| noise.unit() as f32 * 3.0).collect()
}

fn halves(noise: &mut Noise, count: usize) -> Vec<f16> {
    (0..count).map(|_| f16::from_f32(noise.unit() as f32)).collect()
}

/// A sum in four lanes, element `i` in lane `i mod 4`, folded as (0 + 1) + (2 + 3).
fn four_lanes(values: &[f32]) -> f32 {
    let lane = |n: usize| {
        let mut sum = 0.0;
        for i in (n..values.len()).step_by(4) {
            sum += values[i];
        }
        sum
    };
    (lane(0) + lane(1)) + (lane(2) + lane(3))
}

proptest! {
    #[test]
    fn a_linear_sums_columns_in_order(
        rows in 1usize..14, cols in 1usize..40, tokens in 1usize..6, seed: u64, with_bias: bool,
    ) {
        let mut noise = Noise(seed);
        let weights = halves(&mut noise, rows * cols);
        let bias = if with_bias { floats(&mut noise, rows) } else { vec![0.0; rows] };
        let x = floats(&mut noise, tokens * cols);
        let mut linear = Made::floats(rows, cols, &weights);
        if with_bias {
            linear = linear.bias(&bias);
        }
        let mut wanted = vec![];
        for x in x.chunks(cols) {
            for row in 0..rows {
                let mut sum = 0f32;
                for col in 0..cols {
                    let product = x[col] * weights[row * cols + col].to_f32();
                    sum += product;
                }
                wanted.push(sum + bias[row]);
            }
        }
        let engine = F16 { math: Math::Libm };
        let mut found = vec![f32::NAN; tokens * rows];
        engine.linear(&linear.tensor(), &x, &[], &mut found);
        prop_assert_eq!(bits(&found), bits(&wanted));
        for (x, wanted) in x.chunks(cols).zip(wanted.chunks(rows)) {
            let mut logits = vec![];
            engine.logits(&linear.tensor(), Rows::All, x, (), |first, block| {
                assert_eq!(first, logits.len());
                let Logits::Float(values) = block else { panic!("{block:?}") };
                logits.extend_from_slice(values);
            });
            prop_assert_eq!(bits(&logits), bits(wanted));
        }
    }

    #[test]
    fn a_norm_follows_the_written_order(d in 1usize..50, seed: u64, eps_q32 in 1u32..100_000) {
        let mut noise = Noise(seed);
        let [hidden, wide, gamma, beta] = [0; 4].map(|_| floats(&mut noise, d));
        let norm = Made::vector(&gamma).bias(&beta);
        for math in MATHS {
            let sums: Vec<f32> = wide.iter().zip(&hidden).map(|(w, h)| w + h).collect();
            let mean = four_lanes(&sums) / d as f32;
            let centred: Vec<f32> = sums.iter().map(|x| x - mean).collect();
            let squares: Vec<f32> = centred.iter().map(|x| x * x).collect();
            let variance = four_lanes(&squares) / d as f32;
            let inverse = math.inverse_sqrt(variance + eps_q32 as f32 / 2f32.powi(32));
            let wanted: Vec<f32> = (0..d).map(|i| ((centred[i] * inverse) * gamma[i]) + beta[i]).collect();

            let (mut found, mut wide) = (hidden.clone(), wide.clone());
            let spec = SpecHeader { norm_eps_q32: eps_q32, ..SpecHeader::default() };
            F16 { math }.add_norm(&norm.tensor(), &spec, &mut found, 0, &mut wide, 0);
            prop_assert_eq!(bits(&found), bits(&wanted));
        }
    }

    #[test]
    fn attention_follows_the_written_order(heads in 1usize..5, head_dim in 1usize..20, len in 1usize..30, seed: u64) {
        let mut noise = Noise(seed);
        let d = heads * head_dim;
        let query = floats(&mut noise, d);
        let (keys, values) = (halves(&mut noise, len * d), halves(&mut noise, len * d));
        for math in MATHS {
            let mut wanted = vec![];
            for head in 0..heads {
                let at = |position: usize, i: usize| position * d + head * head_dim + i;
                let mut scores = vec![];
                for position in 0..len {
                    let products: Vec<f32> =
                        (0..head_dim).map(|i| query[head * head_dim + i] * keys[at(position, i)].to_f32()).collect();
                    scores.push(four_lanes(&products) * math.inverse_sqrt(head_dim as f32));
                }
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weights: Vec<f32> = scores.iter().map(|score| math.exp(score - largest)).collect();
                let mut sum = 0f32;
                for weight in &weights {
                    sum += weight;
                }
                for i in 0..head_dim {
                    let mut context = 0f32;
                    for (position, weight) in weights.iter().enumerate() {
                        let product = weight * values[at(position, i)].to_f32();
                        context += product;
                    }
                    wanted.push(context / sum);
                }
            }
            let mut found = query.clone();
            let room = Room::exact(len);
            let keys = Cached { rows: &keys, scales: &[], room, visible: len };
            let values = Cached { rows: &values, scales: &[], room, visible: len };
            let (mut scores, mut inputs) = (vec![f32::NAN; len + 3], vec![f32::NAN; len + head_dim]);
            let scratch = &mut AttendScratch { scores: &mut scores, inputs: &mut inputs, watched: None };
            F16 { math }.attend(&mut found, d, 0, keys, values, 0, heads, scratch);
            prop_assert_eq!(bits(&found), bits(&wanted));
        }
    }

    #[test]
    fn an_embedding_is_row_times_scale_plus_sinusoid(rows in 1usize..7, cols in 1usize..40, position in 0u16..512, seed: u64) {
        let mut noise = Noise(seed);
        let weights = halves(&mut noise, rows * cols);
        let steps: Vec<u32> = (0..cols.div_ceil(2)).map(|_| noise.bits() as u32).collect();
        let scale = noise.unit() as f32 * 8.0;
        let mut table = Made::floats(rows, cols, &weights);
        table.entry.embed_scale = scale.to_bits();
        let (id, mut found) = (rows - 1, vec![f32::NAN; cols]);
        F16 { math: Math::Libm }.embed(&table.tensor(), &Made::vector(&steps).tensor(), id as u16, position, &mut found);
        for (col, found) in found.into_iter().enumerate() {
            let phase = steps[col % steps.len()].wrapping_mul(position.into());
            let turned = if col < steps.len() { phase } else { phase.wrapping_add(1 << 30) };
            let sinusoid = crate::num::sine(turned) as f32 / 2f32.powi(30);
            let product = weights[id * cols + col].to_f32() * scale;
            prop_assert_eq!(found.to_bits(), (product + sinusoid).to_bits(), "column {}", col);
        }
    }
}
