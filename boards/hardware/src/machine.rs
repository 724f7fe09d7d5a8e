//! What a board brings.

/// A board.
pub trait Machine {
    /// Its name, as `cargo xtask board` calls it.
    const NAME: &'static str;

    /// Cycles a second, once it has started.
    const CLOCK_HZ: u32;

    /// Its devices.
    type Devices: Devices;

    /// Sets the clocks and turns the devices on. Is called once.
    fn start() -> Self::Devices;

    /// Writes bytes to the console when nothing can be relied on: by the registers of a serial port, which another part of the
    /// program may have left in any state. Never waits for long.
    fn say(bytes: &[u8]);

    /// Resets the chip.
    fn reset() -> !;
}

/// The devices of a board that runs.
pub trait Devices {
    /// A byte of the console, if one is there.
    fn byte(&mut self) -> Option<u8>;

    /// Writes some of the bytes to the console, one at least, and tells how many. It waits for room.
    fn write(&mut self, bytes: &[u8]) -> usize;

    /// Waits until all that was written is on the line.
    fn flush(&mut self);

    /// Whether the button is held down now.
    fn is_pressed(&mut self) -> bool;

    /// Turns the light on or off.
    fn light(&mut self, on: bool);

    /// Feeds the watchdog, and serves what needs it several times a second.
    fn keep(&mut self);
}
