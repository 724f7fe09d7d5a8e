//! Host side of latimer: imports, quantizes, checks and packs checkpoints.

pub mod aligned;
pub mod import;
pub mod pack;
pub mod reference;
pub mod score;
pub mod testing;
