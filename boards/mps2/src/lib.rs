//! The firmware of QEMU's Arm MPS2 and MPS3 boards, but for what is each board's own: a [`Machine`] and a `memory.x`.
#![no_std]

mod board;
mod clock;
mod uart;

pub use app;
// For the critical sections of the heap's lock.
pub use board::{Board, Machine};
pub use clock::{Clock, CmsdkTimers, SystemCounter};
#[cfg(feature = "alloc")]
use cortex_m as _;
pub use uart::Uart;

/// The whole firmware of a [`Machine`]: models, arena, entry and the handlers of what must not happen.
///
/// The board's crate depends on `cortex-m-rt`, whose attributes ask for it by name.
#[macro_export]
macro_rules! firmware {
    ($machine:ty) => {
        use $crate::app::Buffers;
        use $crate::app::latimer::Arena;

        $crate::app::models!();

        #[cortex_m_rt::entry]
        fn main() -> ! {
            static mut ARENA: Arena<{ models::ARENA_BYTES }> = Arena::new();
            static mut BUFFERS: Buffers = Buffers::new();
            let mut board = $crate::Board::<$machine>::new();
            board.paint_stack();
            $crate::app::run(&mut board, models::models(), ARENA.as_mut(), BUFFERS)
        }

        #[cortex_m_rt::exception]
        unsafe fn HardFault(frame: &cortex_m_rt::ExceptionFrame) -> ! {
            let what = format_args!("hard fault at {:#x}, called from {:#x}", frame.pc(), frame.lr());
            $crate::app::fail(&mut $crate::Board::<$machine>::new(), what)
        }

        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::app::fail(&mut $crate::Board::<$machine>::new(), info)
        }
    };
}
