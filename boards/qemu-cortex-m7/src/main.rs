//! Firmware for the Cortex-M7 of QEMU's `mps2-an500` machine.
#![no_std]
#![no_main]

struct An500;

impl mps2::Machine for An500 {
    const NAME: &'static str = "qemu-cortex-m7";
    const UART: usize = 0x4000_4000;
    type Clock = mps2::CmsdkTimers<0x4000_0000, 25>;
}

mps2::firmware!(An500);
