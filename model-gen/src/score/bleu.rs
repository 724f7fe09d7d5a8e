//! BLEU (Papineni et al. 2002) with sacrebleu's defaults: 13a tokens, orders 1 to 4, exponential smoothing (Chen and
//! Cherry 2014, method 3), the reference length closest to the hypothesis.

use super::ngrams::{Counts, count, matches};
use super::{ScoreError, check, tokenize_13a};

const MAX_ORDER: usize = 4;

/// A corpus score and the counts it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Bleu {
    /// From 0 to 100.
    pub score: f64,
    /// n-grams of the hypotheses that a reference has too, by order.
    pub counts: [usize; MAX_ORDER],
    /// n-grams of the hypotheses, by order.
    pub totals: [usize; MAX_ORDER],
    /// Tokens of the hypotheses.
    pub hypothesis_len: usize,
    /// Tokens of the closest references.
    pub reference_len: usize,
}

/// BLEU of `hypotheses` against one or more `references` each.
pub fn corpus_bleu<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[Vec<R>]) -> Result<Bleu, ScoreError> {
    check(hypotheses, references)?;
    let mut bleu =
        Bleu { score: 0.0, counts: [0; MAX_ORDER], totals: [0; MAX_ORDER], hypothesis_len: 0, reference_len: 0 };
    for (hypothesis, references) in hypotheses.iter().zip(references) {
        bleu.add(hypothesis.as_ref(), references);
    }
    bleu.score = bleu.score_of_counts();
    Ok(bleu)
}

impl Bleu {
    fn add<R: AsRef<str>>(&mut self, hypothesis: &str, references: &[R]) {
        let hypothesis = tokenize_13a(hypothesis);
        let hypothesis: Vec<&str> = hypothesis.split_terminator(' ').collect();
        let references: Vec<String> = references.iter().map(|text| tokenize_13a(text.as_ref())).collect();
        let references: Vec<Vec<&str>> = references.iter().map(|text| text.split_terminator(' ').collect()).collect();

        let len = hypothesis.len();
        self.hypothesis_len += len;
        // The shorter of two that are equally close.
        let closest = references.iter().map(Vec::len).min_by_key(|reference| (reference.abs_diff(len), *reference));
        self.reference_len += closest.unwrap_or(0);

        for order in 1..=MAX_ORDER {
            self.totals[order - 1] += (len + 1).saturating_sub(order);
            let mut most = Counts::new();
            for reference in &references {
                for (ngram, n) in count(reference, order) {
                    let so_far = most.entry(ngram).or_default();
                    *so_far = n.max(*so_far);
                }
            }
            self.counts[order - 1] += matches(&count(&hypothesis, order), &most);
        }
    }

    fn score_of_counts(&self) -> f64 {
        // An order without any n-gram makes the geometric mean 0.
        if self.counts == [0; MAX_ORDER] || self.totals.contains(&0) {
            return 0.0;
        }
        let mut halved = 1.0;
        let mut log_sum = 0.0;
        for (&count, &total) in self.counts.iter().zip(&self.totals) {
            let precision = if count == 0 {
                halved /= 2.0;
                halved / total as f64
            } else {
                count as f64 / total as f64
            };
            log_sum += (100.0 * precision).ln();
        }
        self.brevity_penalty() * (log_sum / MAX_ORDER as f64).exp()
    }

    /// 1 for hypotheses at least as long as the references, less for shorter ones.
    pub fn brevity_penalty(&self) -> f64 {
        match self.hypothesis_len {
            0 if self.reference_len > 0 => 0.0,
            len if len < self.reference_len => (1.0 - self.reference_len as f64 / len as f64).exp(),
            _ => 1.0,
        }
    }
}
