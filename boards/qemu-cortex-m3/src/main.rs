//! Firmware for the Cortex-M3 of QEMU's `mps2-an385` machine.
#![no_std]
#![no_main]

struct An385;

impl mps2::Machine for An385 {
    const NAME: &'static str = "qemu-cortex-m3";
    const UART: usize = 0x4000_4000;
    type Clock = mps2::CmsdkTimers<0x4000_0000, 25>;
}

mps2::firmware!(An385);
