//! Host side of latimer.

pub mod import;
pub mod reference;
pub mod score;
pub mod testing;
