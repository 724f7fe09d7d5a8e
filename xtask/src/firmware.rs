//! Builds firmware.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::hardware::Hardware;
use crate::machines::{Engine, Machine};
use crate::shipped::shipped_blob;
use crate::{paths, setup, shell};

/// What a firmware is built from.
#[derive(Clone, Debug)]
pub struct Firmware {
    /// The board, by its name.
    pub board: &'static str,
    /// The Rust target.
    pub target: &'static str,
    /// Its models.
    pub models: Models,
    /// The engine, for which the blob must be.
    pub engine: Engine,
    /// Whether it logs through `defmt`.
    pub defmt: bool,
    /// Further features: `bench`, `portable`.
    pub extra: &'static [&'static str],
    /// Cargo's profile: [`FAST`] or [`SMALL`].
    pub profile: &'static str,
}

/// The profile that firmware is built with.
pub const FAST: &str = "release";

/// The profile for boards short of flash.
pub const SMALL: &str = "small";

/// Where a firmware has its models.
#[derive(Clone, Debug)]
pub enum Models {
    /// These blobs are linked.
    Linked(Vec<PathBuf>),
    /// In flash, written apart from the firmware, which has so many bytes of arena for whatever is there.
    Apart {
        /// Bytes of arena.
        arena: usize,
    },
}

impl Firmware {
    /// The firmware of `machine` with `blob`, or with the shipped model.
    pub fn new(machine: &'static Machine, blob: Option<&Path>, engine: Engine) -> Result<Self> {
        if !machine.has_models() {
            bail!("{} has no room for a model; without phrases, `cargo xtask board` runs what it has", machine.name);
        }
        Self::of(machine.name, machine.target, blob, engine)
    }

    /// The firmware of a board of silicon with `blob`, or with the shipped model.
    pub fn for_hardware(hardware: &'static Hardware, blob: Option<&Path>, engine: Engine) -> Result<Self> {
        Self::of(hardware.name, hardware.target, blob, engine)
    }

    fn of(board: &'static str, target: &'static str, blob: Option<&Path>, engine: Engine) -> Result<Self> {
        let blob = match blob {
            Some(blob) => absolute(blob)?,
            None => shipped_blob(engine)?,
        };
        Ok(Self { board, target, models: Models::Linked(vec![blob]), engine, defmt: false, extra: &[], profile: FAST })
    }

    /// The same with several blobs, linked or apart.
    pub fn with_models(self, models: Models) -> Result<Self> {
        let models = match models {
            Models::Linked(blobs) => Models::Linked(blobs.iter().map(|blob| absolute(blob)).collect::<Result<_>>()?),
            apart => apart,
        };
        Ok(Self { models, ..self })
    }

    /// Cargo's arguments after the subcommand.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = cargo_with(self.board, subcommand, self.profile);
        match &self.models {
            Models::Linked(blobs) => {
                // Fails for paths with the separator alone, which the build script would tell of too.
                cargo.env("LATIMER_BLOB", env::join_paths(blobs).unwrap_or_default()).env_remove("LATIMER_ARENA")
            }
            Models::Apart { arena } => cargo.env("LATIMER_ARENA", arena.to_string()).env_remove("LATIMER_BLOB"),
        };
        if self.defmt {
            // Without it defmt lets only errors through.
            cargo.env("DEFMT_LOG", "debug");
        }
        cargo.args(["--no-default-features", "--features", &self.features().join(",")]);
        cargo
    }

    fn features(&self) -> Vec<&'static str> {
        let defmt: &[_] = if self.defmt { &["defmt"] } else { &[] };
        [&[self.engine.name()], defmt, self.extra].concat()
    }

    /// Builds it and returns the linked file.
    ///
    /// The file gets a name of its own, so that two blobs or engines can be tried one after the other. What this process
    /// has built already is not built again: tests want the same firmware many times, and Cargo links it anew whenever
    /// another blob came between.
    pub fn build(&self) -> Result<PathBuf> {
        type Built = HashMap<PathBuf, Vec<SystemTime>>;
        // Cargo gives every firmware of a board the same name, too: it must be copied before the next is built.
        static BUILT: LazyLock<Mutex<Built>> = LazyLock::new(Mutex::default);
        let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        let profile: &[_] = if self.profile == FAST { &[] } else { &[self.profile] };
        let features = [&self.features(), profile].concat().join("-");
        let elf = format!("{}-{features}-{}.elf", self.board, self.models.name());
        let elf = paths::artifacts().join(elf);
        let changed = self.models.changed()?;
        if built.get(&elf) != Some(&changed) {
            build((self.target, self.board, self.profile), self.cargo("build"), &elf)?;
            built.insert(elf.clone(), changed);
        }
        Ok(elf)
    }
}

impl Models {
    fn name(&self) -> String {
        match self {
            Self::Linked(blobs) => {
                let stems = blobs.iter().map(|blob| blob.file_stem().unwrap_or_default().to_string_lossy());
                stems.collect::<Vec<_>>().join("+")
            }
            Self::Apart { arena } => format!("apart-{arena}"),
        }
    }

    /// When the blobs were last written.
    fn changed(&self) -> Result<Vec<SystemTime>> {
        let Self::Linked(blobs) = self else { return Ok(Vec::new()) };
        let changed = |blob: &PathBuf| {
            let time = fs::metadata(blob).and_then(|blob| blob.modified());
            time.with_context(|| format!("cannot read the blob `{}`", blob.display()))
        };
        blobs.iter().map(changed).collect()
    }
}

fn absolute(blob: &Path) -> Result<PathBuf> {
    blob.canonicalize().with_context(|| format!("cannot read the blob `{}`", blob.display()))
}

/// Builds the firmware of a board that has no room for a model, with these features, and returns the linked file.
pub fn build_kernels(machine: &'static Machine, features: &[&str]) -> Result<PathBuf> {
    let name = [&[machine.name], features].concat().join("-");
    let elf = paths::artifacts().join(format!("{name}.elf"));
    let mut cargo = cargo(machine.name, "build");
    cargo.arg("--features").arg(features.join(","));
    build((machine.target, machine.name, FAST), cargo, &elf)?;
    Ok(elf)
}

/// Cargo for a board's firmware.
pub fn cargo(board: &str, subcommand: &str) -> Command {
    cargo_with(board, subcommand, FAST)
}

/// Cargo for what is in a folder of `boards/`, in a profile.
pub fn cargo_with(folder: &str, subcommand: &str, profile: &str) -> Command {
    let mut cargo = Command::new("cargo");
    // In the board's folder, so that its .cargo/config.toml counts.
    cargo.current_dir(paths::root().join("boards").join(folder));
    cargo.args([subcommand, "--profile", profile, "--locked"]);
    cargo.arg("--target-dir").arg(paths::target().join("boards"));
    cargo
}

/// Builds what `cargo` says and copies the program, for that target and in that profile, to `elf`.
pub fn build((target, program, profile): (&str, &str, &str), mut cargo: Command, elf: &Path) -> Result<()> {
    setup::rust_target(target)?;
    shell::run(cargo.arg("--quiet"))?;
    let built = paths::target().join("boards").join(target).join(profile).join(program);
    fs::create_dir_all(paths::artifacts())?;
    fs::copy(&built, elf).with_context(|| format!("cannot copy `{}`", built.display()))?;
    Ok(())
}
