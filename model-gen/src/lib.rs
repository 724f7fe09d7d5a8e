//! Host side of latimer: imports, quantizes, checks and packs checkpoints.

pub mod align;
pub mod aligned;
pub mod boards;
pub mod cli;
pub mod cost;
pub mod derivative;
pub mod device;
pub mod evaluate;
pub mod glossary;
pub mod guide;
pub mod import;
pub mod judge;
pub mod pack;
pub mod quantize;
pub mod reference;
pub mod report;
pub mod run;
pub mod score;
pub mod shortlist;
pub mod testing;
