//! The firmware of every board: reads phrases line by line over a serial line and answers each with one line.
//!
//! A board brings a [`Port`] (its UART, an instruction counter, its stack and a way out), a blob and an arena, and
//! calls [`run`]. Nothing here knows a board; everything here runs on the host against a mock port.
#![cfg_attr(not(test), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod answer;
#[cfg(feature = "bench")]
pub mod bench;
mod fail;
#[cfg(feature = "alloc")]
mod heap;
mod line;
mod log;
mod models;
mod phrase;
mod port;
mod register;
mod request;
mod serve;
mod session;
mod stack;

pub use answer::Measures;
pub use fail::{fail, last_words};
#[cfg(feature = "alloc")]
pub use heap::session_on_heap;
pub use latimer;
pub use line::{LINE_BYTES, Line, LineReader};
pub use models::Models;
pub use port::{Event, Port, Unit};
pub use register::Register;
pub use request::{Refusal, Request};
pub use session::{Buffers, HEAP_EXTRA, LIMITS, run, session};
pub use stack::{Stack, StackUse};
