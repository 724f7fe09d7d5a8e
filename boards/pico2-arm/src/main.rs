//! Firmware for the Cortex-M33 of the Raspberry Pi Pico 2. Built, not run on hardware.
#![no_std]
#![no_main]

pico2::firmware!("pico2-arm", link_section = ".start_block");
