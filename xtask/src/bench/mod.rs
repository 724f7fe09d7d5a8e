//! `cargo xtask bench`: guest instructions of kernels, operators and phrases on the emulated boards.

mod counts;
mod model;
mod probe;
mod profile;

use anyhow::{Context, Result};

use crate::firmware::Firmware;
use crate::machines::{self, Engine, Machine};
use counts::{CLASSES, Counts};
use probe::Probe;
use profile::Functions;

/// What is translated: twelve source and twelve target tokens in every recipe.
pub const PHRASE: &str = "There's an orange on the table.";

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board; all of them by default.
    board: Option<String>,
    /// Print where the instructions of a phrase go, function by function, and measure nothing else.
    #[arg(long)]
    profile: bool,
    /// What to profile: `translate`, `encode`, `step`, `tokenize`, `detokenize`, each with a phrase, or any other command
    /// of the bench firmware, such as `linear 128 128 1 14 8 0`.
    #[arg(long, value_name = "COMMAND", requires = "profile")]
    command: Option<String>,
    /// Profile the portable kernels.
    #[arg(long, requires = "profile")]
    portable: bool,
}

/// Measures, compares, writes.
pub fn run(args: &Args) -> Result<()> {
    let boards: Vec<&Machine> = match &args.board {
        Some(name) => vec![machines::find(name)?],
        None => machines::MACHINES.iter().collect(),
    };
    for machine in boards {
        if args.profile {
            show_profile(machine, args)?;
        }
    }
    Ok(())
}

fn show_profile(machine: &'static Machine, args: &Args) -> Result<()> {
    let extra: &[_] = if args.portable { &["bench", "portable"] } else { &["bench"] };
    let firmware = Firmware { extra, ..Firmware::new(machine, None, Engine::Int8)? };
    eprintln!("building the bench firmware of {}", machine.name);
    let elf = firmware.build()?;
    let plugin = probe::plugin()?;
    let reads = model::weights(&elf, &firmware.blob)?;
    let mut probe = Probe::boot(machine, &elf, &plugin, Some(reads), true)?;
    let command = args.command.clone().unwrap_or_else(|| format!("translate {PHRASE}"));
    let outcome = probe.run(&command)?.with_context(|| format!("`{command}`: not on this board"))?;
    probe.end()?;
    println!("{}: {command}\n{}\n", machine.name, outcome.answer);
    let counts = &outcome.counts;
    let total = counts.instructions();
    println!("{total} instructions, {} estimated Cortex-M4 cycles", counts.m4_cycles());
    println!("{}", by_class(counts));
    println!("{} bytes of weights read, {} of them distinct\n", counts.get("read"), counts.get("distinct"));
    for (name, sum) in Functions::read(&elf)?.hottest(&counts.places).into_iter().take(30) {
        println!("{:6.2} % {sum:>12}  {name}", 100.0 * sum as f64 / total as f64);
    }
    Ok(())
}

/// Shares of the classes, the largest first.
fn by_class(counts: &Counts) -> String {
    let total = counts.instructions().max(1);
    let mut classes: Vec<_> = CLASSES.iter().map(|&class| (counts.get(class), class)).filter(|c| c.0 > 0).collect();
    classes.sort_by(|a, b| b.cmp(a));
    let words = classes.iter().map(|(count, class)| format!("{class} {:.1} %", 100.0 * *count as f64 / total as f64));
    format!(
        "{}, taken branches {:.1} %",
        words.collect::<Vec<_>>().join(", "),
        100.0 * counts.get("taken") as f64 / total as f64
    )
}
