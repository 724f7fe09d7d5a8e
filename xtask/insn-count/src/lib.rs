//! A QEMU TCG plugin that counts guest instructions by class between two marker instructions that the firmware holds:
//! the Thumb hints `0xBFA0` and `0xBFB0`, or RISC-V's `slti x0, x0, 0x5A1` and `0x5A2`.
//!
//! ```text
//! -plugin libinsn_count.so,out=FILE[,reads=LOW:HIGH][,profile=on]
//! ```
//!
//! Each region between markers becomes a line of FILE, written when its second marker is reached:
//!
//! ```text
//! region 0 load=12 multiply=8 ... taken=3 read=8192 fetched=4096 distinct=4096
//! ```
//!
//! `read` are the bytes loaded from the addresses `LOW..HIGH` (hexadecimal), `fetched` those that a
//! small buffer of lines did not hold any more, `distinct` how many different ones.
//! With `profile=on`, lines `at ADDRESS instructions=N` with the counts of each translated block come before it.
//!
//! Speaks version 1 of the plugin interface (QEMU 4.2 to 8.2). The callbacks are per translated block, so that counts
//! are exact and the same from run to run; without `-icount` nothing interrupts a block.

mod block;
mod class;
#[cfg(not(test))]
mod ffi;
#[cfg(not(test))]
mod plugin;
mod region;
mod riscv;
mod thumb;
