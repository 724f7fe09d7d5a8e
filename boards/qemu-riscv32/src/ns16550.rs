//! The NS16550 UART of QEMU's `virt` machine, polled.

use core::convert::Infallible;

use app::Register;
use embedded_io::{ErrorType, Read, Write};

/// The UART, as QEMU leaves it at reset: on, with no speed to set.
#[derive(Debug)]
pub struct Uart {
    data: Register<u8>,
    status: Register<u8>,
}

const RX_READY: u8 = 1 << 0;
const TX_EMPTY: u8 = 1 << 5;

impl Uart {
    /// The UART. Two at once only share the line.
    pub const fn new() -> Self {
        // SAFETY: the UART's data and line status registers on this machine, nothing but them.
        unsafe { Self { data: Register::at(0x1000_0000), status: Register::at(0x1000_0005) } }
    }
}

impl ErrorType for Uart {
    type Error = Infallible;
}

impl Read for Uart {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        while self.status.read() & RX_READY == 0 {}
        *first = self.data.read();
        Ok(1)
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let Some(&first) = bytes.first() else { return Ok(0) };
        while self.status.read() & TX_EMPTY == 0 {}
        self.data.write(first);
        Ok(1)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        while self.status.read() & TX_EMPTY == 0 {}
        Ok(())
    }
}
