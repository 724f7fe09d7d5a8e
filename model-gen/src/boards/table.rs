//! The table of boards.

use super::{Board, Core, Format};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

const fn core(name: &'static str, counted_as: &'static str, cycles_per_instruction: f64) -> Core {
    Core { name, counted_as, cycles_per_instruction }
}

/// `docs/performance.md` estimates 1.51 cycles an instruction for a phrase on an M4 without wait states, and 1.5 on M3 and M33.
const M3: Core = core("Cortex-M3", "qemu-cortex-m3", 1.5);
const M4: Core = core("Cortex-M4", "qemu-cortex-m4", 1.5);
const M33: Core = core("Cortex-M33", "qemu-cortex-m33", 1.5);
/// Issues two instructions at a time where it can, and waits for its caches: taken as one an instruction.
const M7: Core = core("Cortex-M7", "qemu-cortex-m7", 1.0);
const M55: Core = core("Cortex-M55", "qemu-cortex-m55", 1.5);
/// One instruction a cycle but for taken branches, loads and multiplies; assumed as an M4.
const HAZARD3: Core = core("Hazard3 (RV32IMAC)", "qemu-riscv32", 1.5);
const ESP_RISCV: Core = core("RV32IMC", "qemu-riscv32", 1.5);
const QEMU_RISCV: Core = core("RV32IMC", "qemu-riscv32", 1.0);

/// UF2 for the RP2350's flash whatever it holds: family "absolute" (RP2350 datasheet, section 5.5.3: 0xE48BFF57).
const RP2350: Format = Format::Uf2 { family: 0xE48B_FF57 };

/// What an emulated board has in common with the others.
const QEMU: Board = Board {
    name: "",
    about: "",
    core: M4,
    clock_hz: 25_000_000,
    ram: 256 * KIB,
    model_address: 0x0010_0000,
    model_bytes: 3 * MIB,
    page: 4 * KIB,
    flash_rate: None,
    format: Format::Bin,
    flash_with: "cargo xtask board {name} --apart BYTES --blob {file}",
    emulated: true,
};

/// Raspberry Pi Pico 2: RP2350, 150 MHz, 520 KB SRAM of which 512 KB are one piece, 4 MB QSPI flash (Pico 2 datasheet; RP2350
/// datasheet, sections 2.2 and 4.4). After reset the boot ROM's setup reads by quad words at a quarter of the clock or slower:
/// 37.5 MHz x 4 bits are 18.75 MB/s at best, less the commands' cycles for each line of 8 bytes: about 14 MB/s.
const PICO2: Board = Board {
    clock_hz: 150_000_000,
    ram: 512 * KIB,
    model_address: 0x1010_0000,
    model_bytes: 3 * MIB,
    page: 4 * KIB,
    flash_rate: Some(14e6),
    format: RP2350,
    flash_with: "picotool load {file}  (or copy it to the drive of a board in BOOTSEL mode)",
    emulated: false,
    ..QEMU
};

/// ESP32-C3 and C6 devkits: 160 MHz, 400 and 512 KB SRAM of which the program has about 320 KB in one piece, 4 MB flash read by
/// two bits at 80 MHz through a cache of 16 or 32 KB: 20 MB/s (ESP32-C3 and ESP32-C6 datasheets; `boards/esp/partitions.csv`).
const ESP: Board = Board {
    core: ESP_RISCV,
    clock_hz: 160_000_000,
    ram: 320 * KIB,
    // Where the firmware maps the partition is its own affair.
    model_address: 0x0020_0000,
    model_bytes: 2 * MIB,
    page: 4 * KIB,
    flash_rate: Some(20e6),
    format: Format::Bin,
    flash_with: "espflash write-bin --chip {name} {address} {file}",
    emulated: false,
    ..QEMU
};

