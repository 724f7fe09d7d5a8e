//! Lexical probabilities, for the pairs of tokens that stand in a pair of texts.

use super::Pair;
use std::ops::Range;

/// Prior count of each entry of a row: below one, so that a row gathers on few.
const ALPHA: f64 = 0.01;

/// Sparse `p(target | source)`: a row for each source id, and one for "nothing", each with its targets in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Lexicon {
    /// Where each row starts, and where the last ends; the row of "nothing" is the last.
    starts: Vec<usize>,
    targets: Vec<u16>,
    probabilities: Vec<f32>,
}

impl Lexicon {
    /// Of every two tokens that some pair has, all as likely.
    pub(super) fn of(pairs: &[Pair]) -> Self {
        let sources = pairs.iter().flat_map(|pair| &pair.source).max().map_or(0, |&id| usize::from(id) + 1);
        let mut rows: Vec<Row> = vec![Row::default(); sources + 1];
        for pair in pairs {
            let tokens = pair.source.iter().map(|&id| usize::from(id)).chain([sources]);
            tokens.for_each(|row| rows[row].extend(&pair.target));
        }
        let (mut starts, mut targets) = (vec![0], Vec::new());
        for mut row in rows {
            row.tidy();
            targets.append(&mut row.targets);
            starts.push(targets.len());
        }
        let mut lexicon = Lexicon { starts, probabilities: vec![0.0; targets.len()], targets };
        for row in lexicon.starts.windows(2) {
            let even = 1.0 / (row[1] - row[0]).max(1) as f32;
            lexicon.probabilities[row[0]..row[1]].fill(even);
        }
        lexicon
    }

    /// Entries of all rows.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    fn row(&self, source: Option<u16>) -> Range<usize> {
        let null = self.starts.len() - 2;
        let row = source.map_or(null, usize::from);
        if source.is_some() && row >= null { 0..0 } else { self.starts[row]..self.starts[row + 1] }
    }

    /// The index of an entry.
    pub(super) fn place(&self, source: Option<u16>, target: u16) -> Option<usize> {
        let row = self.row(source);
        self.targets[row.clone()].binary_search(&target).ok().map(|place| row.start + place)
    }

    pub(super) fn at(&self, place: usize) -> f64 {
        self.probabilities[place].into()
    }

    /// `p(target | source)`, `None` being "nothing"; zero for tokens that never stood together.
    pub fn probability(&self, source: Option<u16>, target: u16) -> f32 {
        self.place(source, target).map_or(0.0, |place| self.probabilities[place])
    }

    /// The targets of a source token with their probabilities, in order of ids.
    pub fn translations(&self, source: Option<u16>) -> impl Iterator<Item = (u16, f32)> {
        self.row(source).map(|place| (self.targets[place], self.probabilities[place]))
    }

    /// The maximization step: from expected links to the mean of the logarithms under a Dirichlet posterior.
    pub(super) fn maximize(&mut self, links: &[f64]) {
        for row in self.starts.windows(2) {
            let row = row[0]..row[1];
            let total: f64 = links[row.clone()].iter().map(|count| count + ALPHA).sum();
            for place in row {
                self.probabilities[place] = (digamma(links[place] + ALPHA) - digamma(total)).exp() as f32;
            }
        }
    }
}

/// Targets of a row while they are gathered: sorted up to some length, then as they come.
#[derive(Clone, Debug, Default)]
struct Row {
    targets: Vec<u16>,
    sorted: usize,
}

impl Row {
    fn extend(&mut self, targets: &[u16]) {
        self.targets.extend(targets);
        if self.targets.len() > 2 * self.sorted + 64 {
            self.tidy();
        }
    }

    fn tidy(&mut self) {
        self.targets.sort_unstable();
        self.targets.dedup();
        self.sorted = self.targets.len();
    }
}

/// The derivative of the logarithm of the gamma function, for arguments above zero: up to 7 by its recurrence, from there by
/// its asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 7.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_at_known_places() {
        for (x, wanted) in [(1.0, -0.577_215_664_9), (0.5, -1.963_510_026), (10.0, 2.251_752_589)] {
            assert!((digamma(x) - wanted).abs() < 1e-8, "{x}: {}", digamma(x));
        }
    }

    #[test]
    fn has_the_tokens_that_stood_together() {
        let pair = |source: &[u16], target: &[u16]| Pair { source: source.into(), target: target.into() };
        let lexicon = Lexicon::of(&[pair(&[3, 0], &[7, 9, 7]), pair(&[3], &[1])]);
        let row = |source| lexicon.translations(source).collect::<Vec<_>>();
        assert_eq!(row(Some(0)), [(7, 0.5), (9, 0.5)]);
        assert_eq!(row(Some(3)).iter().map(|entry| entry.0).collect::<Vec<_>>(), [1, 7, 9]);
        assert_eq!((row(Some(1)), row(Some(4)), row(Some(u16::MAX))), (vec![], vec![], vec![]));
        assert_eq!(row(None).len(), 3);
        assert_eq!((lexicon.probability(Some(0), 9), lexicon.probability(Some(0), 1)), (0.5, 0.0));
        assert_eq!(Lexicon::of(&[]).translations(None).count(), 0);
    }
}
