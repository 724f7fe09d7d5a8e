//! `cargo xtask bench`: guest instructions of kernels, operators and phrases on the emulated boards.

mod counts;
mod golden;
mod measure;
mod model;
mod page;
mod peers;
mod plan;
mod probe;
mod profile;

use anyhow::{Context, Result, bail};
use model_gen::pack::Recipe;

use crate::machines::{self, Machine};
use counts::{CLASSES, Counts};
pub use golden::Golden;
use measure::Kernels;
use probe::Probe;
use profile::Functions;

/// What is translated: twelve source and twelve target tokens in every recipe.
pub const PHRASE: &str = "There's an orange on the table.";

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board; all of them by default.
    board: Option<String>,
    /// Measure figures alone whose names contain this; `phrase` stands for whole phrases. Nothing is written.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Leave out the most accurate recipe, which takes a minute to calibrate; the page is not written.
    #[arg(long)]
    fast: bool,
    /// Fail where a count is above or below what the golden file allows, one per cent either way.
    #[arg(long)]
    check: bool,
    /// Write the counts into the golden file.
    #[arg(long, conflicts_with = "check")]
    bless: bool,
    /// Print where the instructions of a phrase go, function by function, and measure nothing else.
    #[arg(long, conflicts_with_all = ["filter", "check", "bless"])]
    profile: bool,
    /// What to profile: `translate`, `encode`, `step`, `tokenize`, `detokenize`, each with a phrase, or any other command
    /// of the bench firmware, such as `linear 128 128 1 14 8 0`.
    #[arg(long, value_name = "COMMAND", requires = "profile")]
    command: Option<String>,
    /// Profile the portable kernels.
    #[arg(long, requires = "profile")]
    portable: bool,
    /// Profile the most accurate recipe.
    #[arg(long, requires = "profile")]
    best: bool,
}

impl Args {
    /// What the test suite runs: all boards, without the recipe that takes calibration.
    pub fn check() -> Self {
        Args {
            board: None,
            filter: None,
            fast: true,
            check: true,
            bless: false,
            profile: false,
            command: None,
            portable: false,
            best: false,
        }
    }
}

/// Measures, compares, writes.
pub fn run(args: &Args) -> Result<()> {
    let boards: Vec<&Machine> = match &args.board {
        Some(name) => vec![machines::find(name)?],
        None => machines::all().collect(),
    };
    if args.profile {
        return boards.into_iter().try_for_each(|machine| show_profile(machine, args));
    }
    let plugin = probe::plugin()?;
    let (mut golden, mut wrong) = (Golden::read()?, Vec::new());
    for machine in boards {
        let recipes: &[_] = if args.fast { &[Recipe::Fast] } else { &[Recipe::Fast, Recipe::Best] };
        let measured = measure::measure(machine, &plugin, recipes, args.filter.as_deref())?;
        // A part, or a machine without the phrases to calibrate on, says nothing of what it left out.
        let whole = args.filter.is_none() && !measured.skipped && !args.fast;
        let tables = page::tables(machine, &measured);
        println!("\n## {}\n\n{tables}", machine.name);
        let counts = measured.golden(machine.name);
        if args.bless {
            golden.bless(machine.name, &counts, whole);
            golden.write()?;
            println!("{}: written", golden::FILE);
        } else {
            wrong.extend(golden.check(machine.name, &counts, whole));
        }
        if whole && !args.check {
            page::write(machine, &tables)?;
        }
    }
    let shown = if args.check { wrong.len() } else { 10 };
    wrong.iter().take(shown).for_each(|line| println!("{line}"));
    if wrong.len() > shown {
        println!("{} more counts are not as recorded; `--check` shows them", wrong.len() - shown);
    }
    if args.check && !wrong.is_empty() {
        bail!(
            "{} counts are not as `{}` has them; `cargo xtask bench --bless` records them",
            wrong.len(),
            golden::FILE
        );
    }
    Ok(())
}

fn show_profile(machine: &'static Machine, args: &Args) -> Result<()> {
    let kernels = if args.portable { Kernels::Portable } else { Kernels::Selected };
    let recipe = if args.best { Recipe::Best } else { Recipe::Fast };
    let blob = measure::blob(recipe)?.with_context(|| format!("no phrases to calibrate on: {}", measure::TRAIN))?;
    eprintln!("building the bench firmware of {}", machine.name);
    let elf = measure::build(machine, kernels, &blob)?;
    let plugin = probe::plugin()?;
    let reads = model::weights(&elf, &blob)?;
    let mut probe = Probe::boot(machine, &elf, &plugin, reads, true)?;
    let command = args.command.clone().unwrap_or_else(|| format!("translate {PHRASE}"));
    let outcome = probe.run(&command)?.with_context(|| format!("`{command}`: not on this board"))?;
    probe.end()?;
    println!("{}: {command}\n{}\n", machine.name, outcome.answer);
    let counts = &outcome.counts;
    let total = counts.instructions();
    println!("{total} instructions, {} estimated Cortex-M4 cycles", counts.m4_cycles());
    println!("{}", by_class(counts));
    let [read, fetched, distinct] = ["read", "fetched", "distinct"].map(|name| counts.get(name));
    println!("bytes of weights: {read} loaded, {fetched} fetched past a buffer of 4 KiB, {distinct} distinct\n");
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
