//! Firmware for the first Cortex-M33 of QEMU's `mps2-an521` machine.
#![no_std]
#![no_main]

struct An521;

impl mps2::Machine for An521 {
    const NAME: &'static str = "qemu-an521";
    const UART: usize = 0x5020_0000;
    type Clock = mps2::CmsdkTimers<0x5000_0000, 20>;
}

mps2::firmware!(An521);
