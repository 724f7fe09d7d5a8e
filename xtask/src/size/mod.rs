//! `cargo xtask size`: what the firmware of each board takes of flash and RAM, against recorded ceilings.

mod ceilings;
mod elf;
mod measure;
mod page;

use anyhow::{Result, bail};

use crate::firmware::SMALL;
use ceilings::Ceilings;
pub use measure::{SAID, smallest_cargo};

/// What is promised of the runtime, as the smallest firmware has it for a Cortex-M4: bytes of code and constants, without the
/// model. The firmware's own start, vector table and UART are among them here.
pub const RUNTIME_BOUND: u64 = 48 * 1024;

/// Builds the smallest firmware that translates, has it translate where there is QEMU, and tells its flash without the model.
pub fn smallest() -> Result<u64> {
    Ok(measure::smallest("phrase", SMALL, true)?.sizes.flash())
}

/// Arguments of `size`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fail where a figure is above its ceiling, and write no page.
    #[arg(long)]
    check: bool,
    /// Record the figures, and 1 % more as their ceilings.
    #[arg(long, conflicts_with = "check")]
    bless: bool,
    /// Leave the stacks out: nothing is booted, no page is written.
    #[arg(long)]
    still: bool,
}

impl Args {
    /// What the test suite runs.
    pub fn check() -> Self {
        Args { check: true, bless: false, still: false }
    }
}

/// Builds, measures, compares, writes.
pub fn run(args: &Args) -> Result<()> {
    let measured = measure::all(!args.still)?;
    for (name, part) in page::parts(&measured) {
        println!("\n{name}\n\n{part}");
    }
    let mut ceilings = Ceilings::read()?;
    if args.bless {
        ceilings.bless(&measured.figures());
        ceilings.write()?;
        println!("{}: written", ceilings::FILE);
    }
    let wrong = ceilings.check(&measured.figures());
    wrong.iter().for_each(|line| println!("{line}"));
    if !wrong.is_empty() {
        bail!(
            "{} sizes are above `{}`; make the firmware smaller, or record them with `cargo xtask size --bless`",
            wrong.len(),
            ceilings::FILE
        );
    }
    if !args.check && measured.is_whole() {
        page::write(&measured)?;
    }
    Ok(())
}
