//! latimer.
#![no_std]

#[cfg(target_endian = "big")]
compile_error!("latimer reads little-endian blobs in place and runs on little-endian targets only");

#[cfg(test)]
extern crate std;

pub mod blob;
pub mod error;
#[cfg(feature = "json")]
pub mod report;

pub use error::{BlobError, Error};
