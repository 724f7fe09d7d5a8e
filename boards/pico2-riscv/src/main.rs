//! Firmware for the Hazard3 of the Raspberry Pi Pico 2. Built, not run on hardware.
#![no_std]
#![no_main]

// Behind the code that starts the program, which `riscv-rt` puts first.
pico2::firmware!("pico2-riscv", link_section = ".init.rust");
