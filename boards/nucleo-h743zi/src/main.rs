//! Firmware for the NUCLEO-H743ZI and NUCLEO-H743ZI2: Cortex-M7 at 400 MHz, the model in the chip's own flash. Built, not run on
//! hardware.
//!
//! Console on USART3 (PD8, PD9), which the ST-LINK passes on; light LD1 (PB0), blue button (PC13).
#![no_std]
#![no_main]

use embassy_stm32::gpio::{Input, Level, Output, Pull, Speed};
use embassy_stm32::rcc::{
    AHBPrescaler, APBPrescaler, HSIPrescaler, Pll, PllDiv, PllMul, PllPreDiv, PllSource, Sysclk, VoltageScale,
};
use embassy_stm32::usart::{self, BufferedInterruptHandler, BufferedUart};
use embassy_stm32::{bind_interrupts, peripherals};
use static_cell::ConstStaticCell;
use stm32::{Queues, Stm32, hardware};

bind_interrupts!(struct Irqs {
    USART3 => BufferedInterruptHandler<peripherals::USART3>;
});

struct Nucleo;

impl hardware::Machine for Nucleo {
    const NAME: &'static str = "nucleo-h743zi";
    const CLOCK_HZ: u32 = 400_000_000;
    type Devices = Stm32<peripherals::IWDG1>;

    fn start() -> Self::Devices {
        static QUEUES: ConstStaticCell<Queues> = ConstStaticCell::new(Queues::new());
        stm32::enable_caches();
        let chip = embassy_stm32::init(clocks());
        let Queues { tx, rx } = QUEUES.take();
        // 115200 baud, 8N1, by the driver's defaults, which are a valid choice.
        let console = BufferedUart::new(chip.USART3, chip.PD9, chip.PD8, tx, rx, Irqs, usart::Config::default());
        let light = Output::new(chip.PB0, Level::Low, Speed::Low);
        let button = Input::new(chip.PC13, Pull::Down);
        Stm32::new(console.expect("115200 baud can be had from 100 MHz"), light, button, chip.IWDG1)
    }

    fn say(bytes: &[u8]) {
        // SAFETY: USART3, whose clock is on if it was started; if not, its registers read as 0. No interrupt is on any more.
        unsafe { stm32::say(0x4000_4800, bytes) }
    }

    fn reset() -> ! {
        stm32::reset()
    }
}

/// 64 MHz / 4 * 50 / 2 = 400 MHz, which every revision of the chip is good for (480 MHz is from revision V on), from the
/// internal oscillator: how the external one is wired depends on the board.
fn clocks() -> embassy_stm32::Config {
    let mut config = embassy_stm32::Config::default();
    config.rcc.hsi = Some(HSIPrescaler::DIV1);
    config.rcc.pll1 = Some(Pll {
        source: PllSource::HSI,
        prediv: PllPreDiv::DIV4,
        mul: PllMul::MUL50,
        fracn: None,
        divp: Some(PllDiv::DIV2),
        divq: None,
        divr: None,
    });
    config.rcc.sys = Sysclk::PLL1_P;
    config.rcc.ahb_pre = AHBPrescaler::DIV2;
    config.rcc.apb1_pre = APBPrescaler::DIV2;
    config.rcc.apb2_pre = APBPrescaler::DIV2;
    config.rcc.apb3_pre = APBPrescaler::DIV2;
    config.rcc.apb4_pre = APBPrescaler::DIV2;
    config.rcc.voltage_scale = VoltageScale::Scale1;
    config
}

hardware::firmware!(Nucleo, cortex_m_rt::entry);
