//! The choice of blocks: some that are always read, and for each source id those it calls for often enough.
//!
//! A block costs the same whatever it is there for, so one threshold on how many links a block gets for being read is the
//! best use of what may be read. How many blocks are always read is tried out on phrases held out.

use super::counts::{Counts, block_of};
use latimer::blob::shortlist::{MAX_LIST, list_len};

/// Numbers of blocks always read that are tried.
pub(super) const CHOICES: usize = 20;
/// Halvings of the interval of thresholds.
const HALVINGS: usize = 18;
/// The interval, as logarithms: from "every block ever linked" to "none".
const THRESHOLDS: [f64; 2] = [-14.0, 1.0];

/// A phrase and what its translation reads.
pub(super) struct Phrase {
    source: Vec<u16>,
    /// The block of each target token.
    target: Vec<u16>,
}

impl Phrase {
    /// Of ids, ends of sentence included.
    pub fn new(source: &[u16], target: &[u16]) -> Self {
        let mut source = source.to_vec();
        source.sort_unstable();
        source.dedup();
        Phrase { source, target: target.iter().map(|&id| block_of(id)).collect() }
    }
}

/// A shortlist.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub always: Vec<bool>,
    /// Blocks of each source id beside those, in order.
    pub lists: Vec<Vec<u16>>,
    /// Share of the matrix that is read, and share of phrases whose translation it leaves as it is.
    pub share: f64,
    pub same: f64,
}

impl Chosen {
    /// [`Chosen::always`], a bit each.
    pub fn always_set(&self) -> Vec<u8> {
        let bits = |blocks: &[bool]| blocks.iter().rev().fold(0, |bits, &block| bits << 1 | u8::from(block));
        self.always.chunks(8).map(bits).collect()
    }

    /// What the phrases read.
    fn measured(mut self, phrases: &[Phrase]) -> Self {
        let (mut read, mut steps, mut same) = (0, 0, 0);
        let mut set = self.always.clone();
        let always = set.iter().filter(|block| **block).count();
        let mut added = Vec::new();
        for phrase in phrases {
            for &block in phrase.source.iter().filter_map(|&id| self.lists.get(usize::from(id))).flatten() {
                if !std::mem::replace(&mut set[usize::from(block)], true) {
                    added.push(block);
                }
            }
            read += (always + added.len()) * phrase.target.len();
            steps += phrase.target.len();
            same += usize::from(phrase.target.iter().all(|&block| set[usize::from(block)]));
            added.drain(..).for_each(|block| set[usize::from(block)] = false);
        }
        self.share = read as f64 / (steps * self.always.len()).max(1) as f64;
        self.same = same as f64 / phrases.len().max(1) as f64;
        self
    }
}

/// The shortlist that leaves most phrases as they are, of those by which a step reads at most `share` of the matrix; of equal
/// ones that with fewer blocks always read. `None` where the end of sentence alone is more.
pub(super) fn choose(counts: &Counts, phrases: &[Phrase], eos: u16, share: f64, done: impl Fn()) -> Option<Chosen> {
    let (candidates, order) = (counts.candidates(), counts.by_use());
    let mut best: Option<Chosen> = None;
    for choice in 0..CHOICES {
        let most = (share * counts.blocks() as f64) as usize;
        let mut always = vec![false; counts.blocks()];
        always[usize::from(block_of(eos))] = true;
        order.iter().take(most * choice / CHOICES).for_each(|&block| always[block] = true);
        if let Some(chosen) = with_always(always, &candidates, phrases, share)
            && best.as_ref().is_none_or(|best| chosen.same > best.same)
        {
            best = Some(chosen);
        }
        done();
    }
    best
}

/// The longest lists that may be read.
fn with_always(always: Vec<bool>, candidates: &[Vec<(u16, f64)>], phrases: &[Phrase], share: f64) -> Option<Chosen> {
    let at = |threshold: f64| {
        let threshold = threshold.exp();
        let list = |candidates: &Vec<(u16, f64)>| listed(candidates, &always, threshold);
        let lists = candidates.iter().map(list).collect();
        Chosen { always: always.clone(), lists, share: 0.0, same: 0.0 }.measured(phrases)
    };
    let [mut low, mut high] = THRESHOLDS;
    let whole = at(low);
    if whole.share <= share {
        return Some(whole);
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if at(middle).share <= share { high = middle } else { low = middle }
    }
    Some(at(high)).filter(|chosen| chosen.share <= share)
}

/// The candidates over a threshold; of those that are more than a list can hold the likeliest.
fn listed(candidates: &[(u16, f64)], always: &[bool], threshold: f64) -> Vec<u16> {
    let mut list: Vec<(u16, f64)> = candidates.to_vec();
    list.retain(|(block, links)| *links >= threshold && !always[usize::from(*block)]);
    let blocks = |list: &[(u16, f64)]| list.iter().map(|(block, _)| *block).collect::<Vec<u16>>();
    while list_len(&blocks(&list)) > MAX_LIST {
        let least = list.iter().enumerate().min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map_or(0, |(place, _)| place);
        list.remove(least);
    }
    blocks(&list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(always: &[usize], lists: &[&[u16]]) -> Chosen {
        let always = (0..20).map(|block| always.contains(&block)).collect();
        Chosen { always, lists: lists.iter().map(|list| list.to_vec()).collect(), share: 0.0, same: 0.0 }
    }

    #[test]
    fn steps_are_weighted_and_phrases_apart() {
        // The first reads blocks 0 and 7 in three steps, the second 0, 7 and 9 in one.
        let phrases = [Phrase::new(&[0, 0], &[2, 30, 0]), Phrase::new(&[0, 1], &[60])];
        let measured = chosen(&[0], &[&[7], &[7, 9]]).measured(&phrases);
        assert_eq!((measured.share, measured.same), ((2.0 * 3.0 + 3.0) / (4.0 * 20.0), 0.5));
        assert_eq!(chosen(&[0, 9, 17], &[]).always_set(), [1, 2, 2]);
    }

    #[test]
    fn lists_keep_the_likeliest_in_order() {
        let always = vec![false; 600];
        let candidates: Vec<(u16, f64)> = (0..300).map(|block| (2 * block, f64::from(block))).collect();
        let list = listed(&candidates, &always, 10.0);
        assert_eq!((list.len(), list.last()), (MAX_LIST, Some(&598)));
        assert!(list.is_sorted());
        assert_eq!(listed(&candidates, &always, 297.0), [594, 596, 598]);
    }
}
