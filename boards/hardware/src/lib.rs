//! What boards of silicon have in common, whoever made the chip: the [`app::Port`] of a [`Machine`], its entry and its handlers.
//!
//! A board's crate brings a [`Machine`], a `memory.x` and a call of [`firmware!`]. What touches no hardware is tested on the
//! host.
#![cfg_attr(not(test), no_std)]

mod board;
mod button;
mod cycles;
mod fail;
mod machine;

pub use app;
pub use board::Board;
#[cfg(all(feature = "defmt", target_os = "none"))]
use defmt_rtt as _;
#[cfg(target_os = "none")]
pub use fail::fault_status;
pub use fail::{fail, pause};
pub use machine::{Devices, Machine};

/// The whole firmware of a [`Machine`], with the attribute for its entry: models, arena, entry, and the handlers of what must
/// not happen.
///
/// On Arm the board's crate depends on `cortex-m-rt`, whose attributes ask for it by name.
#[macro_export]
macro_rules! firmware {
    ($machine:ty, $entry:path) => {
        $crate::app::models!();

        // Not within the entry function, where attributes of some crates make references of them and others do not.
        static mut ARENA: $crate::app::latimer::Arena<{ models::ARENA_BYTES }> = $crate::app::latimer::Arena::new();
        static mut BUFFERS: $crate::app::Buffers<'static> = $crate::app::Buffers::new();

        /// Runs the firmware.
        #[$entry]
        fn main() -> ! {
            // SAFETY: the entry function runs once, and nothing else knows the statics.
            let (arena, buffers) = unsafe { (&mut *(&raw mut ARENA), &mut *(&raw mut BUFFERS)) };
            let mut board = $crate::Board::<$machine>::start();
            $crate::app::run(&mut board, models::models(), arena.as_mut(), buffers)
        }

        #[cfg(target_arch = "arm")]
        #[cortex_m_rt::exception]
        unsafe fn HardFault(frame: &cortex_m_rt::ExceptionFrame) -> ! {
            let (pc, lr, status) = (frame.pc(), frame.lr(), $crate::fault_status());
            $crate::fail::<$machine>(format_args!("hard fault at {pc:#x}, called from {lr:#x}, status {status:#x}"))
        }

        #[cfg(target_arch = "riscv32")]
        #[unsafe(export_name = "ExceptionHandler")]
        extern "C" fn exception_handler() -> ! {
            let [cause, pc, value] = $crate::fault_status();
            $crate::fail::<$machine>(format_args!("trap {cause} at {pc:#x}, value {value:#x}"))
        }

        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::fail::<$machine>(info)
        }
    };
}
