//! Ranges of activations: what the float model puts into each linear, token by token. A token's largest magnitude sets
//! its scale when it is quantized, and its ratio to the root of the mean square says how much of that scale a few
//! outliers take.

use super::site_name;
use crate::reference::{Site, Tap};
use serde::Serialize;
use std::collections::BTreeMap;

/// Inputs of one linear over all tokens it saw.
#[derive(Clone, Debug, Serialize)]
pub struct ActivationRange {
    /// `encoder.L.role`, `decoder.L.role` (layers from 1), or `output`.
    pub site: String,
    /// Tokens it was used on.
    pub tokens: usize,
    /// Smallest of the tokens' largest magnitudes.
    pub min: f32,
    /// Their median.
    pub median: f32,
    /// The value that 99 of 100 stay within.
    pub p99: f32,
    /// The largest.
    pub max: f32,
    /// Median of the tokens' ratios of largest magnitude to root mean square.
    pub crest_median: f32,
    /// The largest ratio; at most the square root of the width.
    pub crest_max: f32,
}

/// One token's input to one linear.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    largest: f32,
    crest: f32,
}

impl Sample {
    fn of(x: &[f32]) -> Self {
        let (mut largest, mut squares) = (0f32, 0f32);
        for x in x {
            largest = largest.max(x.abs());
            squares += x * x;
        }
        // A vector of zeros has no outliers.
        let crest = if squares > 0.0 { largest / (squares / x.len() as f32).sqrt() } else { 1.0 };
        Sample { largest, crest }
    }
}

/// Collects one sample a token and linear.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs(BTreeMap<Site, Vec<Sample>>);

impl Tap for Inputs {
    fn input(&mut self, site: Site, x: &[f32]) {
        self.0.entry(site).or_default().push(Sample::of(x));
    }
}

impl Inputs {
    /// Adds another phrase's samples.
    pub fn add(&mut self, other: &Self) {
        for (site, samples) in &other.0 {
            self.0.entry(*site).or_default().extend(samples);
        }
    }

    /// The ranges, in the order of blocks and roles.
    pub fn ranges(&self, encoders: usize) -> Vec<ActivationRange> {
        let range = |(site, samples): (&Site, &Vec<Sample>)| {
            let sorted = |of: fn(&Sample) -> f32| {
                let mut values: Vec<f32> = samples.iter().map(of).collect();
                values.sort_by(f32::total_cmp);
                values
            };
            let (largest, crests) = (sorted(|sample| sample.largest), sorted(|sample| sample.crest));
            ActivationRange {
                site: site_name(encoders, site.block, site.role()),
                tokens: samples.len(),
                min: quantile(&largest, 0.0),
                median: quantile(&largest, 0.5),
                p99: quantile(&largest, 0.99),
                max: quantile(&largest, 1.0),
                crest_median: quantile(&crests, 0.5),
                crest_max: quantile(&crests, 1.0),
            }
        };
        self.0.iter().map(range).collect()
    }
}

/// The smallest value that a share `q` of the sorted values does not exceed.
fn quantile(sorted: &[f32], q: f64) -> f32 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latimer::blob::layout::Role;

    #[test]
    fn quantiles_are_values_that_occur() {
        let values: Vec<f32> = (1..=200u8).map(f32::from).collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|q| quantile(&values, q)), [1.0, 100.0, 198.0, 200.0]);
        assert_eq!([0.0, 0.5, 1.0].map(|q| quantile(&[7.0], q)), [7.0; 3]);
    }

    #[test]
    fn phrases_add_up_and_outliers_show() {
        let (mut sum, mut other) = (Inputs::default(), Inputs::default());
        sum.input(Site::new(0, Role::Fc1), &[0.0; 4]);
        other.input(Site::new(0, Role::Fc1), &[0.0, -6.0, 0.0, 0.0]);
        other.input(Site::OUTPUT, &[1.0, -1.0]);
        sum.add(&other);
        let ranges = sum.ranges(1);
        assert_eq!(ranges.iter().map(|r| r.site.as_str()).collect::<Vec<_>>(), ["encoder.1.fc1", "output"]);
        let fc1 = &ranges[0];
        assert_eq!((fc1.tokens, fc1.min, fc1.max), (2, 0.0, 6.0));
        // One of four elements holds everything: sqrt(4).
        assert_eq!((fc1.crest_median, fc1.crest_max), (1.0, 2.0));
        assert_eq!(ranges[1].crest_max, 1.0);
    }
}
