//! The devices of a board.

use embassy_stm32::Peri;
use embassy_stm32::gpio::{Input, Output};
use embassy_stm32::usart::BufferedUart;
use embassy_stm32::wdg::{IndependentWatchdog, Instance};
use embedded_io::{Read, Write};
use hardware::Devices;

/// Nothing between two feeds takes longer, not even the check of a model of some megabytes.
const WATCHDOG_US: u32 = 10_000_000;

/// What the console sends and receives goes through: room for a line while a phrase is translated.
#[derive(Debug)]
pub struct Queues {
    /// What is to be sent.
    pub tx: [u8; 256],
    /// What was received.
    pub rx: [u8; 1024],
}

impl Queues {
    /// Empty queues.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new() -> Self {
        Self { tx: [0; 256], rx: [0; 1024] }
    }
}

/// The devices of a board: a console on a USART, a light and a button, both of which are on when their pin is high, and a
/// watchdog.
pub struct Stm32<W: Instance + 'static> {
    console: BufferedUart<'static>,
    light: Output<'static>,
    button: Input<'static>,
    watchdog: IndependentWatchdog<'static, W>,
}

impl<W: Instance + 'static> Stm32<W> {
    /// Starts the watchdog.
    pub fn new(
        console: BufferedUart<'static>,
        light: Output<'static>,
        button: Input<'static>,
        watchdog: Peri<'static, W>,
    ) -> Self {
        let mut watchdog = IndependentWatchdog::new(watchdog, WATCHDOG_US);
        watchdog.unleash();
        Self { console, light, button, watchdog }
    }
}

impl<W: Instance + 'static> Devices for Stm32<W> {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        // This driver's `read` does not wait. Bytes that the line has spoilt are no bytes.
        matches!(self.console.read(&mut byte), Ok(1)).then_some(byte[0])
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        // Writing has no errors; what could not be written is given up, as a console has no one to tell.
        self.console.write(bytes).unwrap_or(bytes.len())
    }

    fn flush(&mut self) {
        let _ = self.console.flush();
    }

    fn is_pressed(&mut self) -> bool {
        self.button.is_high()
    }

    fn light(&mut self, on: bool) {
        self.light.set_level(on.into());
    }

    fn keep(&mut self) {
        self.watchdog.pet();
    }
}
