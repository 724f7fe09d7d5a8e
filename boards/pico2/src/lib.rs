//! What the Raspberry Pi Pico 2 does on either of its kinds of cores. Built, not run on hardware.
//!
//! Console on USB and on UART0 (GPIO0, GPIO1) at once; light GPIO25; button between GPIO15 and ground.
#![no_std]

mod devices;
mod note;
mod say;
mod usb;

pub use devices::Pico;
pub use hardware;
use rp235x_hal as hal;

/// Cycles a second.
const CLOCK_HZ: u32 = 150_000_000;

/// Everything of a board but its name.
pub trait Named {
    /// As `cargo xtask board` calls it.
    const NAME: &'static str;
}

impl<B: Named> hardware::Machine for Board<B> {
    const NAME: &'static str = B::NAME;
    const CLOCK_HZ: u32 = CLOCK_HZ;
    type Devices = Pico;

    fn start() -> Pico {
        Pico::start()
    }

    fn say(bytes: &[u8]) {
        say::say(bytes);
    }

    fn reset() -> ! {
        hal::reset()
    }
}

/// A board of a name.
pub struct Board<B>(core::marker::PhantomData<B>);

/// The whole firmware of the board of this name, with the section of the image definition.
///
/// The board's crate depends on `rp235x-hal`, whose attribute asks for it by name, and on Arm on `cortex-m-rt`.
#[macro_export]
macro_rules! firmware {
    ($name:literal, link_section = $section:literal) => {
        /// Tells the boot ROM that this is a program, and for which cores.
        #[unsafe(link_section = $section)]
        #[used]
        static IMAGE: rp235x_hal::block::ImageDef = rp235x_hal::block::ImageDef::secure_exe();

        struct Name;

        impl $crate::Named for Name {
            const NAME: &'static str = $name;
        }

        $crate::hardware::firmware!($crate::Board<Name>, rp235x_hal::entry);
    };
}
