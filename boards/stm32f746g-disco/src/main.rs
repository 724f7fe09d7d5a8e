//! Firmware for the 32F746GDISCOVERY kit: Cortex-M7 at 216 MHz, the model in QSPI flash. Built, not run on hardware.
//!
//! Console on USART1 (PA9, PB7), which the ST-LINK passes on; light LD1 (PI1), blue button (PI11).
#![no_std]
#![no_main]

mod qspi;

use embassy_stm32::gpio::{Input, Level, Output, Pull, Speed};
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, Hse, HseMode, Pll, PllMul, PllPDiv, PllPreDiv, PllSource, Sysclk,
};
use embassy_stm32::time::Hertz;
use embassy_stm32::usart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_stm32::{bind_interrupts, peripherals};
use static_cell::ConstStaticCell;
use stm32::{Queues, Stm32, hardware};

bind_interrupts!(struct Irqs {
    USART1 => BufferedInterruptHandler<peripherals::USART1>;
});

struct Disco;

impl hardware::Machine for Disco {
    const NAME: &'static str = "stm32f746g-disco";
    const CLOCK_HZ: u32 = 216_000_000;
    type Devices = Stm32<peripherals::IWDG>;

    fn start() -> Self::Devices {
        static QUEUES: ConstStaticCell<Queues> = ConstStaticCell::new(Queues::new());
        stm32::enable_caches();
        let chip = embassy_stm32::init(clocks());
        let flash = qspi::Pins {
            io0: chip.PD11,
            io1: chip.PD12,
            io2: chip.PE2,
            io3: chip.PD13,
            clock: chip.PB2,
            select: chip.PB6,
        };
        qspi::map(chip.QUADSPI, flash);
        let Queues { tx, rx } = QUEUES.take();
        // 115200 baud, 8N1, by the driver's defaults, which are a valid choice.
        let console = BufferedUart::new(chip.USART1, chip.PB7, chip.PA9, tx, rx, Irqs, usart::Config::default());
        let light = Output::new(chip.PI1, Level::Low, Speed::Low);
        let button = Input::new(chip.PI11, Pull::None);
        Stm32::new(console.expect("115200 baud can be had from 108 MHz"), light, button, chip.IWDG)
    }

    fn say(bytes: &[u8]) {
        // SAFETY: USART1, whose clock is on if it was started; if not, its registers read as 0. No interrupt is on any more.
        unsafe { stm32::say(0x4001_1000, bytes) }
    }

    fn reset() -> ! {
        stm32::reset()
    }
}

/// 25 MHz / 25 * 432 / 2 = 216 MHz.
fn clocks() -> embassy_stm32::Config {
    let mut config = embassy_stm32::Config::default();
    config.rcc.hse = Some(Hse { freq: Hertz(25_000_000), mode: HseMode::Oscillator });
    config.rcc.pll_src = PllSource::HSE;
    config.rcc.pll =
        Some(Pll { prediv: PllPreDiv::DIV25, mul: PllMul::MUL432, divp: Some(PllPDiv::DIV2), divq: None, divr: None });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.ahb_pre = AHBPrescaler::DIV1;
    config.rcc.apb1_pre = APBPrescaler::DIV4;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config
}

hardware::firmware!(Disco, cortex_m_rt::entry);
