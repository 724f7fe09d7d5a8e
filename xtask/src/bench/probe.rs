//! A board with the bench firmware under the counting plugin: a command in, its counts out.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::counts::Counts;
use crate::machines::Machine;
use crate::qemu::{self, Board};
use crate::{paths, setup, shell};

/// Builds the plugin and returns it.
pub fn plugin() -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(paths::root());
    shell::run(cargo.args(["build", "--quiet", "--package", "insn-count", "--locked"]))?;
    Ok(paths::target().join("debug").join(format!("{DLL_PREFIX}insn_count{DLL_SUFFIX}")))
}

/// A running board.
#[derive(Debug)]
pub struct Probe {
    board: Board,
    counted: BufReader<File>,
}

/// What a command gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Checksum of the results, then what the command has to say.
    pub answer: String,
    /// What it took.
    pub counts: Counts,
}

impl Probe {
    /// Boots `elf`; `reads` are the addresses whose loads are counted.
    pub fn boot(
        machine: &Machine,
        elf: &Path,
        plugin: &Path,
        reads: Option<Range<u64>>,
        profile: bool,
    ) -> Result<Self> {
        setup::qemu(machine)?;
        let path = paths::artifacts().join(format!("{}-{}.counts", machine.name, std::process::id()));
        let mut options = format!("{},out={}", plugin.display(), path.display());
        if let Some(Range { start, end }) = reads {
            options.push_str(&format!(",reads={start:x}:{end:x}"));
        }
        if profile {
            options.push_str(",profile=on");
        }
        let board = Board::start(qemu::uncounted(machine, elf).arg("-plugin").arg(options))?;
        let counted = File::open(&path).with_context(|| format!("the plugin wrote no `{}`", path.display()))?;
        // Open still, and gone with the board.
        fs::remove_file(&path)?;
        Ok(Probe { board, counted: BufReader::new(counted) })
    }

    /// What the firmware says it is.
    pub fn greeting(&self) -> &str {
        &self.board.greeting
    }

    /// Runs a command; `None` where the board has no room for it or no model.
    pub fn run(&mut self, command: &str) -> Result<Option<Outcome>> {
        let answer = self.board.ask(command)?;
        if answer == "no room" || answer == "no model" {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for line in self.counted.by_ref().lines() {
            lines.push(line?);
        }
        // A firmware that fails begins a line of its own.
        if answer.is_empty() {
            bail!("`{command}`: the firmware failed");
        }
        if answer.starts_with("error") {
            bail!("`{command}`: {answer}");
        }
        let regions = lines.iter().filter(|line| line.starts_with("region")).count();
        if regions != 1 {
            bail!("`{command}`: the plugin counted {regions} regions, not one");
        }
        Ok(Some(Outcome { answer: answer.trim_end().to_owned(), counts: Counts::parse(&lines)? }))
    }

    /// Ends the firmware.
    pub fn end(self) -> Result<()> {
        self.board.exit().map(drop)
    }
}
