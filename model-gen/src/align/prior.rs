//! The prior over source positions: `exp(-tension * |i/m - j/n|)`, and a fixed share for "nothing".

/// Probability that a target token stands for no source token, as in `fast_align`.
const NULL: f64 = 0.08;
/// Where the tension starts, and between what it stays.
const START: f64 = 4.0;
const RANGE: [f64; 2] = [0.1, 14.0];
/// Step of the ascent on the tension, by the difference of mean distances.
const STEP: f64 = 20.0;

/// How much links keep to the diagonal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prior {
    tension: f64,
}

impl Prior {
    /// All positions are as likely.
    pub const fn flat() -> Self {
        Prior { tension: 0.0 }
    }

    /// Positions near the diagonal are likelier.
    pub const fn diagonal() -> Self {
        Prior { tension: START }
    }

    /// Distance of a link from the diagonal, 0 to 1: of position `i` of `m` and position `j` of `n`.
    pub fn distance(i: usize, j: usize, m: usize, n: usize) -> f64 {
        ((i + 1) as f64 / m as f64 - (j + 1) as f64 / n as f64).abs()
    }

    fn weights(self, j: usize, m: usize, n: usize) -> impl Iterator<Item = (f64, f64)> + Clone {
        (0..m).map(move |i| {
            let distance = Self::distance(i, j, m, n);
            ((-self.tension * distance).exp(), distance)
        })
    }

    /// Probabilities of the `m` source positions for target position `j`, then of "nothing".
    pub fn row(self, j: usize, m: usize, n: usize) -> impl Iterator<Item = f64> {
        let total: f64 = self.weights(j, m, n).map(|(weight, _)| weight).sum();
        let null = if m == 0 { 1.0 } else { NULL };
        self.weights(j, m, n).map(move |(weight, _)| (1.0 - NULL) * weight / total).chain([null])
    }

    /// Mean distance of a link to a source token.
    pub fn expected_distance(self, j: usize, m: usize, n: usize) -> f64 {
        let sums = self.weights(j, m, n).fold((0.0, 0.0), |(all, far), (w, d)| (all + w, far + w * d));
        if sums.0 > 0.0 { sums.1 / sums.0 } else { 0.0 }
    }

    /// Moves the tension so that the prior's mean distance nears the one found, over `count` links.
    pub fn adapt(&mut self, found: f64, expected: f64, count: f64) {
        if count > 0.0 {
            self.tension = (self.tension + STEP * (expected - found) / count).clamp(RANGE[0], RANGE[1]);
        }
    }
}
