//! Quantizing a matrix: a scale for each row, codes within it.

use super::hessian::Hessian;
use super::round::{Grid, compensated, descend, nearest};
use super::scales::RowScales;
use crate::import::checkpoint::Matrix;
use rayon::prelude::*;
use std::borrow::Cow;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 8 bits, a scale for each row.
    Int8,
    /// 4 bits in groups of so many columns, each with a scale of its own.
    Int4(u8),
}

impl Width {
    /// Lowest and highest code.
    pub fn codes(self) -> (f32, f32) {
        let grid = match self {
            Width::Int8 => Grid::INT8,
            Width::Int4(_) => Grid::INT4,
        };
        (grid.low as f32, grid.high as f32)
    }

    /// Highest magnitude that the row scale is made for, in code units.
    fn largest_code(self) -> f64 {
        match self {
            Width::Int8 => 127.0,
            Width::Int4(_) => 7.0,
        }
    }
}

impl QuantizedMatrix {
    /// What one code unit is worth at a place.
    pub fn unit(&self, row: usize, col: usize) -> f64 {
        let scale = match self.width {
            Width::Int8 => 1,
            Width::Int4(group) => {
                let groups = self.weights.cols.div_ceil(group.into());
                self.group_scales[row * groups + col / usize::from(group)]
            }
        };
        self.scales.unit(row) * f64::from(scale)
    }
}

/// How codes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest code.
    Nearest,
    /// Each error made up for by the columns that follow, then by single steps.
    Calibrated,
}

/// A quantized matrix. A weight is `code * group scale (1 where there are none) * unit of the row`.
#[derive(Clone, Debug)]
pub struct QuantizedMatrix {
    /// Row-major.
    pub codes: Vec<i8>,
    /// Scales of the groups, row-major; empty for 8-bit weights.
    pub group_scales: Vec<u8>,
    /// Row scales.
    pub scales: RowScales,
    /// How the weights are stored.
    pub width: Width,
    /// The weights that the runtime will see.
    pub weights: Matrix,
}

/// What a row's error costs: one form for all rows, or one for each.
pub type RowHessian<'a> = dyn Fn(usize) -> Cow<'a, Hessian> + Sync + 'a;

/// Fractions of a row's largest weight that are tried as the end of the grid.
fn clips(width: Width) -> impl Iterator<Item = f64> {
    let (lowest, steps) = match width {
        Width::Int8 => (0.80, 32),
        Width::Int4(_) => (0.5, 22),
    };
    (0..=steps).map(move |i| 1.0 - (1.0 - lowest) * f64::from(i) / f64::from(steps))
}

/// Quantizes `matrix` so that `hessian` of each row's error is small; `steps` is what the runtime's input quantizer
/// counts to.
pub fn quantize(
    matrix: &Matrix,
    steps: f64,
    width: Width,
    rounding: Rounding,
    hessian: &RowHessian,
) -> QuantizedMatrix {
    let groups = |cols: usize| match width {
        Width::Int8 => 0,
        Width::Int4(group) => cols.div_ceil(group.into()),
    };
    let ideal: Vec<f64> = matrix
        .iter_rows()
        .map(|row| {
            let largest = row.iter().fold(0f64, |m, &w| m.max(f64::from(w).abs())) / width.largest_code();
            if matches!(width, Width::Int8) { largest } else { largest / GROUP_STEPS }
        })
        .collect();
    let mut scales = RowScales::of(&ideal, steps);
    let rows: Vec<Row> = (0..matrix.rows)
        .into_par_iter()
        .map(|i| {
            let row: Vec<f64> = matrix.row(i).iter().map(|&w| w.into()).collect();
            match width {
                Width::Int8 => int8_row(&row, &scales, i, rounding, &hessian(i)),
                Width::Int4(group) => int4_row(&row, &scales, i, group.into(), rounding, &hessian(i)),
            }
        })
        .collect();
    let mut quantized = QuantizedMatrix {
        codes: Vec::with_capacity(matrix.data.len()),
        group_scales: Vec::with_capacity(matrix.rows * groups(matrix.cols)),
        scales: scales.clone(),
        width,
        weights: Matrix::zeros(0, matrix.cols),
    };
    for (i, row) in rows.iter().enumerate() {
        scales.mantissas[i] = row.mantissa;
        let unit = scales.unit(i);
        quantized.codes.extend(row.codes.iter().map(|&code| code as i8));
        quantized.group_scales.extend(&row.groups);
        let scale = |col: usize| match width {
            Width::Int8 => 1.0,
            Width::Int4(group) => f64::from(row.groups[col / usize::from(group)]),
        };
        let weights: Vec<f32> = (0..).zip(&row.codes).map(|(col, code)| (code * scale(col) * unit) as f32).collect();
        quantized.weights.push_row(&weights);
    }
    quantized.scales = scales;
    quantized
}

