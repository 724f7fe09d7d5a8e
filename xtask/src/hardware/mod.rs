//! Boards of silicon: their firmware is built here, and flashed with a tool of their own.

mod commands;
mod esp;
mod pieces;

use std::path::Path;

use anyhow::{Result, ensure};

use crate::{qemu, setup, shell};

/// A board that is there to be bought. Its sizes and clock, and where models lie that are flashed apart, are in
/// [`model_gen::boards::BOARDS`].
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

/// What writes firmware and models into a board's flash.
#[derive(Clone, Copy, Debug)]
pub enum Flasher {
    /// `espflash`, for a chip of that name.
    Espflash(&'static str),
    /// `picotool`, or the drive that the board is in BOOTSEL mode: by UF2, of this family for the firmware.
    Picotool(u32),
    /// `probe-rs`, for a chip of that name.
    ProbeRs(&'static str),
    /// The same, but for flash outside of the chip: that is `nrfutil`'s, by its settings under `boards/`.
    ProbeRsAndNrfutil(&'static str, &'static str),
    /// `STM32_Programmer_CLI`, with a loader of that name for flash outside of the chip.
    CubeProgrammer(&'static str),
}

/// Every board of silicon.
pub const HARDWARE: &[Hardware] = &[
    Hardware {
        name: "pico2-arm",
        about: "Raspberry Pi Pico 2: Cortex-M33, 150 MHz, 4 MB flash, 520 KB RAM; not run on hardware yet",
        target: "thumbv8m.main-none-eabihf",
        // "rp2350-arm-s" (RP2350 datasheet, section 5.5.3).
        flasher: Flasher::Picotool(0xE48B_FF59),
    },
    Hardware {
        name: "pico2-riscv",
        about: "Raspberry Pi Pico 2: Hazard3 (RV32IMAC), 150 MHz, 4 MB flash, 520 KB RAM; not run on hardware yet",
        target: "riscv32imac-unknown-none-elf",
        // "rp2350-riscv".
        flasher: Flasher::Picotool(0xE48B_FF5A),
    },
    Hardware {
        name: "nrf52840-dk",
        about: "Nordic nRF52840 DK: Cortex-M4, 64 MHz, 1 MB flash, 8 MB QSPI flash, 256 KB RAM; not run on hardware yet",
        target: "thumbv7em-none-eabihf",
        flasher: Flasher::ProbeRsAndNrfutil("nRF52840_xxAA", "nrf52840-dk/nrfutil-qspi.json"),
    },
    Hardware {
        name: "stm32f746g-disco",
        about: "ST 32F746GDISCOVERY: Cortex-M7, 216 MHz, 1 MB flash, 16 MB QSPI flash, 320 KB RAM; not run on hardware yet",
        target: "thumbv7em-none-eabihf",
        flasher: Flasher::CubeProgrammer("N25Q128A_STM32F746G-DISCO.stldr"),
    },
    Hardware {
        name: "nucleo-h743zi",
        about: "ST NUCLEO-H743ZI: Cortex-M7, 400 MHz, 2 MB flash, 512 KB RAM in one piece; not run on hardware yet",
        target: "thumbv7em-none-eabihf",
        flasher: Flasher::ProbeRs("STM32H743ZITx"),
    },
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
        for mut command in commands::commands(self, elf, image)? {
            println!("{}", shell::line(&command));
            if run {
                setup::flasher(&command.get_program().to_string_lossy())?;
                shell::run(&mut command)?;
            }
        }
        Ok(())
    }

    /// Whether its firmware can log through `defmt`.
    pub fn has_defmt(&self) -> bool {
        !matches!(self.flasher, Flasher::Espflash(_))
    }

    /// Fails if a firmware's program lies where it looks for models.
    pub fn check_apart(&self, elf: &Path) -> Result<()> {
        if matches!(self.flasher, Flasher::Espflash(_)) {
            // These ask a partition table.
            return Ok(());
        }
        let models = qemu::symbol(elf, "__model_start")?..qemu::symbol(elf, "__model_end")?;
        for piece in pieces::read(elf)? {
            let program = u64::from(piece.address)..u64::from(piece.end());
            ensure!(
                program.end <= models.start || models.end <= program.start,
                "the program, at {program:#x?}, reaches into the flash for models, {models:#x?}"
            );
        }
        Ok(())
    }
}
