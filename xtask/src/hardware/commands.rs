//! What flashes a board.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use model_gen::boards::{Board, image};

use super::pieces::{self, Piece};
use super::{Flasher, Hardware, esp};
use crate::paths;

/// nRF52840: where the QSPI maps its flash.
const NORDIC_QSPI: u32 = 0x1200_0000;

/// The models first: the firmware starts once it is flashed.
pub(super) fn commands(hardware: &Hardware, elf: &Path, models: Option<&Path>) -> Result<Vec<Command>> {
    let board = Board::find(hardware.name)?;
    let mut commands = Vec::new();
    if let Some(models) = models {
        let bytes = fs::read(models).with_context(|| format!("cannot read `{}`", models.display()))?;
        let file = elf.with_file_name(format!("{}-models.{}", hardware.name, board.format.extension()));
        let file = put(file, &image::write(board, board.format, &bytes)?)?;
        commands.push(models_command(hardware.flasher, board, &file)?);
    }
    commands.extend(firmware_commands(hardware.flasher, elf)?);
    Ok(commands)
}

/// `file` is of the board's format.
fn models_command(flasher: Flasher, board: &Board, file: &Path) -> Result<Command> {
    Ok(match flasher {
        Flasher::ProbeRs(chip) | Flasher::ProbeRsAndNrfutil(chip, _) => {
            let mut command = probe_rs("download", chip);
            command.args(["--binary-format", board.format.extension()]).arg(file);
            command
        }
        Flasher::CubeProgrammer(loader) => cube(loader, file, &[&format!("{:#x}", board.model_address)]),
        Flasher::Picotool(_) => tool("picotool", ["load".as_ref(), file.as_os_str()]),
        Flasher::Espflash(chip) => esp::models(chip, file)?,
    })
}

fn firmware_commands(flasher: Flasher, elf: &Path) -> Result<Vec<Command>> {
    let pieces = pieces::read(elf)?;
    Ok(match flasher {
        Flasher::ProbeRsAndNrfutil(_, settings) if pieces.iter().any(|piece| piece.address >= NORDIC_QSPI) => {
            let pieces = pieces.iter().map(|piece| (piece.address, &*piece.bytes));
            let hex = put(elf.with_extension("hex"), image::hex(pieces).as_bytes())?;
            vec![nrfutil(settings, &hex)]
        }
        Flasher::ProbeRs(chip) | Flasher::ProbeRsAndNrfutil(chip, _) => {
            let mut download = probe_rs("download", chip);
            download.arg(elf);
            vec![download, probe_rs("reset", chip)]
        }
        Flasher::CubeProgrammer(loader) => vec![cube(loader, elf, &["-rst"])],
        Flasher::Picotool(family) => {
            let Piece { address, bytes } = pieces::join(&pieces).context("an empty firmware")?;
            let uf2 = put(elf.with_extension("uf2"), &image::uf2(address, family, &bytes))?;
            vec![tool("picotool", ["load".as_ref(), "-x".as_ref(), uf2.as_os_str()])]
        }
        Flasher::Espflash(chip) => vec![esp::firmware(chip, elf)],
    })
}

fn put(path: PathBuf, bytes: &[u8]) -> Result<PathBuf> {
    fs::write(&path, bytes).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

fn tool<'a>(program: &str, args: impl IntoIterator<Item = &'a OsStr>) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

fn probe_rs(subcommand: &str, chip: &str) -> Command {
    tool("probe-rs", [subcommand, "--chip", chip].map(OsStr::new))
}

fn nrfutil(settings: &str, hex: &Path) -> Command {
    let mut command = Command::new("nrfutil");
    command.args(["device", "--x-ext-mem-config-file"]).arg(paths::root().join("boards").join(settings));
    command.args(["program", "--firmware"]).arg(hex).arg("--options").arg(
        "chip_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE,ext_mem_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE,\
         verify=VERIFY_READ,reset=RESET_SYSTEM",
    );
    command
}

fn cube(loader: &str, file: &Path, rest: &[&str]) -> Command {
    let mut command = tool("STM32_Programmer_CLI", ["-c", "port=SWD", "-el", loader, "-w"].map(OsStr::new));
    command.arg(file).args(rest);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::HARDWARE;
    use crate::shell;

    /// What xtask runs is what `model-gen image` advises.
    #[test]
    fn models_are_written_as_model_gen_says() {
        for hardware in HARDWARE {
            let board = Board::find(hardware.name).unwrap();
            let run = shell::line(&models_command(hardware.flasher, board, Path::new("m")).unwrap());
            let said = board.flash_command("m");
            assert!(said == run || said.starts_with(&format!("{run}  (or ")), "`{run}` and `{said}`");
        }
    }
}