/// Steps of a group's scale in the row's.
const GROUP_STEPS: f64 = 255.0;

/// One quantized row.
struct Row {
    mantissa: u16,
    codes: Vec<f64>,
    groups: Vec<u8>,
}

fn int8_row(row: &[f64], scales: &RowScales, i: usize, rounding: Rounding, hessian: &Hessian) -> Row {
    let full = scales.mantissas[i];
    let mut best: Option<(f64, Row)> = None;
    for clip in clips(Width::Int8) {
        let mantissa = (f64::from(full) * clip).ceil() as u16;
        let unit = scales.unit_of(mantissa);
        let units = vec![unit; row.len()];
        let mut codes = nearest(row, &units, Grid::INT8);
        let error = match rounding {
            Rounding::Nearest => error_of(row, &codes, &units, hessian),
            Rounding::Calibrated => {
                codes = compensated(row, hessian, Grid::INT8, |col, _| (col == 0).then_some(unit)).0;
                descend(row, &units, hessian, Grid::INT8, &mut codes)
            }
        };
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, Row { mantissa, codes, groups: Vec::new() }));
        }
    }
    best.expect("at least one clip is tried").1
}

fn error_of(row: &[f64], codes: &[f64], units: &[f64], hessian: &Hessian) -> f64 {
    let error: Vec<f64> = codes.iter().zip(units).zip(row).map(|((code, unit), w)| code * unit - w).collect();
    hessian.error(&error)
}

fn int4_row(row: &[f64], scales: &RowScales, i: usize, group: usize, rounding: Rounding, hessian: &Hessian) -> Row {
    let mantissa = scales.mantissas[i];
    let unit = scales.unit_of(mantissa);
    let mut groups = Vec::with_capacity(row.len().div_ceil(group));
    let mut group_unit = |col: usize, left: &[f64]| -> Option<f64> {
        if !col.is_multiple_of(group) {
            return None;
        }
        let part = &left[..group.min(left.len())];
        let weights: Vec<f64> = match rounding {
            Rounding::Nearest => vec![1.0; part.len()],
            Rounding::Calibrated => (col..).take(part.len()).map(|col| hessian.factor(col)[0].powi(-2)).collect(),
        };
        let scale = group_scale(part, &weights, unit);
        groups.push(scale);
        Some(f64::from(scale) * unit)
    };
    let (mut codes, units) = match rounding {
        Rounding::Calibrated => compensated(row, hessian, Grid::INT4, group_unit),
        Rounding::Nearest => {
            let units: Vec<f64> = (0..row.len())
                .scan(unit, |unit, col| {
                    *unit = group_unit(col, &row[col..]).unwrap_or(*unit);
                    Some(*unit)
                })
                .collect();
            (nearest(row, &units, Grid::INT4), units)
        }
    };
    if rounding == Rounding::Calibrated {
        descend(row, &units, hessian, Grid::INT4, &mut codes);
    }
    Row { mantissa, codes, groups }
}

/// The scale, in steps of `unit`, with which rounding `part` to nearest makes the least weighted error.
fn group_scale(part: &[f64], weights: &[f64], unit: f64) -> u8 {
    let largest = part.iter().fold(0f64, |m, w| m.max(w.abs())) / Width::Int4(0).largest_code();
    let mut best = (f64::INFINITY, 1);
    for clip in clips(Width::Int4(0)) {
        let scale = (largest * clip / unit).round().clamp(1.0, GROUP_STEPS);
        let step = scale * unit;
        let errors = part.iter().zip(weights).map(|(w, weight)| {
            let error = (w / step).round().clamp(Grid::INT4.low, Grid::INT4.high) * step - w;
            weight * error * error
        });
        let error: f64 = errors.sum();
        if error < best.0 {
            best = (error, scale as u8);
        }
    }
    best.1
}
