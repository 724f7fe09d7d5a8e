//! The subcommands of `model-gen`.

mod around;
pub mod boards;
pub mod device;
pub mod eval;
pub mod extras;
pub mod glossary;
pub mod guide;
pub mod image;
pub mod inspect;
pub mod judge;
mod output;
pub mod pack;
pub mod shortlist;
pub mod translate;

pub use output::{complain, print, warn, write_whole};

use crate::aligned::AlignedBytes;
use anyhow::{Context, Result, ensure};
use latimer::{ArenaPlan, EngineKind, Limits, Model};
use std::path::Path;

/// The engines by the names of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EngineArg {
    /// int8 weights, integers only.
    Int8,
    /// f16 weights, f32 arithmetic.
    F16,
}

impl From<EngineArg> for EngineKind {
    fn from(engine: EngineArg) -> Self {
        match engine {
            EngineArg::Int8 => EngineKind::Int8,
            EngineArg::F16 => EngineKind::F16,
        }
    }
}

/// Limits that fit the model: its own positions where it has fewer than asked for by default.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LimitArgs {
    /// Source tokens at most [default: 64, or the model's positions where fewer].
    #[arg(long, value_name = "N")]
    pub source_tokens: Option<u16>,
    /// Target tokens at most [default: 64, or the model's positions where fewer].
    #[arg(long, value_name = "N")]
    pub target_tokens: Option<u16>,
    /// Bytes of normalized text at most.
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.text_bytes)]
    pub text_bytes: u16,
    /// Hypotheses followed at a time, 1 to 8; 1 is greedy
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=8))]
    pub beam: u16,
}

impl LimitArgs {
    /// The limits for a model; what the user asked for is taken as it is.
    pub fn of(&self, model: &Model<'_>) -> Limits {
        let most = model.blob().spec().most_positions();
        Limits {
            source_tokens: self.source_tokens.unwrap_or(Limits::DEFAULT.source_tokens.min(most)),
            target_tokens: self.target_tokens.unwrap_or(Limits::DEFAULT.target_tokens.min(most)),
            text_bytes: self.text_bytes,
            beams: self.beam,
        }
    }

    /// The same, and the arena under them.
    ///
    /// # Errors
    ///
    /// If the model does not take as much.
    pub fn plan(&self, model: &Model<'_>) -> Result<(Limits, ArenaPlan)> {
        let limits = self.of(model);
        let plan = model.arena_plan(limits).with_context(|| {
            let most = model.blob().spec().most_positions();
            let Limits { source_tokens, target_tokens, text_bytes, .. } = limits;
            format!("limits of {source_tokens}/{target_tokens} tokens and {text_bytes} bytes: this model takes up to {most} tokens")
        })?;
        Ok((limits, plan))
    }
}

/// Refuses to write a file onto one that the same command reads; a file that is read may be left out.
fn spare(inputs: &[Option<&Path>], output: (&str, Option<&Path>)) -> Result<()> {
    let (option, Some(path)) = output else { return Ok(()) };
    // What is not there cannot be overwritten.
    let Ok(place) = std::fs::canonicalize(path) else { return Ok(()) };
    for input in inputs.iter().flatten() {
        let same = std::fs::canonicalize(input).is_ok_and(|input| input == place);
        ensure!(!same, "{option}: {} is read by the same command: give the name of another file", path.display());
    }
    Ok(())
}

/// Reads a blob; the caller parses it.
pub fn read_blob(path: &Path) -> Result<AlignedBytes> {
    let remedy = "pack one with `model-gen pack`";
    AlignedBytes::read(path).with_context(|| format!("{}: cannot be read; {remedy}", path.display()))
}

/// Parses a blob, naming the file where it is none.
pub fn parse_blob<'b>(path: &Path, bytes: &'b [u8]) -> Result<Model<'b>> {
    Model::from_bytes(bytes).with_context(|| format!("{}: not a model this build can run", path.display()))
}

/// Says what to do where a shortlist is asked for that a blob lacks.
fn check_shortlist(wanted: bool, path: &Path, model: &Model<'_>) -> Result<()> {
    let there = model.blob().shortlist().is_some();
    let remedy = "learn one with `model-gen shortlist`";
    ensure!(there || !wanted, "--shortlist: {} has no shortlist; {remedy}", path.display());
    Ok(())
}

/// Points of chrF that may be lost.
fn threshold(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("give a number of chrF points, 0 or more".to_owned()),
    }
}
