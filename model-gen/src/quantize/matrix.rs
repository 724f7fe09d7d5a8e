//! Quantizing a matrix: a scale for each row, codes within it.

use super::hessian::Hessian;
use super::round::{Grid, compensated, descend, nearest};
use super::scales::RowScales;
use crate::import::checkpoint::Matrix;
use rayon::prelude::*;
use std::fmt;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 8 bits, a scale for each row.
    Int8,
    /// 8 bits in groups of so many columns, each with a scale of its own.
    Int8Groups(u8),
    /// 4 bits in groups of so many columns, each with a scale of its own.
    Int4(u8),
}

impl Width {
    fn grid(self) -> Grid {
        match self {
            Width::Int8 | Width::Int8Groups(_) => Grid::INT8,
            Width::Int4(_) => Grid::INT4,
        }
    }

    /// Highest magnitude that the row scale is made for, in code units.
    fn largest_code(self) -> f64 {
        match self {
            Width::Int8 | Width::Int8Groups(_) => 127.0,
            Width::Int4(_) => 7.0,
        }
    }

    /// Columns of a group, where there are groups.
    pub fn group(self) -> Option<usize> {
        match self {
            Width::Int8 => None,
            Width::Int8Groups(group) | Width::Int4(group) => Some(usize::from(group).max(1)),
        }
    }

    /// Largest scale of a group in the row's.
    fn group_steps(self) -> f64 {
        match self {
            Width::Int8 => 1.0,
            Width::Int8Groups(_) => 15.0,
            Width::Int4(_) => 255.0,
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Width::Int8 => f.write_str("int8"),
            Width::Int8Groups(group) => write!(f, "int8 by {group}"),
            Width::Int4(group) => write!(f, "int4 by {group}"),
        }
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

/// What errors cost.
pub enum Cost<'a> {
    /// All weights alike: rounding to nearest is best.
    Alike,
    /// Each row by itself, by a form of its own.
    Rows(&'a [Hessian]),
    /// `trace(G E A E^T)`: `A` of the columns, `G` of the rows.
    TwoSided {
        /// `A`.
        input: &'a Hessian,
        /// `G`.
        output: &'a Hessian,
    },
}

/// Fractions of a row's largest weight that are tried as the end of the grid.
fn clips(width: Width) -> impl Iterator<Item = f64> {
    let (lowest, steps) = match width {
        Width::Int8 | Width::Int8Groups(_) => (0.80, 32),
        Width::Int4(_) => (0.5, 22),
    };
    (0..=steps).map(move |i| 1.0 - (1.0 - lowest) * f64::from(i) / f64::from(steps))
}

/// Quantizes `matrix` at little cost; `steps` is what the runtime's input quantizer counts to.
pub fn quantize(matrix: &Matrix, steps: f64, width: Width, cost: &Cost) -> QuantizedMatrix {
    let groups = width.group().map_or(0, |group| matrix.cols.div_ceil(group));
    let ideal: Vec<f64> = matrix
        .iter_rows()
        .map(|row| {
            let largest = row.iter().fold(0f64, |m, &w| m.max(f64::from(w).abs())) / width.largest_code();
            largest / width.group_steps()
        })
        .collect();
    let mut scales = RowScales::of(&ideal, steps);
    let row_of = |i: usize| matrix.row(i).iter().map(|&w| w.into()).collect::<Vec<f64>>();
    let one = |row: &[f64], i: usize, rounding: Rounding, hessian: &Hessian| match width.group() {
        None => int8_row(row, &scales, i, rounding, hessian),
        Some(group) => grouped_row(row, &scales, i, width, group, rounding, hessian),
    };
    let rows: Vec<Row> = match cost {
        Cost::Alike => {
            let identity = Hessian::identity(matrix.cols);
            (0..matrix.rows).into_par_iter().map(|i| one(&row_of(i), i, Rounding::Nearest, &identity)).collect()
        }
        Cost::Rows(hessians) => {
            let calibrated = |i: usize| one(&row_of(i), i, Rounding::Calibrated, &hessians[i]);
            (0..matrix.rows).into_par_iter().map(calibrated).collect()
        }
        Cost::TwoSided { input, output } => {
            let mut left: Vec<Vec<f64>> = (0..matrix.rows).map(row_of).collect();
            let mut rows: Vec<Row> = Vec::with_capacity(matrix.rows);
            for i in 0..matrix.rows {
                let row = one(&left[i], i, Rounding::Calibrated, input);
                // What this row does wrong the rows after it make up for, as columns do within a row.
                let factor = output.factor(i);
                let unit = scales.unit_of(row.mantissa);
                let error: Vec<f64> = left[i]
                    .iter()
                    .enumerate()
                    .map(|(c, w)| (w - row.codes[c] * row.scale(c) * unit) / factor[0])
                    .collect();
                for (left, f) in left[i..].iter_mut().zip(factor) {
                    left.iter_mut().zip(&error).for_each(|(w, e)| *w -= e * f);
                }
                rows.push(row);
            }
            let wanted: Vec<f64> = matrix.data.iter().map(|&w| w.into()).collect();
            settle(&wanted, &scales, &mut rows, width, input, output);
            rows
        }
    };
    let mut quantized = QuantizedMatrix {
        codes: Vec::with_capacity(matrix.data.len()),
        group_scales: Vec::with_capacity(matrix.rows * groups),
        scales: scales.clone(),
        width,
        weights: Matrix::zeros(0, matrix.cols),
    };
    for (i, row) in rows.iter().enumerate() {
        scales.mantissas[i] = row.mantissa;
        let unit = scales.unit(i);
        quantized.codes.extend(row.codes.iter().map(|&code| code as i8));
        quantized.group_scales.extend(&row.groups);
        let weights: Vec<f32> =
            (0..).zip(&row.codes).map(|(col, code)| (code * row.scale(col) * unit) as f32).collect();
        quantized.weights.push_row(&weights);
    }
    quantized.scales = scales;
    quantized
}

/// One quantized row.
struct Row {
    mantissa: u16,
    codes: Vec<f64>,
    groups: Vec<u8>,
    /// Columns of a group.
    group: usize,
}

impl Row {
    fn scale(&self, col: usize) -> f64 {
        self.groups.get(col / self.group).map_or(1.0, |scale| f64::from(*scale))
    }
}

/// Single steps of single codes of a whole matrix, as long as one lowers the cost.
fn settle(wanted: &[f64], scales: &RowScales, rows: &mut [Row], width: Width, input: &Hessian, output: &Hessian) {
    let cols = input.columns();
    let grid = width.grid();
    let error: Vec<f64> = rows
        .iter()
        .zip(wanted.chunks_exact(cols))
        .flat_map(|(row, w)| {
            let unit = scales.unit_of(row.mantissa);
            w.iter().enumerate().map(move |(c, w)| row.codes[c] * row.scale(c) * unit - w)
        })
        .collect();
    // G E A, kept up to date.
    let by_input: Vec<f64> = error
        .par_chunks_exact(cols)
        .flat_map_iter(|e| (0..cols).map(move |c| input.row(c).iter().zip(e).map(|(h, e)| h * e).sum::<f64>()))
        .collect();
    let mut gradient = vec![0.0; error.len()];
    gradient.par_chunks_exact_mut(cols).enumerate().for_each(|(r, gradient)| {
        for (g, part) in output.row(r).iter().zip(by_input.chunks_exact(cols)) {
            gradient.iter_mut().zip(part).for_each(|(sum, x)| *sum += g * x);
        }
    });
    for _ in 0..SWEEPS {
        let mut moved = false;
        for (r, row) in rows.iter_mut().enumerate() {
            let unit = scales.unit_of(row.mantissa);
            for c in 0..cols {
                let (step, curvature) = (unit * row.scale(c), output.row(r)[r] * input.row(c)[c]);
                let slope = gradient[r * cols + c];
                let code = grid.nearest(row.codes[c] - slope / (curvature * step));
                let change = (code - row.codes[c]) * step;
                if change == 0.0 || change * (2.0 * slope + change * curvature) >= -1e-9 * curvature * step * step {
                    continue;
                }
                row.codes[c] = code;
                moved = true;
                for (gradient, g) in gradient.chunks_exact_mut(cols).zip(output.row(r)) {
                    let factor = change * g;
                    gradient.iter_mut().zip(input.row(c)).for_each(|(sum, h)| *sum += factor * h);
                }
            }
        }
        if !moved {
            break;
        }
    }
}

/// Sweeps over a matrix at most.
const SWEEPS: usize = 8;

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
            best = Some((error, Row { mantissa, codes, groups: Vec::new(), group: 1 }));
        }
    }
    best.expect("at least one clip is tried").1
}

