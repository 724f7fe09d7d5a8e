//! Segmentation by byte pair encoding (Sennrich, Haddow, Birch 2016) as SentencePiece does it: of the neighbours that
//! together are a piece, those whose piece has the highest score become one symbol, the leftmost first among equals,
//! until none are left. User-defined pieces are symbols from the start and take no part in merges.
//!
//! A symbol that is an unused piece in the end falls apart again, into the two symbols that made it, and so on.
//! SentencePiece notes for each such piece the last two symbols anywhere in the text that could have made it. They are
//! these very two: up to then no merge has crossed the piece's ends, and the merges inside come in the order of scores
//! and positions, which is the same wherever the piece stands.
//!
//! Each merge looks at every pair that is left, so that time grows with the square of the text's length and no queue
//! takes memory. This is the rule of SentencePiece 0.2.0 and 0.2.1; 0.2.3 tells the two zeros apart among scores and
//! treats unused pieces otherwise.

use super::normalizer::char_len_by_lead;
use super::segments::{Node, Segments, UNKNOWN};
use super::vocab::{SourceKind, Vocab};

/// In place of a score: the symbol and its right neighbour make no piece.
const NO_PAIR: u32 = 0;
/// In place of a score: a user-defined piece, which makes none with any neighbour.
const FROZEN: u32 = 1;

/// Segments `text`; `nodes` has one element a byte of it. `user_defined` is `None` where the vocabulary has no such
/// piece, which saves the search.
pub(crate) fn segment<'n>(
    vocab: &Vocab,
    user_defined: Option<Vocab>,
    text: &[u8],
    nodes: &'n mut [Node],
) -> Segments<'n> {
    nodes.fill(Node::default());
    let mut symbols = Symbols { vocab, text, nodes };
    symbols.start(user_defined);
    let mut merges = 0u32;
    while let Some((before, at)) = symbols.best() {
        merges = merges.wrapping_add(1);
        symbols.merge(before, at, merges);
    }
    symbols.finish()
}

/// Symbols by the position of their first byte. That byte's node has the symbol's end as its link, and in place of a
/// score what the piece that it makes with the symbol to the right has, in ascending order. Where two symbols have
/// met, the node has in place of a score which merge that was, from 1; other nodes are zero.
struct Symbols<'v, 't, 'n> {
    vocab: &'v Vocab<'v>,
    text: &'t [u8],
    nodes: &'n mut [Node],
}

impl<'n> Symbols<'_, '_, 'n> {
    /// One symbol for each user-defined piece and for each other character, and the pairs of them.
    fn start(&mut self, user_defined: Option<Vocab>) {
        let mut at = 0usize;
        while let Some(rest) = self.text.get(at..)
            && let Some(&lead) = rest.first()
        {
            let (score, len) = match user_defined.as_ref().and_then(|vocab| vocab.user_defined_len(rest)) {
                Some(len) => (FROZEN, len),
                None => (NO_PAIR, char_len_by_lead(lead).min(rest.len())),
            };
            let end = at.wrapping_add(len);
            self.put(at, Node { score, link: end as u16, entry: UNKNOWN });
            at = end;
        }
        at = 0;
        while let Some(end) = self.end(at) {
            self.pair(at);
            at = end;
        }
    }

    /// The pair with the highest score, by the position of its left symbol, and the position of the symbol before.
    fn best(&self) -> Option<(Option<usize>, usize)> {
        let (mut best, mut found) = (FROZEN, None);
        let (mut before, mut at) = (None, 0);
        while let Some(node) = self.nodes.get(at) {
            if node.score > best {
                best = node.score;
                found = Some((before, at));
            }
            before = Some(at);
            at = node.link.into();
        }
        found
    }

    /// Makes one symbol of the one at `at` and its right neighbour: merge number `count`.
    fn merge(&mut self, before: Option<usize>, at: usize, count: u32) {
        let Some(middle) = self.end(at) else { return };
        let Some(end) = self.end(middle) else { return };
        self.put(middle, Node { score: count, ..Node::default() });
        self.put(at, Node { score: NO_PAIR, link: end as u16, entry: UNKNOWN });
        if let Some(before) = before {
            self.pair(before);
        }
        self.pair(at);
    }

    /// Looks up the piece that the symbol at `at` makes with its right neighbour.
    fn pair(&mut self, at: usize) {
        let Some(&left) = self.nodes.get(at).filter(|left| left.score != FROZEN) else { return };
        let right = self.nodes.get(usize::from(left.link)).filter(|right| right.score != FROZEN);
        let piece = right.and_then(|right| self.text.get(at..right.link.into()));
        let matched = piece.and_then(|piece| self.vocab.matched(piece));
        let score = matched.and_then(|(entry, _)| self.vocab.score_bits(entry)).map_or(NO_PAIR, ascending);
        self.put(at, Node { score, ..left });
    }

    /// Takes unused pieces apart and turns the symbols into a path.
    fn finish(mut self) -> Segments<'n> {
        let (mut at, mut first) = (0, None);
        while let Some(end) = self.end(at) {
            let matched = self.text.get(at..end).and_then(|piece| self.vocab.matched(piece));
            if let Some((_, SourceKind::Unused)) = matched
                && let Some(middle) = self.last_merge(at, end)
            {
                self.put(at, Node { link: middle as u16, ..Node::default() });
                self.put(middle, Node { link: end as u16, ..Node::default() });
                continue;
            }
            if let Some(node) = at.checked_sub(1).and_then(|last| self.nodes.get_mut(last)) {
                node.score = end as u32;
            }
            first = first.or(Some(end));
            let entry = matched.map_or(UNKNOWN, |(entry, _)| entry as u16);
            self.put(end.wrapping_sub(1), Node { entry, ..Node::default() });
            at = end;
        }
        Segments { nodes: self.nodes, start: 0, end: first.unwrap_or(0) }
    }

    /// Where the two symbols met that made the one from `at` to `end`; `None` where it is a symbol from the start.
    fn last_merge(&self, at: usize, end: usize) -> Option<usize> {
        let first = at.wrapping_add(1);
        let inside = self.nodes.get(first..end)?.iter().zip(first..).filter(|(node, _)| node.score != 0);
        inside.max_by_key(|(node, _)| node.score).map(|(_, middle)| middle)
    }

    /// End of the symbol at `at`, `None` at the end of the text.
    fn end(&self, at: usize) -> Option<usize> {
        self.nodes.get(at).map(|node| node.link.into())
    }

    fn put(&mut self, at: usize, node: Node) {
        if let Some(slot) = self.nodes.get_mut(at) {
            *slot = node;
        }
    }
}

/// The bits of a finite binary32 as an integer in the order of the numbers, zeros of both signs alike, above
/// [`FROZEN`].
const fn ascending(bits: u32) -> u32 {
    const SIGN: u32 = 1 << 31;
    match bits {
        SIGN => SIGN,
        bits if bits & SIGN != 0 => !bits,
        bits => bits | SIGN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_in_the_order_of_the_numbers() {
        let numbers = [f32::MIN, -2.5, -2.0, -f32::MIN_POSITIVE, -1e-45, 0.0, 1e-45, 1.0, 1.5, f32::MAX];
        for pair in numbers.windows(2) {
            assert!(ascending(pair[0].to_bits()) < ascending(pair[1].to_bits()), "{pair:?}");
        }
        assert_eq!(ascending((-0.0f32).to_bits()), ascending(0));
        assert!(ascending(f32::MIN.to_bits()) > FROZEN);
    }
}
