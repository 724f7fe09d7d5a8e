//! The N25Q128A flash of the kit, mapped into memory for reading (its datasheet; RM0385, chapter on the QUADSPI).

use core::mem::forget;

use embassy_stm32::Peri;
use embassy_stm32::peripherals::{PB2, PB6, PD11, PD12, PD13, PE2, QUADSPI};
use embassy_stm32::qspi::enums::{
    AddressSize, ChipSelectHighTime, DummyCycles, FIFOThresholdLevel, MemorySize, QspiWidth, SampleShifting,
};
use embassy_stm32::qspi::{Config, Qspi, TransferConfig};
use stm32::hardware;

/// Makes the flash take commands whatever state it was left in: RESET ENABLE, then RESET MEMORY.
const RESET: [u8; 2] = [0x66, 0x99];

/// QUAD INPUT/OUTPUT FAST READ, which by default has 10 dummy cycles, enough at 108 MHz.
const READ: u8 = 0xEB;

/// How the flash is wired.
pub struct Pins {
    pub io0: Peri<'static, PD11>,
    pub io1: Peri<'static, PD12>,
    pub io2: Peri<'static, PE2>,
    pub io3: Peri<'static, PD13>,
    pub clock: Peri<'static, PB2>,
    pub select: Peri<'static, PB6>,
}

/// Maps the flash from 0x9000_0000 on, for good.
pub fn map(unit: Peri<'static, QUADSPI>, pins: Pins) {
    let mut config = Config::default();
    config.memory_size = MemorySize::_16MiB;
    config.address_size = AddressSize::_24bit;
    // 216 MHz / 2.
    config.prescaler = 1;
    config.fifo_threshold = FIFOThresholdLevel::_4Bytes;
    // 50 ns between a read and the next, by the datasheet: 6 cycles.
    config.cs_high_time = ChipSelectHighTime::_6Cycle;
    config.sample_shifting = SampleShifting::HalfCycle;
    let Pins { io0, io1, io2, io3, clock, select } = pins;
    let mut flash = Qspi::new_blocking_bank1(unit, io0, io1, io2, io3, clock, select, config);
    for instruction in RESET {
        flash.blocking_command(TransferConfig { iwidth: QspiWidth::SING, instruction, ..TransferConfig::default() });
    }
    // It is ready again after 40 us at most if it was reading.
    hardware::pause(216 * 100);
    flash.enable_memory_map(&TransferConfig {
        iwidth: QspiWidth::SING,
        awidth: QspiWidth::QUAD,
        dwidth: QspiWidth::QUAD,
        instruction: READ,
        address: None,
        dummy: DummyCycles::_10,
    });
    // Whoever drops it gives the pins back.
    forget(flash);
}
