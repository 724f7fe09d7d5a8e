//! Host side of latimer: imports, quantizes, checks and packs checkpoints.

pub mod import;
