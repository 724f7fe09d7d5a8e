//! What `cargo xtask` is made of; the tests use it too.

pub mod accuracy;
pub mod bench;
pub mod board;
pub mod book;
pub mod demo;
pub mod docs;
pub mod elf_check;
pub mod firmware;
pub mod generated;
pub mod hardware;
pub mod machines;
pub mod paths;
pub mod phrases;
pub mod qemu;
pub mod report;
pub mod scores;
pub mod setup;
pub mod shell;
pub mod ship;
pub mod shipped;
pub mod size;
pub mod steps;
pub mod suite;
