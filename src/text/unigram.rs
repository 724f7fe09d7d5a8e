//! Segmentation by a unigram language model (Kudo 2018): the path of pieces with the highest sum of scores, by
//! Viterbi over byte positions, with the ties and the rounding of SentencePiece's `EncodeOptimized`.
//!
//! There, sums are kept in binary32, but a piece's candidate is added and compared in binary64 (the bonus of a
//! user-defined piece is a `double`, which makes the whole expression one), while an unknown character's candidate is
//! added in binary32. A candidate replaces the best so far only if strictly greater.
//!
//! That is the rule of SentencePiece 0.2.0 and 0.2.1. Release 0.2.3 sums in binary32 throughout, gives user-defined
//! pieces another bonus and resets sums beyond 100,000, so that near ties can go the other way there.

use super::normalizer::char_len_by_lead;
use super::segments::{Node, Segments, UNKNOWN, before};
use super::vocab::{Score, Vocab};
use crate::num::soft_float::{add, add32, greater, narrow, widen};

/// Instead of a start: no piece ends here. Texts are short enough that no piece can start here either.
const UNSET: u16 = u16::MAX;

/// Finds the best path; `nodes` has one element a byte of `text`: the best piece that ends with it, its start as link,
/// its score the bits of a binary32. Returns the segments in order.
pub(crate) fn segment<'n>(vocab: &Vocab, unk_score: u32, text: &[u8], nodes: &'n mut [Node]) -> Segments<'n> {
    nodes.fill(Node { score: 0, link: UNSET, entry: UNKNOWN });
    let mut start = 0;
    let mut score = 0;
    while let Some(rest) = text.get(start..)
        && let Some(&lead) = rest.first()
    {
        let width = char_len_by_lead(lead).min(rest.len());
        let mut single = false;
        for (entry, len) in vocab.prefixes(rest) {
            let piece_score = match vocab.score(entry) {
                Some(Score::Normal(score)) => widen(score),
                Some(Score::UserDefined(score)) => score,
                None => continue,
            };
            relax(nodes, start, len, add(piece_score, widen(score)), entry as u16);
            single |= len == width;
        }
        if !single {
            relax(nodes, start, width, widen(add32(unk_score, score)), UNKNOWN);
        }
        start = start.wrapping_add(width);
        score = before(nodes, start).map_or(0, |node| node.score);
    }
    link(nodes, start)
}

/// Offers `start..start + len` as the piece that ends there.
fn relax(nodes: &mut [Node], start: usize, len: usize, candidate: u64, entry: u16) {
    let Some(node) = nodes.get_mut(start.wrapping_add(len).wrapping_sub(1)) else { return };
    if node.link == UNSET || greater(candidate, widen(node.score)) {
        *node = Node { score: narrow(candidate), link: start as u16, entry };
    }
}

/// Turns the links from each piece to the one before around, so that the path can be walked forward.
fn link(nodes: &mut [Node], end: usize) -> Segments<'_> {
    let mut end = end as u32;
    let mut next = end;
    while let Some(node) = before(nodes, end as usize) {
        let start = u32::from(node.link);
        next = end;
        // Always so, whatever the scores; said here so that the walk ends even if it were not.
        if start >= end {
            break;
        }
        if let Some(node) = (start as usize).checked_sub(1).and_then(|last| nodes.get_mut(last)) {
            node.score = next;
        }
        end = start;
    }
    Segments { nodes, start: 0, end: next as usize }
}
