//! The devices of the board.

use embassy_futures::block_on;
use embassy_nrf::Peri;
use embassy_nrf::buffered_uarte::BufferedUarte;
use embassy_nrf::gpio::{Input, Output};
use embassy_nrf::peripherals::WDT;
use embassy_nrf::wdt::{Config, HaltConfig, Watchdog, WatchdogHandle};
use embedded_io_async::ReadReady;
use hardware::Devices;

/// Nothing between two feeds takes longer: 10 seconds, in ticks of the slow clock.
const WATCHDOG_TICKS: u32 = 10 * 32_768;

/// The devices.
pub struct Nrf {
    console: BufferedUarte<'static>,
    light: Output<'static>,
    button: Input<'static>,
    /// None where a bootloader has started the watchdog in another way.
    watchdog: Option<WatchdogHandle>,
}

impl Nrf {
    /// Starts the watchdog, which stands still while a debugger halts the core.
    pub fn new(
        console: BufferedUarte<'static>,
        light: Output<'static>,
        button: Input<'static>,
        watchdog: Peri<'static, WDT>,
    ) -> Self {
        let mut config = Config::default();
        config.timeout_ticks = WATCHDOG_TICKS;
        config.action_during_debug_halt = HaltConfig::Pause;
        let watchdog = Watchdog::try_new::<_, 1>(watchdog, config).ok().map(|(_, [handle])| handle);
        Self { console, light, button, watchdog }
    }
}

impl Devices for Nrf {
    fn byte(&mut self) -> Option<u8> {
        // Errors are bytes that came too fast; they are lost, and the next ones are not.
        if !self.console.read_ready().unwrap_or(false) {
            return None;
        }
        let mut byte = [0];
        matches!(block_on(self.console.read(&mut byte)), Ok(1)).then_some(byte[0])
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        // Writing has no errors; what could not be written is given up, as a console has no one to tell.
        block_on(self.console.write(bytes)).unwrap_or(bytes.len())
    }

    fn flush(&mut self) {
        let _ = block_on(self.console.flush());
    }

    fn is_pressed(&mut self) -> bool {
        self.button.is_low()
    }

    fn light(&mut self, on: bool) {
        self.light.set_level((!on).into());
    }

    fn keep(&mut self) {
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.pet();
        }
    }
}
