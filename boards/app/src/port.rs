//! What a board gives the application.

use core::ops::ControlFlow;

use embedded_io::{Read, Write};

use crate::StackUse;

/// What a board counts while a phrase is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Instructions: what an emulator counts.
    Instructions,
    /// Clock cycles: what cores count.
    Cycles,
}

impl Unit {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
        }
    }
}

/// What a board waits for between phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A byte came.
    Byte(u8),
    /// The button was pressed.
    Button,
    /// The line was closed.
    Closed,
}

/// A board: its serial line, a counter, its stack and a way out; and what only some boards have, which does nothing unless the
/// board says otherwise: a light, a button, work between steps.
///
/// `read` blocks until there is a byte; 0 bytes mean that the line was closed and end the session.
pub trait Port: Read + Write {
    /// The board's name, as `cargo xtask board` calls it.
    const NAME: &'static str;

    /// What [`Port::count`] counts.
    const UNIT: Unit = Unit::Instructions;

    /// Cycles a second, where the board has a clock of a known speed.
    const CLOCK_HZ: Option<u32> = None;

    /// Instructions or cycles since some fixed moment; never goes back.
    fn count(&mut self) -> u64;

    /// Size and deepest use of the stack, in bytes.
    fn stack(&self) -> StackUse;

    /// Ends the program: an emulator with this status, where 0 tells success; a board by a reset.
    fn exit(code: u8) -> !;

    /// Waits for a byte, or for a press of the button where there is one.
    ///
    /// # Errors
    ///
    /// The serial line's.
    fn wait(&mut self) -> Result<Event, Self::Error> {
        let mut byte = [0];
        Ok(if self.read(&mut byte)? == 0 { Event::Closed } else { Event::Byte(byte[0]) })
    }

    /// Is called when a phrase begins and when it is done: for a light.
    fn busy(&mut self, _busy: bool) {}

    /// Is called between the steps of a translation: feeds a watchdog, serves USB, counts a counter's overflows. `Break` ends the
    /// translation with what there is of it.
    fn between(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
