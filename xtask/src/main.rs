//! `cargo xtask`: the project's one entry.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{
    accuracy, bench, board, book, demo, docs, elf_check, machines::Engine, phrases, report, scores, ship, size, suite,
};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds, boots, shows and tests latimer")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Boot the Cortex-M4 firmware with the shipped model and translate a few phrases.
    Demo,
    /// Check formatting, lints, docs, tests, and the firmware on every emulated board.
    Test,
    /// Install what is missing, then test.
    Ci,
    /// Build the firmware of a board, boot it and translate TEXT, or what comes from standard input.
    Board(board::Args),
    /// Fail if a linked firmware holds float code; without files, check the int8 firmware of every board.
    ElfCheck {
        /// Linked firmware.
        elf: Vec<PathBuf>,
    },
    /// Build the firmware of a board and print where it lies.
    Build {
        /// The board, as `cargo xtask board` lists them.
        name: String,
        /// The blob to link; the shipped model by default.
        #[arg(long)]
        blob: Option<PathBuf>,
        /// The engine to build.
        #[arg(long, default_value = "int8")]
        engine: Engine,
    },
    /// Rewrite the parts of the documentation that come from the code.
    Docs(docs::Args),
    /// Check the documentation's links and build it as a book, with mdBook.
    Book,
    /// Copy a checkpoint as the project ships it, with its weights in f16.
    ShipModel(ship::Args),
    /// Measure the shipped model and write the figures into its card, or its instructions into docs/numerics.md.
    Scores(scores::Args),
    /// Measure what each way of packing loses against the float model, and write docs/accuracy.md.
    Accuracy(accuracy::Args),
    /// Count instructions of kernels, operators and phrases on the emulated boards, and write docs/performance.md.
    Bench(bench::Args),
    /// Measure flash, RAM and stack of every board's firmware against recorded ceilings, and write docs/size.md.
    Size(size::Args),
    /// Judge the shipped model on phrases as people type them, and write docs/phrases.md.
    Phrases,
    /// Evaluate the shipped model in both engines, check the report in Chromium and write docs/report.png.
    Report(report::Args),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Demo => demo::run(),
        Command::Test => suite::test(),
        Command::Ci => suite::ci(),
        Command::Board(args) => board::run(&args),
        Command::ElfCheck { elf } => elf_check::run(&elf),
        Command::Docs(args) => docs::run(&args),
        Command::Book => book::run(),
        Command::ShipModel(args) => ship::run(&args),
        Command::Scores(args) => scores::run(&args),
        Command::Accuracy(args) => accuracy::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Phrases => phrases::run(),
        Command::Report(args) => report::run(&args),
        Command::Build { name, blob, engine } => board::build(&name, blob, engine),
    }
}
