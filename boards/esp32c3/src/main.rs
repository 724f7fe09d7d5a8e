//! Firmware for the ESP32-C3-DevKitM-1 and its like: RV32IMC at 160 MHz, 400 KB SRAM, 4 MB flash. Built, not run on hardware.
#![no_std]
#![no_main]

esp::firmware!();
