//! Search over the decoder's outputs.

mod beam;
mod greedy;

pub(crate) use beam::{BeamSearch, Rules, book_bytes};
pub(crate) use greedy::Best;
