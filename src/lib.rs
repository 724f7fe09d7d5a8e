//! latimer.
#![no_std]

#[cfg(target_endian = "big")]
compile_error!("latimer reads little-endian blobs in place and runs on little-endian targets only");

#[cfg(test)]
extern crate std;

pub mod blob;
pub mod error;
pub mod num;
pub mod text;

pub use error::{BlobError, Error};
