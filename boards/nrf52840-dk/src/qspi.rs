//! The MX25R6435F flash of the kit, mapped into memory for reading (its datasheet; nRF52840 Product Specification, chapter on
//! the QSPI).

use core::mem::forget;

use embassy_nrf::Peri;
use embassy_nrf::peripherals::{P0_17, P0_19, P0_20, P0_21, P0_22, P0_23, QSPI};
use embassy_nrf::qspi::{Config, Frequency, Qspi, ReadOpcode};

use crate::Irqs;

/// WRITE STATUS REGISTER: the status and two bytes of configuration.
const WRITE_STATUS: u8 = 0x01;
/// Of the status: pins IO2 and IO3 are data.
const QUAD_ENABLE: u8 = 1 << 6;
/// Of the second byte of configuration: high performance, without which 32 MHz are too fast.
const HIGH_PERFORMANCE: u8 = 1 << 1;

/// How the flash is wired.
pub struct Pins {
    pub clock: Peri<'static, P0_19>,
    pub select: Peri<'static, P0_17>,
    pub io0: Peri<'static, P0_20>,
    pub io1: Peri<'static, P0_21>,
    pub io2: Peri<'static, P0_22>,
    pub io3: Peri<'static, P0_23>,
}

/// Maps the flash from 0x1200_0000 on, for good.
///
/// Nothing touches the unit's registers after this: by the errata that can halt the core once memory was read through it.
pub fn map(unit: Peri<'static, QSPI>, pins: Pins) {
    let Pins { clock, select, io0, io1, io2, io3 } = pins;
    let mut config = Config::default();
    config.read_opcode = ReadOpcode::Read4io;
    config.frequency = Frequency::M32;
    // In 16ths of a microsecond: the flash asks for 30 ns between commands.
    config.sck_delay = 1;
    config.capacity = 8 << 20;
    let mut flash = Qspi::new(unit, Irqs, clock, select, io0, io1, io2, io3, config);
    // The driver waits until it is written. It has no errors for this.
    let _ = flash.blocking_custom_instruction(WRITE_STATUS, &[QUAD_ENABLE, 0, HIGH_PERFORMANCE], &mut []);
    // Whoever drops it turns the unit off.
    forget(flash);
}
