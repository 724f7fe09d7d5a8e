//! What both segmenters work in and return: one node a byte of text, and a path of pieces through it.

use bytemuck::{Pod, Zeroable};
use core::ops::Range;

/// The segmenter's work memory for one byte of normalized text.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// Score of what the node stands for; in a finished path the end of the next piece.
    pub(super) score: u32,
    /// Another position in the text.
    pub(super) link: u16,
    /// Entry of the piece, or [`UNKNOWN`].
    pub(super) entry: u16,
}

/// Not an entry: a character that no piece covers.
pub(super) const UNKNOWN: u16 = u16::MAX;
/// Longest text in bytes.
pub const MAX_TEXT: usize = u16::MAX as usize;

/// A path: ranges of the text and their entries, `None` for a character that no piece covers. The node of a piece's
/// last byte has its entry and, unless it ends the text, the end of the next piece.
pub(crate) struct Segments<'n> {
    pub(super) nodes: &'n [Node],
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The node of the piece that ends before position `end`.
pub(super) fn before(nodes: &[Node], end: usize) -> Option<&Node> {
    nodes.get(end.checked_sub(1)?)
}

impl Iterator for Segments<'_> {
    type Item = (Range<usize>, Option<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.start >= self.end {
            return None;
        }
        let node = before(self.nodes, self.end)?;
        let range = self.start..self.end;
        self.start = self.end;
        // The last piece may have anything there instead of a link, and ends the text.
        self.end = if self.end == self.nodes.len() { self.end } else { node.score as usize };
        Some((range, (node.entry != UNKNOWN).then_some(node.entry.into())))
    }
}
