//! `cargo xtask accuracy`: what each way of packing loses, chosen on dev, reported on test, written into
//! `docs/accuracy.md`.

pub(crate) mod lab;
mod page;
mod peer;
mod plan;

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, Result};

use crate::{paths, shell};
use lab::Lab;
use plan::Group;

/// Arguments of `accuracy`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder with dev.tsv, test.tsv and train.tsv, `SOURCE<TAB>TARGET` lines [default: ../shared/data/en-es].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The float checkpoint [default: ../shared/models/en-es-nano, or the shipped model where that is absent].
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Phrases of dev and test at most; the figures are printed and not written.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Measure these alone; the other parts of the page stay as they are.
    #[arg(long, value_enum, value_name = "GROUP", value_delimiter = ',')]
    group: Vec<Group>,
    /// Compare with CTranslate2 instead, run by this Python, which has the package `ctranslate2`.
    #[arg(long, value_name = "PYTHON")]
    peer: Option<PathBuf>,
}

/// Measures, prints and writes.
pub fn run(args: &Args) -> Result<()> {
    if cfg!(debug_assertions) {
        return optimized();
    }
    let shared = paths::root().join("../shared");
    let data = args.data.clone().unwrap_or_else(|| shared.join("data/en-es"));
    if !data.is_dir() {
        println!("skipped: no `{}`; name a folder of phrase pairs with --data", data.display());
        return Ok(());
    }
    let original = shared.join("models/en-es-nano");
    let checkpoint = args.checkpoint.clone().unwrap_or_else(|| match original.is_dir() {
        true => original.clone(),
        false => paths::root().join("models/en-es-nano"),
    });
    // The page is about one checkpoint and whole sets.
    let whole = args.data.is_none() && args.checkpoint.is_none() && args.limit.is_none() && original.is_dir();
    println!("checkpoint {}, phrases of {}", checkpoint.display(), data.display());

    let limit = args.limit.map(usize::try_from).transpose()?;
    let mut lab = Lab::open(&checkpoint, &data, limit)?;
    let parts = match &args.peer {
        Some(python) => vec![("peer".to_owned(), peer::compare(&lab, python)?)],
        None if args.group.is_empty() => measure(&mut lab, &Group::ALL)?,
        None => measure(&mut lab, &args.group)?,
    };
    for (part, text) in &parts {
        println!("\n{part}:\n\n{text}");
    }
    if whole {
        return page::write(&parts);
    }
    println!("{}: left as it was; it is written from whole sets and the default checkpoint", page::PAGE);
    Ok(())
}

/// The same again as a release build: its bits are the same, and speeds are those that users get.
fn optimized() -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(paths::root()).args(["run", "--release", "--quiet", "--package", "xtask", "--"]);
    shell::run(cargo.args(env::args_os().skip(1)))
}

/// Parts of the page, and what goes into them.
fn measure(lab: &mut Lab, groups: &[Group]) -> Result<Vec<(String, String)>> {
    let threads = available_parallelism()?.get();
    let base_bytes = lab.pack(&plan::base())?.context("the base needs no calibration")?.bytes.len();
    let mut parts = Vec::new();
    for group in groups {
        let (entries, mut rows) = (group.entries(), Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            println!("{}, {} of {}: {}", group.name(), index + 1, entries.len(), entry.name);
            let mut options = entry.options.clone();
            options.fit_flash = entry.fit.map(|percent| base_bytes * percent / 100);
            match lab.measure(&options)? {
                Some(measured) => rows.push((entry.name.clone(), measured)),
                None => println!("  skipped: it is calibrated, and there is no train.tsv beside the phrases"),
            }
        }
        parts.push((group.name().to_owned(), page::quality(&rows, base_bytes)));
        parts.push((format!("{} speed", group.name()), page::speed(&rows, threads)));
    }
    Ok(parts)
}
