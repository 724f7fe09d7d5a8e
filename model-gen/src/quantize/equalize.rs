//! Smoothing: channels between two linears are scaled so that outliers of the activations move into weights, where each
//! row has a scale of its own (after Xiao et al. 2022, "SmoothQuant", and Nagel et al. 2019, cross-layer equalization).
//! Only where it costs the device nothing: values and the output projection, queries and keys, and the two feed-forward
//! linears around a ReLU, through which positive factors pass.

use super::calibration::Calibration;
use super::moments::Moments;
use crate::import::Checkpoint;
use crate::import::checkpoint::{Attention, Linear};
use crate::import::config::Activation;
use crate::reference::Site;
use latimer::blob::layout::Role;

/// How much of the activations' spread moves into the weights: 0 nothing, 1 all.
const SHARE: f64 = 0.5;
/// Factors are kept within this and its inverse.
const LIMIT: f64 = 16.0;

/// The same function in other weights; `calibration` follows.
pub fn equalize(checkpoint: &mut Checkpoint, calibration: &mut Calibration) {
    let encoders = checkpoint.encoder.len();
    let relu = checkpoint.config.activation_function == Activation::Relu;
    for (block, layer) in (0..).zip(&mut checkpoint.encoder) {
        attention(&mut layer.self_attn, block, [Role::SelfQ, Role::SelfK, Role::SelfV, Role::SelfOut], calibration);
        if relu {
            smooth(&mut layer.fc1, &mut layer.fc2, block, [Role::Fc1, Role::Fc2], calibration);
        }
    }
    for (block, layer) in (encoders as u16..).zip(&mut checkpoint.decoder) {
        attention(&mut layer.self_attn, block, [Role::SelfQ, Role::SelfK, Role::SelfV, Role::SelfOut], calibration);
        attention(
            &mut layer.encoder_attn,
            block,
            [Role::CrossQ, Role::CrossK, Role::CrossV, Role::CrossOut],
            calibration,
        );
        if relu {
            smooth(&mut layer.fc1, &mut layer.fc2, block, [Role::Fc1, Role::Fc2], calibration);
        }
    }
}

fn attention(
    attention: &mut Attention,
    block: u16,
    [query, key, value, out]: [Role; 4],
    calibration: &mut Calibration,
) {
    smooth(&mut attention.v_proj, &mut attention.out_proj, block, [value, out], calibration);
    // Keys are cached in 8 bits with one scale a head: all channels of a head are given the same size.
    if let Some(moments) = calibration.linear(Site::new(block, key)) {
        let factors = normalized(&output_sizes(&attention.k_proj, &moments.input));
        let inverse: Vec<f64> = factors.iter().map(|f| 1.0 / f).collect();
        scale_rows(&mut attention.k_proj, Site::new(block, key), &inverse, calibration);
        scale_rows(&mut attention.q_proj, Site::new(block, query), &factors, calibration);
    }
}

/// Scales the channels from `first` to `second`.
fn smooth(
    first: &mut Linear,
    second: &mut Linear,
    block: u16,
    [first_role, second_role]: [Role; 2],
    calibration: &mut Calibration,
) {
    let Some(seen) = calibration.linear_mut(Site::new(block, second_role)) else { return };
    let moments = &mut seen.input;
    let sizes: Vec<f64> = (0..moments.width())
        .map(|j| {
            let activation = moments.product(j, j).sqrt();
            let column = (0..second.weight.rows).map(|i| f64::from(second.weight.row(i)[j]).powi(2)).sum::<f64>();
            let weight = (column / second.weight.rows as f64).sqrt();
            activation.max(1e-9).powf(SHARE) / weight.max(1e-9).powf(1.0 - SHARE)
        })
        .collect();
    let factors = normalized(&sizes);
    for row in second.weight.data.chunks_exact_mut(factors.len()) {
        row.iter_mut().zip(&factors).for_each(|(w, f)| *w = (f64::from(*w) * f) as f32);
    }
    moments.divide(&factors);
    let inverse: Vec<f64> = factors.iter().map(|f| 1.0 / f).collect();
    scale_rows(first, Site::new(block, first_role), &inverse, calibration);
}

/// Multiplies a linear's outputs; the derivatives by them shrink as they grow.
fn scale_rows(linear: &mut Linear, site: Site, factors: &[f64], calibration: &mut Calibration) {
    let cols = linear.weight.cols;
    let rows = linear.weight.data.chunks_exact_mut(cols).zip(&mut linear.bias);
    for ((row, bias), factor) in rows.zip(factors) {
        row.iter_mut().chain([bias]).for_each(|w| *w = (f64::from(*w) * factor) as f32);
    }
    if let Some(seen) = calibration.linear_mut(site) {
        seen.derivative.divide(factors);
    }
}

/// Sizes about their geometric mean, within the limit.
fn normalized(sizes: &[f64]) -> Vec<f64> {
    let mean = sizes.iter().map(|s| s.max(1e-12).ln()).sum::<f64>() / sizes.len() as f64;
    sizes.iter().map(|s| (s.max(1e-12).ln() - mean).exp().clamp(1.0 / LIMIT, LIMIT)).collect()
}

/// Root mean square of each output.
fn output_sizes(linear: &Linear, moments: &Moments) -> Vec<f64> {
    let mean = moments.mean();
    let rows = linear.weight.iter_rows().zip(&linear.bias);
    rows.map(|(row, &bias)| {
        let row: Vec<f64> = row.iter().map(|&w| w.into()).collect();
        let bias = f64::from(bias);
        let linear: f64 = row.iter().zip(&mean).map(|(w, m)| w * m).sum();
        let square: f64 =
            (0..row.len()).map(|i| row[i] * (0..row.len()).map(|j| row[j] * moments.product(i, j)).sum::<f64>()).sum();
        (square + 2.0 * bias * linear + bias * bias).max(0.0).sqrt()
    })
    .collect()
}
