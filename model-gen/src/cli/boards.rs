//! `model-gen boards`.

use super::{LimitArgs, parse_blob, print, read_blob};
use crate::boards::{BOARDS, Board, Estimate, Fit, Typical, estimate, fit};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `boards`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob that is to be flashed.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// That board alone; fails where the blob does not fit it.
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// Source and target tokens of the phrase whose time is estimated.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=512))]
    phrase_tokens: u16,
    /// Print JSON, an object a board.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// What is said of a board.
struct Row {
    board: &'static Board,
    fit: Fit,
    estimate: Option<Estimate>,
}

/// Prints which boards a blob fits, and how fast it is likely to be there.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let arena = args.limits.plan(&model)?.1.total();
    let boards: Vec<&Board> = match &args.board {
        Some(name) => vec![Board::find(name)?],
        None => BOARDS.iter().collect(),
    };
    let tokens = usize::from(args.phrase_tokens);
    let phrase = Typical { source: tokens, target: tokens };
    let row = |board| -> Result<Row> {
        Ok(Row { board, fit: fit(board, model.blob().len(), arena), estimate: estimate(board, &model, phrase)? })
    };
    let rows = boards.into_iter().map(row).collect::<Result<Vec<_>>>()?;
    let text = match args.json {
        true => rows.iter().map(|row| format!("{}\n", json_of(row, arena))).collect(),
        false => text_of(&rows, model.blob().len(), arena, tokens),
    };
    print(&text)?;
    let misfit = args.board.is_some() && rows.iter().any(|row| !row.fit.obstacles.is_empty());
    Ok(if misfit { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn json_of(Row { board, fit, estimate }: &Row, arena: usize) -> Value {
    json!({
        "board": board.name,
        "about": board.about,
        "core": board.core.name,
        "clock_hz": board.clock_hz,
        "emulated": board.emulated,
        "fits": fit.obstacles.is_empty(),
        "obstacles": fit.obstacles,
        "flash_needed": fit.flash.0,
        "flash_there": fit.flash.1,
        "ram_needed": fit.ram.0,
        "ram_there": fit.ram.1,
        "arena": arena,
        "model_address": format!("{:#x}", board.model_address),
        "estimate": estimate,
    })
}

fn text_of(rows: &[Row], blob: usize, arena: usize, tokens: usize) -> String {
    let mut text = format!(
        "{blob} bytes of blob, {arena} of arena. Speeds are estimates: instructions counted under emulation, cycles an \
         instruction assumed, flash by its bus; a phrase has {tokens} tokens in and out.\n\n"
    );
    text += &format!("{:<17} {:<19} {:>8} {:>11} {:>9}\n", "board", "core", "clock", "tokens/s", "phrase");
    for Row { board, fit, estimate } in rows {
        let clock = format!("{} MHz", board.clock_hz / 1_000_000);
        text += &format!("{:<17} {:<19} {clock:>8} ", board.name, board.core.name);
        text += &match (&fit.obstacles[..], estimate) {
            ([], Some(estimate)) => {
                format!("{:>11.1} {:>7.2} s", estimate.tokens_per_second, estimate.seconds)
            }
            ([], None) => "fits; the f16 engine's speed is not counted".to_owned(),
            (obstacles, _) => format!("does not fit: {}", obstacles.join("; ")),
        };
        text.push('\n');
    }
    text
}
