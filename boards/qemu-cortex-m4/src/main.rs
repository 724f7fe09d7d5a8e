//! Firmware for the Cortex-M4 of QEMU's `mps2-an386` machine.
#![no_std]
#![no_main]

mod cmsdk;

use core::convert::Infallible;
use core::panic::PanicInfo;

use app::latimer::{Arena, arena_len, include_blob};
use app::{Buffers, LIMITS, Port, Stack, StackUse};
use cortex_m_rt::{ExceptionFrame, entry, exception};
use embedded_io::{ErrorType, Read, Write};

static BLOB: &[u8] = include_blob!(env!("LATIMER_BLOB"));

struct Board {
    uart: cmsdk::Uart,
    counter: cmsdk::Counter,
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
        Self { uart: cmsdk::Uart::new(), counter: cmsdk::Counter::new(), stack }
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
    const NAME: &'static str = "qemu-cortex-m4";

    fn instructions(&mut self) -> u64 {
        self.counter.instructions()
    }

    fn stack(&self) -> StackUse {
        self.stack.measure()
    }

    fn exit(code: u8) -> ! {
        semihosting::process::exit(code.into())
    }
}

#[entry]
fn main() -> ! {
    static mut ARENA: Arena<{ arena_len(BLOB, LIMITS) }> = Arena::new();
    static mut BUFFERS: Buffers = Buffers::new();
    let mut board = Board::new();
    board.stack.paint();
    app::run(&mut board, BLOB, ARENA.as_mut(), BUFFERS)
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    app::fail(&mut Board::new(), format_args!("hard fault at {:#x}, called from {:#x}", frame.pc(), frame.lr()))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    app::fail(&mut Board::new(), info)
}
