//! A board on a serial line, or behind a TCP port: phrases to it, answers from it, and its bits against the host's.
//!
//! [`link`] carries bytes, [`protocol`] makes lines and answers of them, `commands` has what can be asked, [`verify`] compares
//! with [`host`].

mod commands;
mod fault;
pub mod host;
pub mod link;
pub mod protocol;
pub mod verify;

pub use commands::About;
pub use fault::{DeviceError, Fault};
pub use link::{Address, Link};
pub use protocol::{Answer, Device};
pub use verify::Verdict;
