//! The devices of the board.

use embedded_hal::digital::{InputPin, OutputPin};
use hal::Clock;
use hal::fugit::{ExtU32, RateExtU32};
use hal::gpio::bank0::{Gpio0, Gpio1, Gpio15, Gpio25};
use hal::gpio::{FunctionSioInput, FunctionSioOutput, FunctionUart, Pin, Pins, PullDown, PullUp};
use hal::pac::{Peripherals, UART0};
use hal::timer::CopyableTimer0;
use hal::uart::{DataBits, StopBits, UartConfig, UartPeripheral};
use hal::usb::UsbBus;
use hal::{Sio, Timer, Watchdog};
use hardware::Devices;
use rp235x_hal as hal;

use crate::note;
use crate::usb::Usb;

/// The board's crystal.
const CRYSTAL_HZ: u32 = 12_000_000;

/// How long a host that has opened the port may leave what was written to it: then it is thought to be gone.
const PATIENCE: u64 = 500_000;

type Uart =
    UartPeripheral<hal::uart::Enabled, UART0, (Pin<Gpio0, FunctionUart, PullDown>, Pin<Gpio1, FunctionUart, PullUp>)>;

/// The devices.
pub struct Pico {
    usb: Usb,
    /// The host has not taken what was written, so that nothing waits for it until it does.
    stuck: bool,
    uart: Uart,
    light: Pin<Gpio25, FunctionSioOutput, PullDown>,
    button: Pin<Gpio15, FunctionSioInput, PullUp>,
    watchdog: Watchdog,
    timer: Timer<CopyableTimer0>,
}

impl Pico {
    /// Sets the clocks, turns the devices on and waits until there is a terminal: one that opens the port on USB, or one on
    /// the UART that sends a byte. Call it once.
    pub fn start() -> Self {
        let chip = Peripherals::take().expect("this is called once");
        let mut resets = chip.RESETS;
        let mut watchdog = Watchdog::new(chip.WATCHDOG);
        // 150 MHz for the cores, 48 MHz for USB, a tick each microsecond.
        let clocks = hal::clocks::init_clocks_and_plls(
            CRYSTAL_HZ,
            chip.XOSC,
            chip.CLOCKS,
            chip.PLL_SYS,
            chip.PLL_USB,
            &mut resets,
            &mut watchdog,
        );
        let clocks = clocks.expect("the crystal's clock can be multiplied to these");
        let timer = Timer::new_timer0(chip.TIMER0, &mut resets, &clocks);
        let pins = Pins::new(chip.IO_BANK0, chip.PADS_BANK0, Sio::new(chip.SIO).gpio_bank0, &mut resets);
        // Pulled up, so that a pin with nothing on it is a line at rest.
        let uart = (pins.gpio0.reconfigure(), pins.gpio1.reconfigure());
        let config = UartConfig::new(115_200.Hz(), DataBits::Eight, None, StopBits::One);
        let uart = UartPeripheral::new(chip.UART0, uart, &mut resets);
        let uart = uart.enable(config, clocks.peripheral_clock.freq()).expect("115200 baud can be had from 150 MHz");
        let usb = UsbBus::new(chip.USB, chip.USB_DPRAM, clocks.usb_clock, true, &mut resets);
        watchdog.pause_on_debug(true);
        watchdog.start(8.secs());
        let mut pico = Self {
            usb: Usb::new(usb),
            stuck: false,
            uart,
            light: pins.gpio25.into_push_pull_output(),
            button: pins.gpio15.into_pull_up_input(),
            watchdog,
            timer,
        };
        pico.wait_for_terminal();
        pico
    }

    fn wait_for_terminal(&mut self) {
        while !self.usb.is_open() && self.byte().is_none() {
            self.keep();
        }
        if let Some(words) = note::take() {
            self.write_all(b"\r\nbefore the last reset:");
            self.write_all(words);
            self.flush();
        }
    }

    fn write_all(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = &bytes[self.write(bytes)..];
        }
    }

    /// Runs `work` until it says that it is done, unless the host no longer takes anything.
    fn while_usb_lasts(&mut self, mut work: impl FnMut(&mut Usb) -> bool) {
        let now = || self.timer.get_counter().ticks();
        let start = now();
        while self.usb.is_open() && !work(&mut self.usb) {
            if self.stuck || now() - start > PATIENCE {
                self.stuck = true;
                return;
            }
        }
        self.stuck = false;
    }
}

impl Devices for Pico {
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        // Bytes that the line has spoilt are no bytes.
        self.usb.byte().or_else(|| matches!(self.uart.read_raw(&mut byte), Ok(1)).then_some(byte[0]))
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        // Few enough for USB to be served in time while the UART sends them.
        let bytes = &bytes[..bytes.len().min(32)];
        self.uart.write_full_blocking(bytes);
        let mut left = bytes;
        self.while_usb_lasts(|usb| {
            left = &left[usb.write(left)..];
            left.is_empty()
        });
        bytes.len()
    }

    fn flush(&mut self) {
        self.while_usb_lasts(Usb::flush);
        while self.uart.uart_is_busy() {}
    }

    fn is_pressed(&mut self) -> bool {
        self.button.is_low().unwrap_or(false)
    }

    fn light(&mut self, on: bool) {
        // Its errors can't be made.
        let _ = self.light.set_state(on.into());
    }

    fn keep(&mut self) {
        self.usb.poll();
        self.watchdog.feed();
    }
}
