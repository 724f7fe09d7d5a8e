//! Guest instructions, from a board's timers under `-icount shift=6`: there an instruction lasts 2^6 ns = 64 ns.

use app::Register;

/// A clock that counts at least one tick an instruction and does not run over.
pub trait Clock {
    /// Starts it, or goes on with it when it runs.
    fn start() -> Self;

    /// Instructions since some fixed moment.
    fn instructions(&self) -> u64;
}

/// Ticks of a clock of so many MHz to instructions of 64 ns.
const fn instructions(ticks: u64, mhz: u64) -> u64 {
    ticks * 1000 / (mhz * 64)
}

/// TIMER0 and the dual timer of Arm's CMSDK at `BASE` and `BASE + 0x2000`, on a clock of `MHZ` (Arm DDI 0479, sections 4.4
/// and 4.5).
///
/// TIMER0 counts every tick and wraps after 2^32 of them (2.7 G instructions at 25 MHz); the dual timer counts every
/// 256th and tells how often that was.
#[derive(Debug)]
pub struct CmsdkTimers<const BASE: usize, const MHZ: u64> {
    fine: Register<u32>,
    coarse: Register<u32>,
}

impl<const BASE: usize, const MHZ: u64> Clock for CmsdkTimers<BASE, MHZ> {
    fn start() -> Self {
        // SAFETY: who names this type says that TIMER0 and the dual timer are there: registers of both, nothing but them.
        let [fine_control, fine, fine_reload, coarse_load, coarse, coarse_control] =
            unsafe { [0x0, 0x4, 0x8, 0x2000, 0x2004, 0x2008].map(|offset| Register::at(BASE + offset)) };
        fine_reload.write(u32::MAX);
        fine.write(u32::MAX);
        coarse_load.write(u32::MAX);
        // Enabled, prescaled by 256, 32 bits wide.
        coarse_control.write(0b1000_1010);
        fine_control.write(0b1);
        Self { fine, coarse }
    }

    fn instructions(&self) -> u64 {
        let coarse = u64::from(u32::MAX - self.coarse.read()) * 256;
        let fine = u32::MAX - self.fine.read();
        instructions(nearest(coarse, fine), MHZ)
    }
}

/// The count whose low 32 bits are `fine` and which is nearest to `coarse`.
fn nearest(coarse: u64, fine: u32) -> u64 {
    let ahead = fine.wrapping_sub(coarse as u32).cast_signed();
    coarse.saturating_add_signed(ahead.into())
}

/// The 64-bit system counter of Arm's SSE-300 by its control frame at `BASE`, on a clock of `MHZ` (Arm DDI 0593).
#[derive(Debug)]
pub struct SystemCounter<const BASE: usize, const MHZ: u64> {
    low: Register<u32>,
    high: Register<u32>,
}

impl<const BASE: usize, const MHZ: u64> Clock for SystemCounter<BASE, MHZ> {
    fn start() -> Self {
        // SAFETY: who names this type says that the counter is there: its registers, nothing but it.
        let [control, low, high] = unsafe { [0x0, 0x8, 0xC].map(|offset| Register::at(BASE + offset)) };
        control.write(1u32);
        Self { low, high }
    }

    fn instructions(&self) -> u64 {
        let mut high = self.high.read();
        loop {
            let low = self.low.read();
            let again = self.high.read();
            if again == high {
                return instructions(u64::from(high) << 32 | u64::from(low), MHZ);
            }
            high = again;
        }
    }
}
