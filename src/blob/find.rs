//! Blobs in a region of flash that was written apart from the program.

use super::container::{CRC32, Container};
use super::layout::{ALIGN, Header};

/// The blobs in `region`, by their headers: each starts at a multiple of 16 bytes, and the next is looked for behind its end.
///
/// Only headers are looked at, and their checksums; [`Model::from_bytes`](crate::Model::from_bytes) checks the rest. Headers of
/// other format versions and blobs that the region cuts short are passed over.
///
/// ```
/// # static BLOB: &[u8] = latimer::include_blob!("../example.blob");
/// let found: Vec<_> = latimer::blob::find(BLOB).collect();
/// assert_eq!(found, [BLOB]);
/// ```
pub fn find(region: &[u8]) -> Blobs<'_> {
    let gap = region.as_ptr().align_offset(ALIGN);
    Blobs { rest: region.get(gap..).unwrap_or_default() }
}

/// What [`find`] gives.
#[derive(Clone, Debug)]
pub struct Blobs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Blobs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while self.rest.len() >= Header::SIZE {
            if let Some(blob) = at_start(self.rest) {
                self.rest = self.rest.get(blob.len().next_multiple_of(ALIGN)..).unwrap_or_default();
                return Some(blob);
            }
            self.rest = self.rest.get(ALIGN..).unwrap_or_default();
        }
        None
    }
}

/// The blob that `bytes` start with.
fn at_start(bytes: &[u8]) -> Option<&[u8]> {
    let container = Container::open(bytes).ok()?;
    let crc = bytes.get(..Header::SIZE - 4).map(|header| CRC32.checksum(header));
    // A length below the header's own would be found at once again.
    (crc == Some(container.header().header_crc) && container.bytes().len() >= Header::SIZE).then(|| container.bytes())
}
