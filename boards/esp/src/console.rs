//! The serial line over USB: the USB-Serial-JTAG controller, which every development kit has on a USB connector.
//!
//! The controller holds one packet until the host takes it, and no host does before a program has opened the port. What
//! nobody takes for a while is dropped then, so that a board on a power supply answers its button too.

use core::convert::Infallible;

use embedded_io::{ErrorType, Write};
use esp_hal::Blocking;
use esp_hal::peripherals::USB_DEVICE;
use esp_hal::time::{Duration, Instant};
use esp_hal::usb::usb_serial_jtag::UsbSerialJtag;

/// How long a host that listens may take for a packet.
const PATIENCE: Duration = Duration::from_millis(100);

/// The serial line.
pub struct Console {
    usb: UsbSerialJtag<'static, Blocking>,
    /// Nobody took the last packet.
    deaf: bool,
}

impl Console {
    /// The serial line.
    pub fn new(usb: USB_DEVICE<'static>) -> Self {
        Self { usb: UsbSerialJtag::new(usb), deaf: false }
    }

    /// A byte, if one came.
    pub fn byte(&mut self) -> Option<u8> {
        self.usb.read_byte().ok()
    }

    /// Waits until there is room for bytes: then the host has taken the packet before. Tells whether there is.
    pub fn drain(&mut self) -> bool {
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
        for &byte in bytes {
            if !self.patiently(|usb| usb.write_byte_nb(byte).is_ok()) {
                break;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        // A full packet goes by itself, but many a host waits for a shorter one after it, and be it empty.
        if self.drain() {
            let _ = self.usb.flush_tx_nb();
        }
        Ok(())
    }
}
