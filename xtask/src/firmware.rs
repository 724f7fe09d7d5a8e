//! Builds firmware.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::machines::{Engine, Machine};
use crate::shipped::shipped_blob;
use crate::{paths, setup, shell};

/// What a firmware is built from.
#[derive(Clone, Debug)]
pub struct Firmware {
    /// The board.
    pub machine: &'static Machine,
    /// The blob to link.
    pub blob: PathBuf,
    /// The engine, for which the blob must be.
    pub engine: Engine,
    /// Whether it logs through `defmt`.
    pub defmt: bool,
    /// Further features: `bench`, `portable`.
    pub extra: &'static [&'static str],
}

impl Firmware {
    /// The firmware of `machine` with `blob`, or with the shipped model.
    pub fn new(machine: &'static Machine, blob: Option<&Path>, engine: Engine) -> Result<Self> {
        let blob = match blob {
            Some(blob) => blob.canonicalize().with_context(|| format!("cannot read the blob `{}`", blob.display()))?,
            None => shipped_blob(engine)?,
        };
        Ok(Self { machine, blob, engine, defmt: false, extra: &[] })
    }

    /// Cargo's arguments after the subcommand.
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = Command::new("cargo");
        // In the board's folder, so that its .cargo/config.toml counts.
        cargo.current_dir(paths::root().join("boards").join(self.machine.name));
        cargo.env("LATIMER_BLOB", &self.blob);
        if self.defmt {
            // Without it defmt lets only errors through.
            cargo.env("DEFMT_LOG", "debug");
        }
        cargo.args([subcommand, "--release", "--locked", "--no-default-features"]);
        cargo.arg("--features").arg(self.features().join(","));
        cargo.arg("--target-dir").arg(paths::target().join("boards"));
        cargo
    }

    fn features(&self) -> Vec<&'static str> {
        let defmt: &[_] = if self.defmt { &["defmt"] } else { &[] };
        [&[self.engine.name()], defmt, self.extra].concat()
    }

    /// Builds it and returns the linked file.
    ///
    /// The file gets a name of its own, so that two blobs or engines can be tried one after the other.
    pub fn build(&self) -> Result<PathBuf> {
        // Cargo gives every firmware of a board the same name: it must be copied before the next is built.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        setup::rust_target(self.machine.target)?;
        shell::run(self.cargo("build").arg("--quiet"))?;
        let name = self.machine.name;
        let built = paths::target().join("boards").join(self.machine.target).join("release").join(name);
        let stem = self.blob.file_stem().unwrap_or_default().to_string_lossy();
        let elf = paths::artifacts().join(format!("{name}-{}-{stem}.elf", self.features().join("-")));
        fs::create_dir_all(paths::artifacts())?;
        fs::copy(&built, &elf).with_context(|| format!("cannot copy `{}`", built.display()))?;
        Ok(elf)
    }
}