/// Every board.
pub const BOARDS: &[Board] = &[
    Board {
        name: "pico2-arm",
        about: "Raspberry Pi Pico 2 (RP2350), Arm cores, 4 MB flash, 520 KB RAM",
        core: M33,
        ..PICO2
    },
    Board {
        name: "pico2-riscv",
        about: "Raspberry Pi Pico 2 (RP2350), RISC-V cores, 4 MB flash, 520 KB RAM",
        core: HAZARD3,
        ..PICO2
    },
    // nRF52840 product specification 1.11: 1 MB flash, 256 KB RAM, 64 MHz. Internal flash keeps up but for the cache's misses:
    // 32 bits a read of two wait states.
    Board {
        name: "nrf52840-dk",
        about: "Nordic nRF52840 DK, 1 MB flash, 256 KB RAM",
        core: M4,
        clock_hz: 64_000_000,
        ram: 256 * KIB,
        // Behind the program's.
        model_address: 0x0005_0000,
        model_bytes: 704 * KIB,
        page: 4 * KIB,
        flash_rate: Some(64e6 * 4.0 / 3.0),
        format: Format::Hex,
        flash_with: "probe-rs download --chip nRF52840_xxAA --binary-format hex {file}",
        emulated: false,
    },
    // STM32F746 datasheet DS10916 and UM1907: 216 MHz, 1 MB flash, 320 KB RAM, N25Q128A of 16 MB by QUADSPI at 108 MHz x 4 bits.
    Board {
        name: "stm32f746g-disco",
        about: "ST STM32F746G-DISCO, 1 MB flash, 320 KB RAM, 16 MB QSPI flash",
        core: M7,
        clock_hz: 216_000_000,
        ram: 256 * KIB,
        model_address: 0x9000_0000,
        model_bytes: 16 * MIB,
        page: 64 * KIB,
        flash_rate: Some(108e6 / 2.0),
        format: Format::Bin,
        flash_with: "STM32_Programmer_CLI -c port=SWD -el N25Q128A_STM32F746G-DISCO.stldr -w {file} {address}",
        emulated: false,
    },
    // STM32H743 datasheet DS12110: 480 MHz, 2 MB flash in sectors of 128 KB, 512 KB of AXI SRAM. Flash is read by 256 bits with
    // four wait states at 240 MHz of AXI clock, through caches.
    Board {
        name: "nucleo-h743zi",
        about: "ST NUCLEO-H743ZI, 2 MB flash, 512 KB RAM in one piece",
        core: M7,
        clock_hz: 400_000_000,
        ram: 512 * KIB,
        // Behind the program's three sectors.
        model_address: 0x0806_0000,
        model_bytes: 1664 * KIB,
        page: 128 * KIB,
        flash_rate: None,
        format: Format::Hex,
        flash_with: "probe-rs download --chip STM32H743ZITx --binary-format hex {file}",
        emulated: false,
    },
    Board { name: "esp32c3", about: "Espressif ESP32-C3 devkits, 4 MB flash, 400 KB RAM", ..ESP },
    Board { name: "esp32c6", about: "Espressif ESP32-C6 devkits, 4 MB flash, 512 KB RAM", ram: 440 * KIB, ..ESP },
    Board { name: "qemu-cortex-m3", about: "QEMU mps2-an385, 4 MB flash, 256 KB RAM", core: M3, ..QEMU },
    Board { name: "qemu-cortex-m4", about: "QEMU mps2-an386, 4 MB flash, 256 KB RAM", ..QEMU },
    Board { name: "qemu-cortex-m7", about: "QEMU mps2-an500, 4 MB flash, 256 KB RAM", core: M7, ..QEMU },
    Board {
        name: "qemu-cortex-m33",
        about: "QEMU mps2-an505, 4 MB flash, 256 KB RAM",
        core: M33,
        clock_hz: 20_000_000,
        model_address: 0x1010_0000,
        ..QEMU
    },
    Board {
        name: "qemu-cortex-m55",
        about: "QEMU mps3-an547, 8 MB QSPI flash, 256 KB RAM",
        core: M55,
        clock_hz: 32_000_000,
        model_address: 0x3800_0000,
        model_bytes: 8 * MIB,
        ..QEMU
    },
    Board {
        name: "qemu-riscv32",
        about: "QEMU virt (RV32IMC), 4 MB flash, 256 KB RAM",
        core: QEMU_RISCV,
        clock_hz: 1_000_000_000,
        model_address: 0x8010_0000,
        ..QEMU
    },
];