fn error_of(row: &[f64], codes: &[f64], units: &[f64], hessian: &Hessian) -> f64 {
    let error: Vec<f64> = codes.iter().zip(units).zip(row).map(|((code, unit), w)| code * unit - w).collect();
    hessian.error(&error)
}

/// Fractions of a row's largest scale that are tried as what the steps of its groups' scales are worth.
const ROW_CLIPS: [f64; 6] = [1.0, 0.97, 0.94, 0.91, 0.88, 0.85];

fn grouped_row(
    row: &[f64],
    scales: &RowScales,
    i: usize,
    width: Width,
    group: usize,
    rounding: Rounding,
    hessian: &Hessian,
) -> Row {
    let mut best: Option<(f64, Row)> = None;
    for clip in ROW_CLIPS {
        let mantissa = (f64::from(scales.mantissas[i]) * clip).ceil() as u16;
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
            let scale = group_scale(part, &weights, unit, width);
            groups.push(scale);
            Some(f64::from(scale) * unit)
        };
        let (codes, error) = match rounding {
            Rounding::Calibrated => {
                let (mut codes, units) = compensated(row, hessian, width.grid(), group_unit);
                let error = descend(row, &units, hessian, width.grid(), &mut codes);
                (codes, error)
            }
            Rounding::Nearest => {
                let units: Vec<f64> = (0..row.len())
                    .scan(unit, |unit, col| {
                        *unit = group_unit(col, &row[col..]).unwrap_or(*unit);
                        Some(*unit)
                    })
                    .collect();
                let codes = nearest(row, &units, width.grid());
                let error = error_of(row, &codes, &units, hessian);
                (codes, error)
            }
        };
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, Row { mantissa, codes, groups, group }));
        }
    }
    best.expect("at least one clip is tried").1
}

/// The scale, in steps of `unit`, with which rounding `part` to nearest makes the least weighted error.
fn group_scale(part: &[f64], weights: &[f64], unit: f64, width: Width) -> u8 {
    let (grid, largest) = (width.grid(), part.iter().fold(0f64, |m, w| m.max(w.abs())) / width.largest_code());
    let (mut best, mut tried) = ((f64::INFINITY, 1), 0.0);
    for clip in clips(width) {
        // Up, so that the first holds the largest weight.
        let scale = (largest * clip / unit).ceil().clamp(1.0, width.group_steps());
        if scale == tried {
            continue;
        }
        tried = scale;
        let step = scale * unit;
        let errors = part.iter().zip(weights).map(|(w, weight)| {
            let error = grid.nearest(w / step) * step - w;
            weight * error * error
        });
        let error: f64 = errors.sum();
        if error < best.0 {
            best = (error, scale as u8);
        }
    }
    best.1
}
