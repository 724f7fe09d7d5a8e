//! A board as the application sees it.

use core::convert::Infallible;
use core::ops::ControlFlow;

use app::{Event, Port, Stack, StackUse, Unit};
use embedded_io::{ErrorType, Read, Write};

use crate::button::Button;
use crate::cycles::Cycles;
use crate::{Devices, Machine, pause};

/// The board of a [`Machine`].
pub struct Board<M: Machine> {
    devices: M::Devices,
    button: Button,
    cycles: Cycles,
    stack: Stack,
}

impl<M: Machine> Board<M> {
    /// Paints the free stack and starts the machine. Call it once, as early as may be.
    pub fn start() -> Self {
        let stack = stack();
        stack.paint();
        Self { devices: M::start(), button: Button::default(), cycles: Cycles::start(), stack }
    }

    fn keep(&mut self) -> u64 {
        self.devices.keep();
        self.cycles.count()
    }
}

/// All RAM that statics leave.
#[cfg(target_os = "none")]
fn stack() -> Stack {
    unsafe extern "C" {
        #[cfg_attr(target_arch = "arm", link_name = "_stack_end")]
        #[cfg_attr(target_arch = "riscv32", link_name = "_estack")]
        static mut LOWEST: u32;
        #[link_name = "_stack_start"]
        static mut TOP: u32;
    }
    // SAFETY: the symbols of `cortex-m-rt` and `riscv-rt` bound the RAM above all statics, where the stack grows down from the
    // second. It is painted before any interrupt is enabled.
    unsafe { Stack::new(&raw mut LOWEST, &raw mut TOP) }
}

#[cfg(not(target_os = "none"))]
fn stack() -> Stack {
    // SAFETY: an empty stack: nothing of it is ever read or written.
    unsafe { Stack::new(core::ptr::null_mut(), core::ptr::null_mut()) }
}

impl<M: Machine> ErrorType for Board<M> {
    type Error = Infallible;
}

impl<M: Machine> Read for Board<M> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        loop {
            self.keep();
            if let Some(byte) = self.devices.byte() {
                *first = byte;
                return Ok(1);
            }
        }
    }
}

impl<M: Machine> Write for Board<M> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.keep();
        Ok(if bytes.is_empty() { 0 } else { self.devices.write(bytes) })
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.devices.flush();
        Ok(())
    }
}

impl<M: Machine> Port for Board<M> {
    const NAME: &'static str = M::NAME;
    const UNIT: Unit = Unit::Cycles;
    const CLOCK_HZ: Option<u32> = Some(M::CLOCK_HZ);

    fn count(&mut self) -> u64 {
        self.cycles.count()
    }

    fn stack(&self) -> StackUse {
        self.stack.measure()
    }

    fn exit(_code: u8) -> ! {
        // The last answer is flushed; this is for who reads it, as a reset takes a USB console away.
        pause(M::CLOCK_HZ);
        M::reset()
    }

    fn wait(&mut self) -> Result<Event, Infallible> {
        loop {
            let now = self.keep();
            if let Some(byte) = self.devices.byte() {
                return Ok(Event::Byte(byte));
            }
            // 30 ms.
            if self.button.pressed(self.devices.is_pressed(), now, u64::from(M::CLOCK_HZ) * 3 / 100) {
                return Ok(Event::Button);
            }
        }
    }

    fn busy(&mut self, busy: bool) {
        self.devices.light(busy);
    }

    fn between(&mut self) -> ControlFlow<()> {
        self.keep();
        ControlFlow::Continue(())
    }
}
