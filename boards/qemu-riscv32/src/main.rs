//! Firmware for QEMU's `virt` machine with an RV32IMC core: no atomics, no FPU.
#![no_std]
#![no_main]

mod ns16550;

use core::convert::Infallible;
use core::panic::PanicInfo;

use app::latimer::Arena;
use app::{Buffers, Port, Stack, StackUse};
use embedded_io::{ErrorType, Read, Write};
use riscv::register::{mcause, mepc, minstret, mtval};
use riscv_rt::entry;

app::models!();

struct Board {
    uart: ns16550::Uart,
    stack: Stack,
}

unsafe extern "C" {
    static mut __estack: u32;
    static mut _stack_start: u32;
}

impl Board {
    fn new() -> Self {
        // SAFETY: riscv-rt's symbols bound the RAM above all statics, where the stack grows down from
        // `_stack_start`; no interrupt is ever enabled.
        let stack = unsafe { Stack::new(&raw mut __estack, &raw mut _stack_start) };
        Self { uart: ns16550::Uart::new(), stack }
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
    const NAME: &'static str = "qemu-riscv32";

    fn count(&mut self) -> u64 {
        // Exact under `-icount`; without it QEMU counts host time here.
        minstret::read64()
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
    static mut ARENA: Arena<{ models::ARENA_BYTES }> = Arena::new();
    static mut BUFFERS: Buffers = Buffers::new();
    let mut board = Board::new();
    board.stack.paint();
    let (arena, buffers) = (&raw mut ARENA, &raw mut BUFFERS);
    // SAFETY: the entry function runs once, and the statics are known to it alone.
    let (arena, buffers) = unsafe { (&mut *arena, &mut *buffers) };
    app::run(&mut board, models::models(), arena.as_mut(), buffers)
}

#[unsafe(export_name = "ExceptionHandler")]
fn exception_handler(_frame: &riscv_rt::TrapFrame) -> ! {
    let (cause, pc, value) = (mcause::read().bits(), mepc::read(), mtval::read());
    app::fail(&mut Board::new(), format_args!("trap {cause} at {pc:#x}, value {value:#x}"))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    app::fail(&mut Board::new(), info)
}
