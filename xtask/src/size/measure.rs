//! What is built and measured: the firmware of each board, and the smallest that there is.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::ceilings::Figures;
use super::elf::Sizes;
use crate::demo::instructions;
use crate::firmware::{self, FAST, Firmware, SMALL};
use crate::machines::{self, Engine, MACHINES, Machine};
use crate::paths;
use crate::qemu::Board;
use crate::shipped::shipped_blob;

/// What boards are asked: phrases, and one that takes all that surrounds the model.
const PHRASES: &[&str] = &[
    "Where is the train station?",
    "I would like a cup of coffee, please.",
    "HELLO! I have 3 dogs and 12 cats. Call 555-1234, or see https://example.org. 😀",
    ":selftest",
];

/// What the smallest firmwares say.
pub const SAID: &str = "latimer says ¿Dónde está la estación de tren?";

/// The board of the smallest firmware.
pub const SMALLEST_ON: &str = "qemu-cortex-m4";

/// A board's firmware.
#[derive(Debug)]
pub struct Whole {
    /// The board.
    pub machine: &'static Machine,
    /// The engine.
    pub engine: Engine,
    /// What it takes.
    pub sizes: Sizes,
    /// Cargo's profile.
    pub profile: &'static str,
    /// What was measured, where it was booted.
    pub used: Option<Used>,
}

/// What a board used for the phrases.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Deepest use of the stack.
    pub stack: u64,
    /// Instructions of the first phrase.
    pub instructions: u64,
}

/// One of the smallest firmwares.
#[derive(Debug)]
pub struct Smallest {
    /// What it does: `phrase` or `text`.
    pub name: &'static str,
    /// Cargo's profile.
    pub profile: &'static str,
    /// What it takes.
    pub sizes: Sizes,
}

/// All figures.
#[derive(Debug)]
pub struct Measured {
    /// Of boards.
    pub boards: Vec<Whole>,
    /// Of the smallest firmwares.
    pub smallest: Vec<Smallest>,
}

impl Measured {
    /// What has a ceiling.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures::new();
        for Whole { machine, engine, sizes, profile, used } in &self.boards {
            let name = format!("{} {} {profile}", machine.name, engine.name());
            for (what, bytes) in [
                ("flash without the model", Some(sizes.flash())),
                ("model", Some(sizes.model)),
                ("arena", Some(sizes.arena)),
                ("buffers", Some(sizes.buffers)),
                ("other statics", Some(sizes.rest())),
                ("stack", used.map(|used| used.stack)),
            ] {
                figures.extend(bytes.map(|bytes| ((name.clone(), what), bytes)));
            }
        }
        for Smallest { name, profile, sizes } in &self.smallest {
            figures.insert((format!("minimal-{name} {profile}"), "flash without the model"), sizes.flash());
        }
        figures
    }

    /// Whether every board was booted.
    pub fn is_whole(&self) -> bool {
        self.boards.iter().all(|board| board.used.is_some())
    }
}

/// Builds and measures; what is used only where boards are to be booted, and QEMU is there.
pub fn all(boot: bool) -> Result<Measured> {
    let mut measured = Measured { boards: Vec::new(), smallest: Vec::new() };
    for machine in MACHINES {
        measured.boards.push(whole(machine, Engine::Int8, FAST, boot)?);
        if machine.reference {
            measured.boards.push(whole(machine, Engine::F16, FAST, boot)?);
        }
        if machine.name == SMALLEST_ON {
            measured.boards.push(whole(machine, Engine::Int8, SMALL, boot)?);
        }
    }
    for profile in [FAST, SMALL] {
        for name in ["phrase", "text"] {
            measured.smallest.push(smallest(name, profile, boot)?);
        }
    }
    Ok(measured)
}

fn whole(machine: &'static Machine, engine: Engine, profile: &'static str, boot: bool) -> Result<Whole> {
    eprintln!("building the firmware of {}, {}, {profile}", machine.name, engine.name());
    let elf = Firmware { profile, ..Firmware::new(machine, None, engine)? }.build()?;
    let sizes = Sizes::read(&elf)?;
    if sizes.model == 0 || sizes.arena == 0 || sizes.buffers == 0 {
        bail!("`{}`: no model, arena or buffers by their symbols", elf.display());
    }
    let used = if boot && is_there(machine) { Some(talk(Board::boot(machine, &elf)?)?) } else { None };
    Ok(Whole { machine, engine, profile, sizes, used })
}

/// Whether QEMU is; says so if not.
fn is_there(machine: &Machine) -> bool {
    let there = Command::new(machine.qemu).arg("--version").output().is_ok();
    if !there {
        println!("skipped: no {} on this machine for the stack of {}", machine.qemu, machine.name);
    }
    there
}

/// Asks all the phrases.
fn talk(mut board: Board) -> Result<Used> {
    let mut first = None;
    for phrase in PHRASES {
        let answer = board.ask(phrase)?;
        if answer.starts_with("error") {
            bail!("`{phrase}`: {answer}");
        }
        first = first.or(instructions(&board.ask(":stats")?));
    }
    let stats = board.ask(":stats")?;
    board.exit()?;
    let stack = stats.split_once("stack ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let used = stack.zip(first).map(|(stack, instructions)| Used { stack, instructions });
    used.with_context(|| format!("no stack or no instructions in `{stats}`"))
}

/// The features of one of the smallest firmwares.
fn features(name: &str) -> &'static str {
    if name == "text" { "text" } else { "" }
}

/// Cargo for the smallest firmwares.
pub fn smallest_cargo(subcommand: &str, profile: &str) -> Result<Command> {
    let mut cargo = firmware::cargo_with("minimal", subcommand, profile);
    cargo.args(["--target", machines::find(SMALLEST_ON)?.target]).env("LATIMER_BLOB", shipped_blob(Engine::Int8)?);
    Ok(cargo)
}

/// Builds one of the smallest firmwares, and has it translate its phrase.
pub fn smallest(name: &'static str, profile: &'static str, boot: bool) -> Result<Smallest> {
    let (machine, program) = (machines::find(SMALLEST_ON)?, format!("minimal-{name}"));
    eprintln!("building {program}, {profile}");
    let mut cargo = smallest_cargo("build", profile)?;
    cargo.args(["--bin", &program, "--features", features(name)]);
    let elf = paths::artifacts().join(format!("{program}-{profile}.elf"));
    firmware::build((machine.target, &program, profile), cargo, &elf)?;
    if boot && is_there(machine) {
        let said = Board::boot(machine, &elf)?.greeting.clone();
        if said != SAID {
            bail!("{program}, {profile}: `{said}` and not `{SAID}`");
        }
    }
    Ok(Smallest { name, profile, sizes: Sizes::read(&elf)? })
}
