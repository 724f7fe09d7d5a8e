//! The UART and the timers of Arm's CMSDK, as QEMU's mps2-an386 has them (Arm DAI 0386, chapter 4).

use core::convert::Infallible;

use app::Register;
use embedded_io::{ErrorType, Read, Write};

/// UART0.
#[derive(Debug)]
pub struct Uart {
    data: Register<u32>,
    state: Register<u32>,
}

const TX_FULL: u32 = 1 << 0;
const RX_FULL: u32 = 1 << 1;

impl Uart {
    /// Turns the UART on. Two at once only share the line.
    pub fn new() -> Self {
        // SAFETY: UART0's registers on this machine, nothing but it.
        let [data, state, control, divider] =
            unsafe { [0x4000_4000, 0x4000_4004, 0x4000_4008, 0x4000_4010].map(|address| Register::at(address)) };
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

/// Guest instructions, from timers on the 25 MHz system clock under `-icount shift=6`.
///
/// There an instruction lasts 2^6 ns = 64 ns, which are 1.6 ticks of 40 ns. TIMER0 counts every tick and wraps after
/// 2^32 of them (2.7 G instructions); the dual timer counts every 256th and tells how often that was.
#[derive(Debug)]
pub struct Counter {
    fine: Register<u32>,
    coarse: Register<u32>,
}

impl Counter {
    /// Starts both timers.
    pub fn new() -> Self {
        // SAFETY: registers of TIMER0 and of the dual timer's first half on this machine, nothing but them.
        let [fine_control, fine, fine_reload, coarse_load, coarse, coarse_control] = unsafe {
            [0x4000_0000, 0x4000_0004, 0x4000_0008, 0x4000_2000, 0x4000_2004, 0x4000_2008]
                .map(|address| Register::at(address))
        };
        fine_reload.write(u32::MAX);
        fine.write(u32::MAX);
        coarse_load.write(u32::MAX);
        // Enabled, prescaled by 256, 32 bits wide.
        coarse_control.write(0b1000_1010);
        fine_control.write(0b1);
        Self { fine, coarse }
    }

    /// Instructions since `new`.
    pub fn instructions(&self) -> u64 {
        let coarse = u64::from(u32::MAX - self.coarse.read()) * 256;
        let fine = u32::MAX - self.fine.read();
        instructions(ticks(coarse, fine))
    }
}

/// The count whose low 32 bits are `fine` and which is nearest to `coarse`.
fn ticks(coarse: u64, fine: u32) -> u64 {
    let ahead = fine.wrapping_sub(coarse as u32).cast_signed();
    coarse.saturating_add_signed(ahead.into())
}

/// Ticks of 40 ns to instructions of 64 ns.
fn instructions(ticks: u64) -> u64 {
    ticks * 5 / 8
}
