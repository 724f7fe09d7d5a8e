//! Firmware for Nordic's nRF52840 DK: Cortex-M4 at 64 MHz, the model in QSPI flash or in the chip's own. Built, not run on
//! hardware.
//!
//! Console on UARTE0 (P0.06, P0.08), which the J-Link passes on; LED1 (P0.13), button 1 (P0.11), which are on when low.
#![no_std]
#![no_main]

mod devices;
mod qspi;
mod say;

use embassy_nrf::buffered_uarte::{self, BufferedUarte};
use embassy_nrf::config::HfclkSource;
use embassy_nrf::gpio::{Input, Level, Output, OutputDrive, Pull};
use embassy_nrf::uarte::{Baudrate, Config};
use embassy_nrf::{bind_interrupts, peripherals};
use static_cell::ConstStaticCell;

bind_interrupts!(struct Irqs {
    QSPI => embassy_nrf::qspi::InterruptHandler<peripherals::QSPI>;
    UARTE0 => buffered_uarte::InterruptHandler<peripherals::UARTE0>;
});

struct Dk;

impl hardware::Machine for Dk {
    const NAME: &'static str = "nrf52840-dk";
    const CLOCK_HZ: u32 = 64_000_000;
    type Devices = devices::Nrf;

    fn start() -> devices::Nrf {
        // Room for a line while a phrase is translated.
        static RX: ConstStaticCell<[u8; 1024]> = ConstStaticCell::new([0; _]);
        static TX: ConstStaticCell<[u8; 256]> = ConstStaticCell::new([0; _]);
        let mut config = embassy_nrf::config::Config::default();
        // Serial lines ask for a better clock than the internal oscillator's.
        config.hfclk_source = HfclkSource::ExternalXtal;
        let chip = embassy_nrf::init(config);
        let pins = qspi::Pins {
            clock: chip.P0_19,
            select: chip.P0_17,
            io0: chip.P0_20,
            io1: chip.P0_21,
            io2: chip.P0_22,
            io3: chip.P0_23,
        };
        qspi::map(chip.QSPI, pins);
        let mut config = Config::default();
        config.baudrate = Baudrate::Baud115200;
        let console = BufferedUarte::new(
            chip.UARTE0,
            chip.TIMER0,
            chip.PPI_CH0,
            chip.PPI_CH1,
            chip.PPI_GROUP0,
            chip.P0_08,
            chip.P0_06,
            Irqs,
            config,
            RX.take(),
            TX.take(),
        );
        let light = Output::new(chip.P0_13, Level::High, OutputDrive::Standard);
        let button = Input::new(chip.P0_11, Pull::Up);
        devices::Nrf::new(console, light, button, chip.WDT)
    }

    fn say(bytes: &[u8]) {
        say::say(bytes);
    }

    fn reset() -> ! {
        cortex_m::peripheral::SCB::sys_reset()
    }
}

hardware::firmware!(Dk, cortex_m_rt::entry);
