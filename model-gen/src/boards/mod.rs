//! Boards that people have: what they hold, how fast they are likely to be, and where their firmware looks for models.
//!
//! Sizes, clocks and widths are those of the datasheets that the table names. Speeds are estimates: instructions counted under
//! emulation, cycles an instruction assumed, flash as fast as its bus.

mod estimate;
pub mod image;
mod table;

pub use estimate::{Estimate, FIRMWARE_RAM, Fit, Typical, estimate, fit};
pub use table::BOARDS;

use anyhow::{Context, Result};

/// A core, as far as speed goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// Its name.
    pub name: &'static str,
    /// The emulated board that has the same kernels, whose instructions are counted.
    pub counted_as: &'static str,
    /// Cycles an instruction: an assumption.
    pub cycles_per_instruction: f64,
}

/// How a model gets onto a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Blocks of 256 bytes with their addresses, of a family of chips, for boards that mount as a drive.
    Uf2 {
        /// The family that boot loaders check.
        family: u32,
    },
    /// Bytes for an address that the tool is told.
    Bin,
    /// Intel HEX.
    Hex,
}

impl Format {
    /// The ending of such a file.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Uf2 { .. } => "uf2",
            Format::Bin => "bin",
            Format::Hex => "hex",
        }
    }
}

/// A board.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    /// Its name, as `cargo xtask board` calls it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Its core.
    pub core: Core,
    /// Cycles a second; instructions a second for an emulator.
    pub clock_hz: u32,
    /// Bytes of RAM in one piece.
    pub ram: usize,
    /// Where models are written that are flashed apart: the address at which the core reads them, or the start of the partition that
    /// the firmware maps.
    pub model_address: u32,
    /// Bytes there are for models.
    pub model_bytes: usize,
    /// Bytes that are erased at a time.
    pub page: usize,
    /// Bytes a second that the core can read of the model's flash when nothing is cached; none where it keeps up.
    pub flash_rate: Option<f64>,
    /// What is flashed.
    pub format: Format,
    /// How: `{name}`, `{file}` and `{address}` are to be put in.
    pub flash_with: &'static str,
    /// Whether it is emulated; else firmware is built for it, but was not run on it here.
    pub emulated: bool,
}

impl Board {
    /// The board of that name.
    ///
    /// # Errors
    ///
    /// If there is none, with the names that there are.
    pub fn find(name: &str) -> Result<&'static Board> {
        BOARDS.iter().find(|board| board.name == name).with_context(|| {
            let names: Vec<_> = BOARDS.iter().map(|board| board.name).collect();
            format!("no board `{name}`; there are: {}", names.join(", "))
        })
    }

    /// The command that writes `file` where the firmware looks for models.
    pub fn flash_command(&self, file: &str) -> String {
        let command = self.flash_with.replace("{name}", self.name).replace("{file}", file);
        command.replace("{address}", &format!("{:#x}", self.model_address))
    }
}
