//! Firmware for the Cortex-M55 of QEMU's `mps3-an547` machine.
#![no_std]
#![no_main]

struct An547;

impl mps2::Machine for An547 {
    const NAME: &'static str = "qemu-cortex-m55";
    const UART: usize = 0x5930_3000;
    type Clock = mps2::SystemCounter<0x5810_0000, 32>;
}

mps2::firmware!(An547);
