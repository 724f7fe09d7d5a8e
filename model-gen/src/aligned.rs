//! Bytes at the alignment that blobs and arenas need.

use std::ops::{Deref, DerefMut};
use std::path::Path;

/// Owned bytes that start on a multiple of 16.
#[derive(Clone, Debug, Default)]
pub struct AlignedBytes {
    // u128 is aligned to 16 on every host this runs on; checked when a blob is parsed.
    words: Vec<u128>,
    len: usize,
}

impl AlignedBytes {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        AlignedBytes { words: vec![0; len.div_ceil(16)], len }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeroed(bytes.len());
        aligned.copy_from_slice(bytes);
        aligned
    }

    /// The contents of a file.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        Ok(Self::copy_of(&std::fs::read(path)?))
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}
