//! Firmware for the Cortex-M0 of QEMU's `microbit` machine: a model does not fit, so it checks the kernels and ends.
#![no_std]
#![no_main]

#[cfg(not(feature = "bench"))]
mod check;
mod nrf51;

use core::convert::Infallible;
use core::panic::PanicInfo;

use app::{Port, Stack, StackUse};
#[cfg(not(feature = "bench"))]
use check::Check;
use cortex_m_rt::{ExceptionFrame, entry, exception};
use embedded_io::{ErrorType, Read, Write};

struct Board {
    uart: nrf51::Uart,
    counter: nrf51::Counter,
    stack: Stack,
}

unsafe extern "C" {
    static mut _stack_end: u32;
    static mut _stack_start: u32;
}

impl Board {
    fn new() -> Self {
        // SAFETY: cortex-m-rt's symbols bound the RAM above all statics, where the stack grows down from
        // `_stack_start`; no interrupt is ever enabled.
        let stack = unsafe { Stack::new(&raw mut _stack_end, &raw mut _stack_start) };
        Self { uart: nrf51::Uart::new(), counter: nrf51::Counter::new(), stack }
    }

    #[cfg(not(feature = "bench"))]
    fn say(&mut self, line: core::fmt::Arguments<'_>) {
        // The UART takes every byte, and a line formats without fail.
        let _ = write!(self, "{line}\r\n");
    }
}

impl ErrorType for Board {
    type Error = Infallible;
}

impl Read for Board {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        self.uart.read(buffer)
    }
}

impl Write for Board {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.uart.write(bytes)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.uart.flush()
    }
}

impl Port for Board {
    const NAME: &'static str = "qemu-cortex-m0";

    fn count(&mut self) -> u64 {
        self.counter.instructions()
    }

    fn stack(&self) -> StackUse {
        self.stack.measure()
    }

    fn exit(code: u8) -> ! {
        semihosting::process::exit(code.into())
    }
}

/// Runs what `cargo xtask bench` asks for, as far as the memory holds it.
#[cfg(feature = "bench")]
#[entry]
fn main() -> ! {
    static mut MEMORY: app::bench::Memory<{ 9 * 1024 }> = app::bench::Memory::new();
    // The UART never fails.
    let served = app::bench::session(&mut Board::new(), None, &mut MEMORY.0);
    Board::exit(u8::from(served.is_err()))
}

#[cfg(not(feature = "bench"))]
#[entry]
fn main() -> ! {
    static mut CHECK: Check = Check::new();
    let mut board = Board::new();
    board.stack.paint();
    board.say(format_args!("latimer {} on {}: kernels only, no model", env!("CARGO_PKG_VERSION"), Board::NAME));
    let start = board.count();
    match CHECK.run() {
        Ok(products) => {
            let instructions = board.count() - start;
            let StackUse { size, high_water } = board.stack();
            board.say(format_args!(
                "{products} products equal naive sums: {instructions} instructions, stack {high_water} of {size} bytes"
            ));
            Board::exit(0)
        }
        Err(difference) => app::fail(&mut board, difference),
    }
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    app::fail(&mut Board::new(), format_args!("hard fault at {:#x}, called from {:#x}", frame.pc(), frame.lr()))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    app::fail(&mut Board::new(), info)
}
