//! What a search remembers in the arena: a tree of tokens, and the hypotheses that have ended.

use super::Token;
use crate::arena::Carver;
use crate::error::Error;
use bytemuck::{Pod, Zeroable};

/// The largest number of [`Token::nats`].
pub(super) const MOST_NATS: u16 = (1 << NATS_BITS) - 1;
const NATS_BITS: u32 = 11;
/// Positions that a node can point to: as many as limits allow.
const SOURCE_BITS: u32 = 9;
const _: () = assert!(1 << SOURCE_BITS >= crate::blob::spec::MAX_SUM as usize, "a node names any source position");
const _: () = assert!(crate::arena::MAX_BEAMS <= 8, "a node names any beam");

/// A token of a hypothesis and the beam of the token before: 16 bits of id, 3 of beam, 9 of source position, 1 of guard, 11
/// of nats.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Node([u8; 5]);

impl Node {
    pub fn new(token: Token, parent: usize) -> Self {
        let source = u64::from(token.source.min((1 << SOURCE_BITS) - 1));
        let word = u64::from(token.id)
            | (parent as u64 & 7) << 16
            | source << 19
            | u64::from(token.guarded) << 28
            | u64::from(token.nats.min(MOST_NATS)) << 29;
        let [a, b, c, d, e, ..] = word.to_le_bytes();
        Node([a, b, c, d, e])
    }

    const fn word(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }

    pub const fn parent(self) -> usize {
        (self.word() >> 16) as usize & 7
    }

    pub const fn token(self) -> Token {
        let word = self.word();
        Token {
            id: word as u16,
            source: (word >> 19) as u16 & ((1 << SOURCE_BITS) - 1),
            nats: (word >> 29) as u16 & MOST_NATS,
            guarded: word >> 28 & 1 != 0,
        }
    }
}

/// One of the best tokens of a beam.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Choice {
    /// Its logit, Q16.
    pub(super) logit: i32,
    pub(super) id: u32,
}

/// A finished hypothesis.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Finished {
    /// Q24.
    pub score: i64,
    /// Tokens, the last included.
    pub len: u16,
    /// The last.
    pub last: Node,
    pub pad: u8,
}

/// Bytes that a search by so many beams and steps remembers.
pub(crate) const fn book_bytes(beams: usize, steps: usize) -> usize {
    (beams * steps * size_of::<Node>()).next_multiple_of(16) + (beams * size_of::<Finished>()).next_multiple_of(16)
}

/// Bytes of the best tokens of all beams, remembered while a step lasts.
pub(crate) const fn choice_bytes(beams: usize) -> usize {
    2 * beams * beams * size_of::<Choice>()
}

/// The memory of a search.
pub(crate) struct Book<'b> {
    beams: usize,
    pub(super) nodes: &'b mut [Node],
    pub(super) finished: &'b mut [Finished],
}

impl<'b> Book<'b> {
    /// The book of a search by so many beams and steps, as it was left.
    pub fn open(bytes: &'b mut [u8], beams: usize, steps: usize) -> Result<Self, Error> {
        let mut carver = Carver::new(bytes);
        Ok(Book { beams, nodes: carver.take(beams * steps)?, finished: carver.take(beams)? })
    }

    /// The node of a beam at a step.
    pub(super) fn node(&self, step: usize, beam: usize) -> Option<Node> {
        self.nodes.get(step * self.beams + beam).copied()
    }

    pub(super) fn set_node(&mut self, step: usize, beam: usize, node: Node) {
        if let Some(slot) = self.nodes.get_mut(step * self.beams + beam) {
            *slot = node;
        }
    }

    /// The tokens of a beam's hypothesis, of which there are `count`, the last first.
    pub(super) fn history(&self, count: usize, beam: usize) -> impl Iterator<Item = Token> {
        let mut at = beam;
        (0..count).rev().map_while(move |step| {
            let node = self.node(step, at)?;
            at = node.parent();
            Some(node.token())
        })
    }

    /// Remembers a hypothesis if it is one of the best `count` so far, behind those that are equal; how many there are.
    pub(super) fn finish(&mut self, count: usize, new: Finished) -> usize {
        let place = self.finished.iter().take(count).take_while(|other| other.score >= new.score).count();
        let len = (count + 1).min(self.finished.len());
        insert(self.finished.get_mut(place..len).unwrap_or_default(), new);
        len
    }
}

/// Puts `new` first; the others move up, and the last falls out.
pub(super) fn insert<T>(places: &mut [T], new: T) {
    let mut moving = new;
    places.iter_mut().for_each(|place| core::mem::swap(place, &mut moving));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_keep_what_they_are_given() {
        for token in [
            Token::default(),
            Token { id: u16::MAX, source: 511, nats: MOST_NATS, guarded: true },
            Token { id: 1, source: 2, nats: 3, guarded: false },
        ] {
            for parent in 0..8 {
                let node = Node::new(token, parent);
                assert_eq!((node.token(), node.parent()), (token, parent));
            }
        }
        assert_eq!(Node::new(Token { nats: u16::MAX, ..Token::default() }, 0).token().nats, MOST_NATS);
    }
}
