//! The BOOT button.

use esp_hal::gpio::{Input, InputConfig, Pull};
use esp_hal::peripherals::GPIO9;
use esp_hal::time::{Duration, Instant};

/// How long contacts may bounce.
const BOUNCE: Duration = Duration::from_millis(50);

/// The button, which draws its pin to ground.
#[derive(Debug)]
pub struct Button {
    pin: Input<'static>,
    down: bool,
    changed: Instant,
}

impl Button {
    /// The button on its pin.
    pub fn new(pin: GPIO9<'static>) -> Self {
        let pin = Input::new(pin, InputConfig::default().with_pull(Pull::Up));
        Self { pin, down: false, changed: Instant::now() }
    }

    /// Whether it was pressed since the last call: once a press.
    pub fn pressed(&mut self) -> bool {
        let down = self.pin.is_low();
        if down == self.down || self.changed.elapsed() < BOUNCE {
            return false;
        }
        (self.down, self.changed) = (down, Instant::now());
        down
    }
}
