//! The UART of Arm's CMSDK (Arm DDI 0479, section 4.3), polled.

use core::convert::Infallible;

use app::Register;
use embedded_io::{ErrorType, Read, Write};

/// A UART.
#[derive(Debug)]
pub struct Uart {
    data: Register<u32>,
    state: Register<u32>,
}

const TX_FULL: u32 = 1 << 0;
const RX_FULL: u32 = 1 << 1;

impl Uart {
    /// Turns the UART on whose registers are at `base`. Two at once only share the line.
    ///
    /// # Safety
    /// A UART of this kind must be there.
    pub unsafe fn at(base: usize) -> Self {
        // SAFETY: by the caller's promise these are its registers, nothing but it.
        let [data, state, control, divider] =
            unsafe { [0x0, 0x4, 0x8, 0x10].map(|offset| Register::at(base + offset)) };
        // The lowest divider there is: QEMU passes bytes at once anyhow.
        divider.write(16);
        control.write(0b11);
        Self { data, state }
    }
}

impl ErrorType for Uart {
    type Error = Infallible;
}

impl Read for Uart {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        while self.state.read() & RX_FULL == 0 {}
        *first = self.data.read().to_le_bytes()[0];
        Ok(1)
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let Some(&first) = bytes.first() else { return Ok(0) };
        while self.state.read() & TX_FULL != 0 {}
        self.data.write(first.into());
        Ok(1)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        while self.state.read() & TX_FULL != 0 {}
        Ok(())
    }
}
