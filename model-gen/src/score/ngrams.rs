//! Counting n-grams.

use std::collections::HashMap;
use std::hash::Hash;

/// How often each n-gram occurs.
pub(super) type Counts<'t, T> = HashMap<&'t [T], usize>;

/// All n-grams of one order.
pub(super) fn count<T: Eq + Hash>(items: &[T], order: usize) -> Counts<'_, T> {
    let mut counts = Counts::new();
    for ngram in items.windows(order) {
        *counts.entry(ngram).or_default() += 1;
    }
    counts
}

/// Occurrences that both have: each n-gram counts as often as in the one that has it less often.
pub(super) fn matches<T: Eq + Hash>(a: &Counts<T>, b: &Counts<T>) -> usize {
    a.iter().filter_map(|(ngram, count)| b.get(ngram).map(|other| count.min(other))).sum()
}
