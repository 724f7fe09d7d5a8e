//! The firmware of the ESP32-C3 and ESP32-C6 boards, on `esp-hal`. Built, not run on hardware.
//!
//! The chips differ in the table that maps flash and in their names; what else this uses is the same on both: the console on
//! the USB-Serial-JTAG controller and UART0, the addressable LED on GPIO8, the BOOT button on GPIO9, a watchdog, and the cycle counter of
//! Espressif's cores.
// On a host there are only the tests of what has no hardware in it.
#![cfg(any(target_os = "none", test))]
#![cfg_attr(not(test), no_std)]

mod pages;
mod partition;

#[cfg(target_os = "none")]
mod board;
#[cfg(target_os = "none")]
mod button;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod cycles;
#[cfg(target_os = "none")]
mod firmware;
#[cfg(target_os = "none")]
mod light;
#[cfg(target_os = "none")]
mod mmu;

#[cfg(target_os = "none")]
pub use {app, board::Board, esp_bootloader_esp_idf, mmu::flashed_models};
