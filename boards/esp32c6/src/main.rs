//! Firmware for the ESP32-C6-DevKitC-1 and its like: RV32IMAC at 160 MHz, 512 KB SRAM, 4 MB flash or more. Built, not run
//! on hardware.
#![no_std]
#![no_main]

esp::firmware!();
