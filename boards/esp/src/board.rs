//! A board as the application sees it.

use core::convert::Infallible;
use core::ops::ControlFlow;

use app::{Event, Port, Stack, StackUse, Unit};
use embedded_io::{ErrorType, Read, Write};
use esp_hal::clock::CpuClock;
use esp_hal::delay::Delay;
use esp_hal::peripherals::{Peripherals, TIMG0};
use esp_hal::time::Duration;
use esp_hal::timer::timg::{MwdtStage, Wdt};
use esp_hal::uart::{Config, Uart};

use crate::button::Button;
use crate::console::Console;
use crate::cycles::Cycles;
use crate::light::Light;

/// Nothing between two feeds takes longer, not even the check of a model of some megabytes.
const WATCHDOG: Duration = Duration::from_secs(10);

/// Before a reset.
const PAUSE: Duration = Duration::from_millis(500);

/// The board.
pub struct Board {
    console: Console,
    button: Button,
    light: Option<Light>,
    watchdog: Wdt<TIMG0<'static>>,
    cycles: Cycles,
    stack: Stack,
}

unsafe extern "C" {
    static mut __stack_chk_guard: u32;
    static mut _stack_start: u32;
}

impl Board {
    /// Sets the clock to 160 MHz and turns the devices on. Call it once, early: it paints the free stack.
    pub fn start() -> Self {
        let devices = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
        let mut board = Self::new(devices, true);
        board.watchdog.set_timeout(MwdtStage::Stage0, WATCHDOG);
        board.watchdog.enable();
        board.stack.paint();
        board
    }

    /// The board for the last words of a firmware.
    ///
    /// # Safety
    /// Whoever had the devices before must never use them again.
    pub unsafe fn seize() -> Self {
        // SAFETY: by this function's contract.
        Self::new(unsafe { Peripherals::steal() }, false)
    }

    fn new(devices: Peripherals, with_light: bool) -> Self {
        #[cfg(feature = "esp32c3")]
        let (tx, rx) = (devices.GPIO21, devices.GPIO20);
        #[cfg(not(feature = "esp32c3"))]
        let (tx, rx) = (devices.GPIO16, devices.GPIO17);
        // The defaults are 115200 baud, 8 bits, no parity, one stop bit. A board goes on without.
        let uart = Uart::new(devices.UART0, Config::default()).ok().map(|uart| uart.with_tx(tx).with_rx(rx));
        Self {
            console: Console::new(devices.USB_DEVICE, uart),
            button: Button::new(devices.GPIO9),
            light: if with_light { Light::new(devices.RMT, devices.GPIO8) } else { None },
            watchdog: Wdt::new(),
            cycles: Cycles::start(),
            stack: stack(),
        }
    }

    fn keep(&mut self) {
        self.watchdog.feed();
        self.cycles.count();
    }
}

/// The stack above the word that `esp-hal` guards by a watchpoint, in all RAM that statics leave.
fn stack() -> Stack {
    // SAFETY: by `esp-hal`'s linker script the addresses from the guard up to `_stack_start` are the main stack, which grows
    // down from there; no interrupt is ever enabled.
    unsafe { Stack::new((&raw mut __stack_chk_guard).wrapping_add(1), &raw mut _stack_start) }
}

impl ErrorType for Board {
    type Error = Infallible;
}

impl Read for Board {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        loop {
            self.keep();
            if let Some(byte) = self.console.byte() {
                *first = byte;
                return Ok(1);
            }
        }
    }
}

impl Write for Board {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.console.write(bytes)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        self.console.flush()
    }
}

impl Port for Board {
    const NAME: &'static str = if cfg!(feature = "esp32c3") { "esp32c3" } else { "esp32c6" };
    const UNIT: Unit = Unit::Cycles;
    const CLOCK_HZ: Option<u32> = Some(160_000_000);

    fn count(&mut self) -> u64 {
        self.cycles.count()
    }

    fn stack(&self) -> StackUse {
        self.stack.measure()
    }

    fn exit(_code: u8) -> ! {
        // SAFETY: nothing else runs until the reset.
        unsafe { Self::seize() }.console.drain();
        // The reset takes the console from the host, which may not have shown it all, and a fault at every start would fill it.
        Delay::new().delay(PAUSE);
        esp_hal::system::software_reset()
    }

    fn wait(&mut self) -> Result<Event, Infallible> {
        loop {
            self.keep();
            if let Some(byte) = self.console.byte() {
                return Ok(Event::Byte(byte));
            }
            if self.button.pressed() {
                return Ok(Event::Button);
            }
        }
    }

    fn busy(&mut self, busy: bool) {
        if let Some(light) = &mut self.light {
            light.set(busy);
        }
    }

    fn between(&mut self) -> ControlFlow<()> {
        self.keep();
        ControlFlow::Continue(())
    }
}
