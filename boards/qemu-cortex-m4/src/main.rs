//! Firmware for the Cortex-M4 of QEMU's `mps2-an386` machine.
#![no_std]
#![no_main]

struct An386;

impl mps2::Machine for An386 {
    const NAME: &'static str = "qemu-cortex-m4";
    const UART: usize = 0x4000_4000;
    type Clock = mps2::CmsdkTimers<0x4000_0000, 25>;
}

mps2::firmware!(An386);
