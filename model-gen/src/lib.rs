//! Host side of latimer: imports, quantizes, checks and packs checkpoints.

pub mod import;
pub mod reference;
pub mod score;
pub mod testing;
