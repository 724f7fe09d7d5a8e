//! UART and TIMER0 of Nordic's nRF51 (nRF51 Series Reference Manual 3.0, chapters 18 and 29), polled.

use core::convert::Infallible;

use app::Register;
use embedded_io::{ErrorType, Read, Write};

/// The UART.
#[derive(Debug)]
pub struct Uart {
    received: Register<u32>,
    sent: Register<u32>,
    rxd: Register<u32>,
    txd: Register<u32>,
}

impl Uart {
    /// Turns the UART on. Two at once only share the line.
    pub fn new() -> Self {
        // SAFETY: the UART's registers on this machine, nothing but it.
        let [start_rx, start_tx, received, sent, enable, rxd, txd] =
            unsafe { [0x0, 0x8, 0x108, 0x11C, 0x500, 0x518, 0x51C].map(|offset| Register::at(0x4000_2000 + offset)) };
        enable.write(4);
        start_rx.write(1);
        start_tx.write(1);
        Self { received, sent, rxd, txd }
    }
}

impl ErrorType for Uart {
    type Error = Infallible;
}

impl Read for Uart {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        while self.received.read() == 0 {}
        self.received.write(0);
        *first = self.rxd.read().to_le_bytes()[0];
        Ok(1)
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let Some(&first) = bytes.first() else { return Ok(0) };
        self.sent.write(0);
        self.txd.write(first.into());
        while self.sent.read() == 0 {}
        Ok(1)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Guest instructions, from TIMER0 at 16 MHz under `-icount shift=6`: an instruction lasts 64 ns, a tick 62.5 ns. It runs
/// over after 4.2 G instructions.
#[derive(Debug)]
pub struct Counter {
    capture: Register<u32>,
    captured: Register<u32>,
}

impl Counter {
    /// Starts the timer, or goes on with it when it runs.
    pub fn new() -> Self {
        // SAFETY: TIMER0's registers on this machine, nothing but it.
        let [start, capture, mode, bits, prescaler, captured] =
            unsafe { [0x0, 0x40, 0x504, 0x508, 0x510, 0x540].map(|offset| Register::at(0x4000_8000 + offset)) };
        // A timer of 32 bits that counts every tick.
        mode.write(0);
        bits.write(3);
        prescaler.write(0);
        start.write(1u32);
        Self { capture, captured }
    }

    /// Instructions since the first start.
    pub fn instructions(&self) -> u64 {
        self.capture.write(1);
        u64::from(self.captured.read()) * 125 / 128
    }
}
