//! `model-gen`: imports trained checkpoints, quantizes, checks and packs them for latimer.

use clap::{Parser, Subcommand};
use model_gen::cli::{
    boards, complain, device, eval, extras, glossary, guide, image, inspect, judge, pack, shortlist, translate,
};
use std::process::ExitCode;

/// Imports trained checkpoints, quantizes, checks and packs them for latimer.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Pack a checkpoint directory into a blob.
    Pack(pack::Args),
    /// Learn which rows of the output matrix a phrase needs, and add that to a blob.
    Shortlist(shortlist::Args),
    /// Write what was learned about a packed model to a file that `pack` takes up beside the checkpoint.
    Extras(extras::Args),
    /// Give a blob translations of phrases and terms that are to be taken as they are, or learn such of single words.
    Glossary(glossary::Args),
    /// Learn what guides a model's translations, confidence among it, and add that to a blob.
    Guide(guide::Args),
    /// Judge translations, as users get them, and the confidence in them, on phrase pairs.
    Judge(judge::Args),
    /// Translate phrases on the host, with the very code that runs on a board.
    Translate(translate::Args),
    /// Compare a blob with the float model it was packed from, on phrase pairs.
    Eval(eval::Args),
    /// Show what a blob holds and what it costs.
    Inspect(inspect::Args),
    /// Tell which boards a blob fits, and how fast it is likely to be there.
    Boards(boards::Args),
    /// Write models as an image for a board's flash, apart from its firmware.
    Image(image::Args),
    /// Talk to a board: translate on it, ask what it is, compare its bits with the host's.
    Device(device::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Pack(args) => pack::run(&args),
        Command::Shortlist(args) => shortlist::run(&args),
        Command::Extras(args) => extras::run(&args),
        Command::Glossary(args) => glossary::run(&args),
        Command::Guide(args) => guide::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Translate(args) => translate::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Boards(args) => boards::run(&args),
        Command::Image(args) => image::run(&args),
        Command::Device(args) => device::run_std(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
