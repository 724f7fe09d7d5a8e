//! Rounding one row of weights: to nearest, or so that the errors make up for each other.

use super::hessian::Hessian;

/// Sweeps of single steps at most; few rows need more than three.
const SWEEPS: usize = 20;

/// The codes that a row may take.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Lowest code.
    pub low: f64,
    /// Highest code.
    pub high: f64,
}

impl Grid {
    /// 8-bit weights, symmetric.
    pub const INT8: Self = Self { low: -127.0, high: 127.0 };
    /// 4-bit weights.
    pub const INT4: Self = Self { low: -8.0, high: 7.0 };

    /// The nearest code.
    pub fn nearest(self, x: f64) -> f64 {
        x.round().clamp(self.low, self.high)
    }
}

/// Nearest codes: `w[i] / unit[i]`.
pub fn nearest(w: &[f64], unit: &[f64], grid: Grid) -> Vec<f64> {
    w.iter().zip(unit).map(|(w, unit)| grid.nearest(w / unit)).collect()
}

/// Codes column by column, each column's error spread over those after it (GPTQ), the units found when a group begins.
pub fn compensated(
    w: &[f64],
    hessian: &Hessian,
    grid: Grid,
    mut unit_at: impl FnMut(usize, &[f64]) -> Option<f64>,
) -> (Vec<f64>, Vec<f64>) {
    let mut left = w.to_vec();
    let (mut codes, mut units) = (Vec::with_capacity(w.len()), Vec::with_capacity(w.len()));
    let mut unit = 1.0;
    for i in 0..w.len() {
        unit = unit_at(i, &left[i..]).unwrap_or(unit);
        let code = grid.nearest(left[i] / unit);
        let factor = hessian.factor(i);
        let error = (left[i] - code * unit) / factor[0];
        left[i..].iter_mut().zip(factor).for_each(|(w, f)| *w -= error * f);
        codes.push(code);
        units.push(unit);
    }
    (codes, units)
}

/// Single steps of single codes as long as one lowers the error; returns it.
pub fn descend(w: &[f64], unit: &[f64], hessian: &Hessian, grid: Grid, codes: &mut [f64]) -> f64 {
    let error: Vec<f64> = codes.iter().zip(unit).zip(w).map(|((code, unit), w)| code * unit - w).collect();
    // H e, kept up to date.
    let mut gradient: Vec<f64> =
        (0..w.len()).map(|i| hessian.row(i).iter().zip(&error).map(|(h, e)| h * e).sum()).collect();
    let mut total: f64 = gradient.iter().zip(&error).map(|(g, e)| g * e).sum();
    for _ in 0..SWEEPS {
        let mut moved = false;
        for i in 0..w.len() {
            let row = hessian.row(i);
            // The best whole number of steps for this code alone.
            let wanted = codes[i] - gradient[i] / (row[i] * unit[i]);
            let code = grid.nearest(wanted);
            let step = (code - codes[i]) * unit[i];
            let change = step * (2.0 * gradient[i] + step * row[i]);
            if step != 0.0 && change < -1e-12 * total {
                codes[i] = code;
                gradient.iter_mut().zip(row).for_each(|(g, h)| *g += step * h);
                total += change;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantize::moments::Moments;
    use crate::testing::SplitMix64;

    /// Inputs that hang together: each element is half the one before.
    fn hessian(n: usize, random: &mut SplitMix64) -> Hessian {
        let mut moments = Moments::new(n);
        for _ in 0..400 {
            let mut last = 0.0;
            let x: Vec<f32> = (0..n)
                .map(|_| {
                    last = 0.7 * last + random.uniform(0.0, 1.0);
                    last
                })
                .collect();
            moments.note(&x);
        }
        Hessian::of(&moments, true).unwrap()
    }

    #[test]
    fn each_way_of_rounding_errs_less_than_the_one_before() {
        let mut random = SplitMix64::new(4);
        let (mut sums, n) = ([0.0; 3], 24);
        let hessian = hessian(n, &mut random);
        for _ in 0..20 {
            let w: Vec<f64> = (0..n).map(|_| f64::from(random.uniform(0.0, 3.0))).collect();
            let units = vec![1.0; n];
            let error = |codes: &[f64]| {
                let error: Vec<f64> = codes.iter().zip(&w).map(|(code, w)| code - w).collect();
                hessian.error(&error)
            };
            let near = nearest(&w, &units, Grid::INT4);
            let (mut codes, found) = compensated(&w, &hessian, Grid::INT4, |col, _| (col == 0).then_some(1.0));
            assert_eq!(found, units);
            let before = error(&codes);
            let total = descend(&w, &units, &hessian, Grid::INT4, &mut codes);
            assert!((total - error(&codes)).abs() < 1e-9 && total <= before + 1e-9, "{total} {before}");
            assert!(codes.iter().all(|code| code.fract() == 0.0 && (-8.0..=7.0).contains(code)));
            for (sum, error) in sums.iter_mut().zip([error(&near), before, total]) {
                *sum += error;
            }
        }
        println!("{sums:?}");
        assert!(sums[1] < 0.8 * sums[0] && sums[2] < sums[1], "{sums:?}");
    }

    #[test]
    fn columns_that_know_nothing_of_each_other_round_to_nearest() {
        let w = [0.4, -1.6, 2.5, 9.0, -9.0];
        let (codes, _) = compensated(&w, &Hessian::identity(5), Grid::INT4, |col, _| (col == 0).then_some(1.0));
        assert_eq!(codes, nearest(&w, &[1.0; 5], Grid::INT4));
        assert_eq!(codes[3..], [7.0, -8.0]);
    }
}
