//! The serial line, over USB and UART0 alike: bytes are taken from either and written to both. Some development kits have the
//! chip's USB-Serial-JTAG controller on a USB connector, some a bridge to UART0, some both.
//!
//! The USB controller holds one packet until the host takes it, and no host does before a program has opened the port. What
//! nobody takes for a while is dropped then, so that a board on a power supply answers its button too.

use core::convert::Infallible;

use embedded_io::{ErrorType, Write};
use esp_hal::Blocking;
use esp_hal::peripherals::USB_DEVICE;
use esp_hal::time::{Duration, Instant};
use esp_hal::uart::Uart;
use esp_hal::usb::usb_serial_jtag::UsbSerialJtag;

/// How long a host that listens may take for a packet.
const PATIENCE: Duration = Duration::from_millis(100);

/// The serial line.
pub struct Console {
    usb: UsbSerialJtag<'static, Blocking>,
    uart: Option<Uart<'static, Blocking>>,
    /// Nobody took the last packet over USB.
    deaf: bool,
}

impl Console {
    /// The serial line.
    pub fn new(usb: USB_DEVICE<'static>, uart: Option<Uart<'static, Blocking>>) -> Self {
        Self { usb: UsbSerialJtag::new(usb), uart, deaf: false }
    }

    /// A byte, if one came.
    pub fn byte(&mut self) -> Option<u8> {
        if let Ok(byte) = self.usb.read_byte() {
            return Some(byte);
        }
        let mut byte = [0];
        // What comes broken over the line is left out.
        self.uart.as_mut()?.read_buffered(&mut byte).is_ok_and(|bytes| bytes == 1).then_some(byte[0])
    }

    /// Waits until what was written is on its way, or nobody takes it.
    pub fn drain(&mut self) {
        self.has_room();
        if let Some(uart) = &mut self.uart {
            let _ = uart.flush();
        }
    }

    /// Waits until USB has room for bytes: then the host has taken the packet before. Tells whether there is.
    fn has_room(&mut self) -> bool {
        self.patiently(|_| USB_DEVICE::regs().ep1_conf().read().serial_in_ep_data_free().bit_is_set())
    }

    /// Tries until it succeeds or patience is at an end; once only where it was the last time. Tells whether it succeeded.
    fn patiently(&mut self, mut attempt: impl FnMut(&mut UsbSerialJtag<'static, Blocking>) -> bool) -> bool {
        let start = Instant::now();
        loop {
            if attempt(&mut self.usb) {
                self.deaf = false;
                return true;
            }
            if self.deaf || start.elapsed() > PATIENCE {
                self.deaf = true;
                return false;
            }
        }
    }
}

impl ErrorType for Console {
    type Error = Infallible;
}

impl Write for Console {
    /// Takes all bytes, and drops what no host fetches.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        if let Some(uart) = &mut self.uart {
            let mut rest = bytes;
            while let Ok(written @ 1..) = uart.write(rest) {
                rest = &rest[written..];
            }
        }
        for &byte in bytes {
            if !self.patiently(|usb| usb.write_byte_nb(byte).is_ok()) {
                break;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        // A full packet goes by itself, but many a host waits for a shorter one after it, and be it empty.
        if self.has_room() {
            let _ = self.usb.flush_tx_nb();
        }
        Ok(())
    }
}
