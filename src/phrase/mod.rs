//! What is done to a phrase before and after the model, on its text alone: sentences, spans that the model must not
//! touch, letter case and final punctuation. Any bytes are a text, in any script.

pub(crate) mod case;
pub(crate) mod chars;
pub(crate) mod kept;
pub(crate) mod punctuation;
pub(crate) mod sentence;
pub(crate) mod span;
