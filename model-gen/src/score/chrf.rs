//! chrF2 (Popović 2015) with sacrebleu's defaults: characters in orders 1 to 6, white space left out, beta 2, no words.

use super::ngrams::{count, matches};
use super::{ScoreError, check, is_space};

const MAX_ORDER: usize = 6;

/// Recall weighs beta squared as much as precision.
const BETA_SQUARED: f64 = 4.0;

/// n-grams of one order.
#[derive(Clone, Copy, Default)]
struct Statistics {
    hypothesis: usize,
    reference: usize,
    matching: usize,
}

/// chrF2 of `hypotheses` against one or more `references` each, from 0 to 100. A phrase counts with the reference it
/// scores highest with.
pub fn corpus_chrf<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[Vec<R>]) -> Result<f64, ScoreError> {
    check(hypotheses, references)?;
    let mut sums = [Statistics::default(); MAX_ORDER];
    for (hypothesis, references) in hypotheses.iter().zip(references) {
        let best = best_reference(&characters(hypothesis.as_ref()), references);
        for (sum, order) in sums.iter_mut().zip(best) {
            sum.hypothesis += order.hypothesis;
            sum.reference += order.reference;
            sum.matching += order.matching;
        }
    }
    Ok(f_score(&sums))
}

fn characters(text: &str) -> Vec<char> {
    text.chars().filter(|c| !is_space(*c)).collect()
}

/// Statistics against the reference with the highest score, the first of several.
fn best_reference<R: AsRef<str>>(hypothesis: &[char], references: &[R]) -> [Statistics; MAX_ORDER] {
    let mut best = [Statistics::default(); MAX_ORDER];
    let mut best_score = -1.0;
    for reference in references {
        let statistics = compare(hypothesis, &characters(reference.as_ref()));
        let score = f_score(&statistics);
        if score > best_score {
            (best, best_score) = (statistics, score);
        }
    }
    best
}

fn compare(hypothesis: &[char], reference: &[char]) -> [Statistics; MAX_ORDER] {
    std::array::from_fn(|i| {
        let order = i + 1;
        let ngrams = |text: &[char]| (text.len() + 1).saturating_sub(order);
        Statistics {
            // Not counted where the reference is too short to have any.
            hypothesis: if ngrams(reference) > 0 { ngrams(hypothesis) } else { 0 },
            reference: ngrams(reference),
            matching: matches(&count(hypothesis, order), &count(reference, order)),
        }
    })
}

/// F score of the mean precision and the mean recall over the orders that both sides have.
fn f_score(statistics: &[Statistics; MAX_ORDER]) -> f64 {
    let both = statistics.iter().filter(|order| order.hypothesis > 0 && order.reference > 0);
    let orders = both.clone().count() as f64;
    let precision: f64 = both.clone().map(|order| order.matching as f64 / order.hypothesis as f64).sum();
    let recall: f64 = both.map(|order| order.matching as f64 / order.reference as f64).sum();
    if precision + recall == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (precision / orders, recall / orders);
    100.0 * (1.0 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall)
}
