//! The table of boards.

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::hardware::HARDWARE;

/// A board that QEMU emulates.
#[derive(Debug)]
pub struct Machine {
    /// Its name, its folder under `boards/` and the name of its firmware.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The Rust target of its firmware.
    pub target: &'static str,
    /// QEMU's program for it.
    pub qemu: &'static str,
    /// The Debian package that has the program.
    pub package: &'static str,
    /// QEMU's options that choose the machine and make its clocks count instructions.
    pub options: &'static [&'static str],
    /// Whether it stands for its instruction set where tests would learn nothing from a further board.
    pub reference: bool,
}

/// What Arm's boards have in common.
const ARM: Machine = Machine {
    name: "",
    about: "",
    target: "",
    qemu: "qemu-system-arm",
    package: "qemu-system-arm",
    options: &[],
    reference: false,
};

/// Boards too small for a model: their firmware checks the kernels and ends.
pub const KERNEL_MACHINES: &[Machine] = &[Machine {
    name: "qemu-cortex-m0",
    about: "BBC micro:bit: Cortex-M0, 16 MHz, 256 KB flash, 16 KB RAM; kernels only",
    target: "thumbv6m-none-eabi",
    options: &["-machine", "microbit", "-icount", "shift=6"],
    ..ARM
}];

/// Every board that runs models.
pub const MACHINES: &[Machine] = &[
    Machine {
        name: "qemu-cortex-m3",
        about: "Arm MPS2 AN385: Cortex-M3, no FPU, 25 MHz, 4 MB flash, 256 KB RAM",
        target: "thumbv7m-none-eabi",
        options: &["-machine", "mps2-an385", "-icount", "shift=6"],
        ..ARM
    },
    Machine {
        name: "qemu-cortex-m4",
        about: "Arm MPS2 AN386: Cortex-M4 with FPU, 25 MHz, 4 MB flash, 256 KB RAM",
        target: "thumbv7em-none-eabihf",
        options: &["-machine", "mps2-an386", "-icount", "shift=6"],
        reference: true,
        ..ARM
    },
    Machine {
        name: "qemu-cortex-m7",
        about: "Arm MPS2 AN500: Cortex-M7 with FPU, 25 MHz, 4 MB flash, 256 KB RAM",
        target: "thumbv7em-none-eabihf",
        options: &["-machine", "mps2-an500", "-icount", "shift=6"],
        ..ARM
    },
    Machine {
        name: "qemu-cortex-m33",
        about: "Arm MPS2 AN505: Cortex-M33 with DSP and FPU, 20 MHz, 4 MB flash, 256 KB RAM",
        target: "thumbv8m.main-none-eabihf",
        options: &["-machine", "mps2-an505", "-icount", "shift=6"],
        ..ARM
    },
    Machine {
        name: "qemu-an521",
        about: "Arm MPS2 AN521: dual Cortex-M33, the first without DSP and FPU, 20 MHz, 4 MB flash, 256 KB RAM",
        target: "thumbv8m.main-none-eabi",
        options: &["-machine", "mps2-an521", "-icount", "shift=6"],
        ..ARM
    },
    Machine {
        name: "qemu-cortex-m55",
        about: "Arm MPS3 AN547: Cortex-M55 with MVE, 32 MHz, 8 MB flash, 256 KB RAM",
        target: "thumbv8m.main-none-eabihf",
        options: &["-machine", "mps3-an547", "-icount", "shift=6"],
        ..ARM
    },
    Machine {
        name: "qemu-riscv32",
        about: "RISC-V virt: RV32IMC code (no atomics, no FPU), 4 MB flash, 256 KB RAM",
        target: "riscv32imc-unknown-none-elf",
        qemu: "qemu-system-riscv32",
        package: "qemu-system-misc",
        options: &["-machine", "virt", "-bios", "none", "-icount", "shift=0"],
        reference: true,
    },
];

/// Every board.
pub fn all() -> impl Iterator<Item = &'static Machine> {
    KERNEL_MACHINES.iter().chain(MACHINES)
}

/// The boards that tests spend most on.
pub fn reference() -> impl Iterator<Item = &'static Machine> {
    MACHINES.iter().filter(|machine| machine.reference)
}

/// The board of that name.
pub fn find(name: &str) -> Result<&'static Machine> {
    all().find(|machine| machine.name == name).with_context(|| {
        let hardware = HARDWARE.iter().map(|hardware| hardware.name);
        let names: Vec<_> = all().map(|machine| machine.name).chain(hardware).collect();
        format!("no board `{name}`; there are: {}", names.join(", "))
    })
}

impl Machine {
    /// Whether it runs models.
    pub fn has_models(&self) -> bool {
        MACHINES.iter().any(|machine| machine.name == self.name)
    }
}

/// Which engine a blob is for and a firmware has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Engine {
    /// 8-bit weights, integers only.
    Int8,
    /// f16 weights, f32 arithmetic.
    F16,
}

impl Engine {
    /// Its name, which is the name of its Cargo feature too.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Int8 => "int8",
            Engine::F16 => "f16",
        }
    }
}
