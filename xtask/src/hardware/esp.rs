//! What flashes ESP32 boards: `espflash`, by the partition table of `boards/esp`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths;

/// Writes models into their partition.
pub(super) fn models(chip: &str, image: &Path) -> Result<Command> {
    let table = partitions();
    let text = fs::read_to_string(&table).with_context(|| format!("cannot read `{}`", table.display()))?;
    let offset = partition(&text, "model").context("no partition `model` in boards/esp/partitions.csv")?;
    let mut command = Command::new("espflash");
    command.args(["write-bin", "--chip", chip, offset]).arg(image);
    Ok(command)
}

/// Writes bootloader, partition table and firmware.
pub(super) fn firmware(chip: &str, elf: &Path) -> Command {
    let mut command = Command::new("espflash");
    command.args(["flash", "--chip", chip, "--partition-table"]).arg(partitions()).arg(elf);
    command
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
    use crate::hardware::{Flasher, HARDWARE};
    use crate::shell;

    #[test]
    fn models_go_to_their_partition() {
        let models = models("esp32c3", Path::new("m.bin")).unwrap();
        assert_eq!(shell::line(&models), "espflash write-bin --chip esp32c3 0x200000 m.bin");
        let firmware = shell::line(&firmware("esp32c3", Path::new("a.elf")));
        assert!(firmware.starts_with("espflash flash --chip esp32c3 --partition-table "), "{firmware}");
        assert!(firmware.ends_with("partitions.csv a.elf"), "{firmware}");
    }

    #[test]
    fn model_gen_knows_the_same_partition() {
        let table = fs::read_to_string(partitions()).unwrap();
        for hardware in HARDWARE.iter().filter(|hardware| matches!(hardware.flasher, Flasher::Espflash(_))) {
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
