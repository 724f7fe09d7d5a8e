//! Firmware for the Cortex-M33 of QEMU's `mps2-an505` machine.
#![no_std]
#![no_main]

struct An505;

impl mps2::Machine for An505 {
    const NAME: &'static str = "qemu-cortex-m33";
    const UART: usize = 0x5020_0000;
    type Clock = mps2::CmsdkTimers<0x5000_0000, 20>;
}

mps2::firmware!(An505);
