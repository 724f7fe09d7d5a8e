//! Search over the decoder's outputs.

mod greedy;

pub(crate) use greedy::Best;
