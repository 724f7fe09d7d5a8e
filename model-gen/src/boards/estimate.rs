//! Whether a model fits a board, and how fast it is likely to be there.

use super::Board;
use crate::cost::{Macs, STACK_BOUND, Traffic, output_share};
use anyhow::{Context, Result};
use latimer::{EngineKind, Model};
use serde::Serialize;

/// Bytes of RAM that are kept for what the firmware has beside arena and stack: lines, translations, JSON, drivers. `cargo xtask size`
/// measures it, and a test there holds it to this.
pub const FIRMWARE_RAM: usize = 32 * 1024;

/// Whether a model fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// Bytes of flash needed, and there for models.
    pub flash: (usize, usize),
    /// Bytes of RAM needed, and there.
    pub ram: (usize, usize),
    /// Why not, if not.
    pub obstacles: Vec<String>,
}

/// Whether blobs of `flash` bytes together, whose arenas have at most `arena`, fit a board.
pub fn fit(board: &Board, flash: usize, arena: usize) -> Fit {
    let ram = arena + STACK_BOUND + FIRMWARE_RAM;
    let fit = Fit { flash: (flash, board.model_bytes), ram: (ram, board.ram), obstacles: Vec::new() };
    let wanting = [("flash for models", fit.flash), ("RAM", fit.ram)];
    let obstacles = wanting.iter().filter(|(_, (need, there))| need > there);
    let words = |(what, (need, there)): &(&str, (usize, usize))| format!("needs {need} bytes of {what}, has {there}");
    Fit { obstacles: obstacles.map(words).collect(), ..fit }
}

/// A phrase as they come: tokens in, tokens out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typical {
    /// Source tokens.
    pub source: usize,
    /// Target tokens.
    pub target: usize,
}

/// An estimate of speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Instructions for the phrase.
    pub instructions: f64,
    /// Seconds for it: computing, and waiting for flash, one after the other.
    pub seconds: f64,
    /// Of these, waiting for flash.
    pub flash_seconds: f64,
    /// Target tokens a second, once the source is encoded.
    pub tokens_per_second: f64,
}

/// Instructions a multiply-accumulate, as counted.
struct Speed {
    encode: f64,
    step: f64,
}

fn speed(counted_as: &str, weights: &str) -> Result<Speed> {
    let table = include_str!("speed.tsv").lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut rows = table.filter(|row| row.len() == 4 && row[0] == counted_as && row[1] == weights);
    let row = rows.next().with_context(|| format!("no speed of {counted_as} with {weights} was counted"))?;
    let number = |text: &str| text.parse().with_context(|| format!("speed.tsv: `{text}` is no number"));
    Ok(Speed { encode: number(row[2])?, step: number(row[3])? })
}

/// How fast a model is likely to be on a board, greedily; none for the f16 engine, whose instructions are not counted.
///
/// # Errors
///
/// If the table of speeds lacks the board's core.
pub fn estimate(board: &Board, model: &Model<'_>, phrase: Typical) -> Result<Option<Estimate>> {
    if model.blob().engine() != EngineKind::Int8 {
        return Ok(None);
    }
    let grouped = model.blob().tensors().any(|tensor| tensor.entry().group > 0);
    let speed = speed(board.core.counted_as, if grouped { "groups" } else { "rows" })?;
    let (macs, traffic, share) = (Macs::of(model), Traffic::of(model), output_share(model, phrase.source));
    let unread = 1.0 - share;
    let token_macs = macs.target as f64 - unread * macs.output as f64;
    let token_bytes = traffic.target as f64 - unread * traffic.output as f64;
    let (source, target) = (phrase.source as f64, phrase.target as f64);
    let token = Seconds::of(board, token_macs * speed.step, token_bytes);
    let encoder = macs.source as f64 * source * speed.encode;
    let whole =
        Seconds::of(board, encoder + target * token_macs * speed.step, traffic.phrase as f64 + target * token_bytes);
    Ok(Some(Estimate {
        instructions: encoder + target * token_macs * speed.step,
        seconds: whole.computing + whole.waiting,
        flash_seconds: whole.waiting,
        tokens_per_second: 1.0 / (token.computing + token.waiting),
    }))
}

struct Seconds {
    computing: f64,
    waiting: f64,
}

impl Seconds {
    fn of(board: &Board, instructions: f64, bytes: f64) -> Self {
        Seconds {
            computing: instructions * board.core.cycles_per_instruction / f64::from(board.clock_hz),
            waiting: board.flash_rate.map_or(0.0, |rate| bytes / rate),
        }
    }
}
