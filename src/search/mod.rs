//! Search over the decoder's outputs.

mod beam;
mod book;
mod greedy;
mod guard;
mod live;

pub(crate) use beam::BeamSearch;
pub(crate) use book::{Book, Choice, book_bytes, choice_bytes};
pub(crate) use greedy::Best;
pub(crate) use guard::{Guard, Piece};

/// How long a search may be, and what it may choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub beams: usize,
    /// Tokens at most.
    pub steps: usize,
    /// Q16.
    pub length_penalty: u32,
    pub start: u16,
    pub eos: u16,
    /// Never chosen: padding, and the unknown piece unless it is allowed.
    pub never: [u16; 2],
    /// What may not be repeated.
    pub guard: Guard,
}

/// A token that a search chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: u16,
    /// Position of the source token that it was made from, as far as one attention head tells.
    pub source: u16,
    /// How improbable it was: the negative natural logarithm of its probability, Q7, at most 15.99.
    pub nats: u16,
    /// Whether another token was likelier, but would have repeated what was said.
    pub guarded: bool,
}
