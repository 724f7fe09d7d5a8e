//! The addressable LED (WS2812 or its like) of the development kits.

use esp_hal::Blocking;
use esp_hal::gpio::Level;
use esp_hal::peripherals::{GPIO8, RMT};
use esp_hal::rmt::{Channel, PulseCode, Rmt, Tx, TxChannelConfig, TxChannelCreator};
use esp_hal::time::{Duration, Instant, Rate};

/// Ticks of 12.5 ns. The WS2812B's datasheet wants 0.4 us high and 0.85 us low for a zero, 0.8 us and 0.45 us for a one.
const TICKS_A_SECOND: Rate = Rate::from_mhz(80);
const ZERO: PulseCode = PulseCode::new(Level::High, 32, Level::Low, 68);
const ONE: PulseCode = PulseCode::new(Level::High, 64, Level::Low, 36);

/// Green, red, blue. Full light hurts the eyes.
const BUSY: u32 = 0x00_00_10;
const DARK: u32 = 0;

/// A colour takes 30 us; what takes a thousand is stuck.
const LIMIT: Duration = Duration::from_millis(1);

/// The LED.
#[derive(Debug)]
pub struct Light {
    channel: Channel<'static, Blocking, Tx>,
}

impl Light {
    /// The LED on its pin, dark; none if the pulse generator can't be set up.
    pub fn new(rmt: RMT<'static>, pin: GPIO8<'static>) -> Option<Self> {
        let config = TxChannelConfig::default().with_clk_divider(1).with_idle_output(true);
        let channel = Rmt::new(rmt, TICKS_A_SECOND).ok()?.channel0.configure_tx(&config).ok()?.with_pin(pin);
        let mut light = Self { channel };
        light.show(DARK);
        Some(light)
    }

    /// Lights it or not.
    pub fn set(&mut self, on: bool) {
        self.show(if on { BUSY } else { DARK });
    }

    fn show(&mut self, colour: u32) {
        let mut pulses = [PulseCode::end_marker(); 25];
        for (bit, pulse) in (0..24).rev().zip(&mut pulses) {
            *pulse = if colour >> bit & 1 == 1 { ONE } else { ZERO };
        }
        let Ok(mut sending) = self.channel.reborrow().transmit(&pulses) else { return };
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if sending.poll() {
                // It has ended: this only gives the channel back. Whether it failed is of no use to know.
                let _ = sending.wait();
                return;
            }
        }
    }
}
