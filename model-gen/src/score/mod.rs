//! Translation scores as sacrebleu 2 computes them by default, and the phrase pairs to compute them on.
//!
//! Both are corpus scores from 0 to 100: counts are summed over all phrases first. A phrase has one or more references.

mod bleu;
mod chrf;
mod ngrams;
pub mod pairs;
mod tokenizer_13a;

pub use bleu::{Bleu, corpus_bleu};
pub use chrf::corpus_chrf;
pub use tokenizer_13a::tokenize as tokenize_13a;

/// Why there is no score.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// Every hypothesis needs its own list of references.
    #[error("{hypotheses} hypotheses but {references} lists of references: give one list for each hypothesis")]
    Lengths {
        /// Number of hypotheses.
        hypotheses: usize,
        /// Number of lists of references.
        references: usize,
    },
    /// A phrase cannot be scored against nothing.
    #[error("phrase {phrase} (from 0) has no reference: give at least one")]
    NoReference {
        /// Index of the phrase.
        phrase: usize,
    },
}

/// One list of references, none of them empty, for each hypothesis.
fn check<H, R>(hypotheses: &[H], references: &[Vec<R>]) -> Result<(), ScoreError> {
    if hypotheses.len() != references.len() {
        return Err(ScoreError::Lengths { hypotheses: hypotheses.len(), references: references.len() });
    }
    match references.iter().position(Vec::is_empty) {
        Some(phrase) => Err(ScoreError::NoReference { phrase }),
        None => Ok(()),
    }
}

/// What Python's `str.split` and `str.rstrip` take for white space: Unicode's, and four ASCII separators.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests;
