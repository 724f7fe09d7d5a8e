//! What `cargo xtask` is made of; the tests use it too.

pub mod board;
pub mod demo;
pub mod elf_check;
pub mod firmware;
pub mod machines;
pub mod paths;
pub mod qemu;
pub mod setup;
pub mod shell;
pub mod shipped;
pub mod steps;
pub mod suite;
