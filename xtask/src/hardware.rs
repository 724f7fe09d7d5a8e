//! Boards of silicon: their firmware is built here, and flashed with a tool of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{paths, setup, shell};

/// A board that is there to be bought.
#[derive(Debug)]
pub struct Hardware {
    /// Its name, its folder under `boards/` and the name of its firmware.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The Rust target of its firmware.
    pub target: &'static str,
    /// What flashes it.
    pub flasher: Flasher,
}

/// A tool that writes firmware and models into a board's flash.
#[derive(Clone, Copy, Debug)]
pub enum Flasher {
    /// `espflash`, for a chip of that name.
    Espflash(&'static str),
}

/// Every board of silicon.
pub const HARDWARE: &[Hardware] = &[
    Hardware {
        name: "esp32c3",
        about: "ESP32-C3 development kits: RV32IMC, 160 MHz, 4 MB flash, 400 KB SRAM; not run on hardware yet",
        target: "riscv32imc-unknown-none-elf",
        flasher: Flasher::Espflash("esp32c3"),
    },
    Hardware {
        name: "esp32c6",
        about: "ESP32-C6 development kits: RV32IMAC, 160 MHz, 4 MB flash or more, 512 KB SRAM; not run on hardware yet",
        target: "riscv32imac-unknown-none-elf",
        flasher: Flasher::Espflash("esp32c6"),
    },
];

/// The board of that name, if it is one of silicon.
pub fn find(name: &str) -> Option<&'static Hardware> {
    HARDWARE.iter().find(|hardware| hardware.name == name)
}

impl Hardware {
    /// Prints what flashes this firmware, and the image of models that lies apart, or runs it.
    pub fn flash(&self, elf: &Path, image: Option<&Path>, run: bool) -> Result<()> {
        let Flasher::Espflash(chip) = self.flasher;
        for mut command in espflash(chip, elf, image)? {
            println!("{}", shell::line(&command));
            if run {
                setup::flasher("espflash")?;
                shell::run(&mut command)?;
            }
        }
        Ok(())
    }
}

/// The models first: the firmware starts once it is flashed.
fn espflash(chip: &str, elf: &Path, image: Option<&Path>) -> Result<Vec<Command>> {
    let table = partitions();
    let mut commands = Vec::new();
    if let Some(image) = image {
        let text = fs::read_to_string(&table).with_context(|| format!("cannot read `{}`", table.display()))?;
        let offset = partition(&text, "model").context("no partition `model` in boards/esp/partitions.csv")?;
        let mut command = Command::new("espflash");
        command.args(["write-bin", "--chip", chip, offset]).arg(image);
        commands.push(command);
    }
    let mut command = Command::new("espflash");
    command.args(["flash", "--chip", chip, "--partition-table"]).arg(&table).arg(elf);
    commands.push(command);
    Ok(commands)
}

/// The partition table of the ESP boards.
fn partitions() -> PathBuf {
    paths::root().join("boards/esp/partitions.csv")
}

/// Where the partition of that name begins, as the table has it.
fn partition<'t>(table: &'t str, name: &str) -> Option<&'t str> {
    let row = |line: &'t str| line.split(',').map(str::trim).collect::<Vec<_>>();
    table.lines().map(row).find(|row| row[0] == name)?.get(3).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_go_to_their_partition() {
        let commands = espflash("esp32c3", Path::new("a.elf"), Some(Path::new("m.bin"))).unwrap();
        let lines: Vec<_> = commands.iter().map(shell::line).collect();
        assert_eq!(lines[0], "espflash write-bin --chip esp32c3 0x200000 m.bin");
        assert!(lines[1].starts_with("espflash flash --chip esp32c3 --partition-table "), "{}", lines[1]);
        assert!(lines[1].ends_with("partitions.csv a.elf"), "{}", lines[1]);
        assert_eq!(espflash("esp32c3", Path::new("a.elf"), None).unwrap().len(), 1);
    }

    #[test]
    fn model_gen_knows_the_same_partition() {
        let table = fs::read_to_string(partitions()).unwrap();
        for hardware in HARDWARE {
            let board = model_gen::boards::Board::find(hardware.name).unwrap();
            assert_eq!(partition(&table, "model"), Some(&*format!("{:#x}", board.model_address)), "{}", hardware.name);
        }
    }

    #[test]
    fn a_partition_that_is_not_there_is_none() {
        assert_eq!(partition("# Name, Type\nmodel, data, undefined, 0x5000, 1\n", "model"), Some("0x5000"));
        assert_eq!(partition("models, data, undefined, 0x5000, 1\n\nmodel, data\n", "model"), None);
    }
}
