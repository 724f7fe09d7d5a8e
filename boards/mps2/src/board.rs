//! A board as the application sees it.

use core::convert::Infallible;

use app::{Port, Stack, StackUse};
use embedded_io::{ErrorType, Read, Write};

use crate::{Clock, Uart};

/// What is a board's own.
pub trait Machine {
    /// Its name, as `cargo xtask board` calls it.
    const NAME: &'static str;

    /// Where the registers of UART0 are.
    const UART: usize;

    /// What instructions are counted by.
    type Clock: Clock;
}

/// The board of a [`Machine`].
#[derive(Debug)]
pub struct Board<M: Machine> {
    uart: Uart,
    clock: M::Clock,
    stack: Stack,
}

unsafe extern "C" {
    static mut _stack_end: u32;
    static mut _stack_start: u32;
}

impl<M: Machine> Board<M> {
    /// Turns UART and clock on.
    #[allow(clippy::new_without_default, reason = "it starts devices")]
    pub fn new() -> Self {
        // SAFETY: cortex-m-rt's symbols bound the RAM above all statics, where the stack grows down from
        // `_stack_start`; no interrupt is ever enabled.
        let stack = unsafe { Stack::new(&raw mut _stack_end, &raw mut _stack_start) };
        // SAFETY: `M` says that its UART is there.
        Self { uart: unsafe { Uart::at(M::UART) }, clock: M::Clock::start(), stack }
    }

    /// Paints the free stack, for the measure of its use.
    pub fn paint_stack(&self) {
        self.stack.paint();
    }
}

impl<M: Machine> ErrorType for Board<M> {
    type Error = Infallible;
}

impl<M: Machine> Read for Board<M> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.uart.read(buffer)
    }
}

impl<M: Machine> Write for Board<M> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.uart.write(bytes)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.uart.flush()
    }
}

impl<M: Machine> Port for Board<M> {
    const NAME: &'static str = M::NAME;

    fn count(&mut self) -> u64 {
        self.clock.instructions()
    }

    fn stack(&self) -> StackUse {
        self.stack.measure()
    }

    fn exit(code: u8) -> ! {
        semihosting::process::exit(code.into())
    }
}
