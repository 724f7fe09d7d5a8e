//! An arena on the heap, for those who have one.

use super::Limits;
use crate::error::Error;
use crate::model::Model;
use alloc::vec::Vec;
use bytemuck::{Pod, Zeroable};

/// Sixteen bytes at the alignment of an arena.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
struct Block([u8; 16]);

/// Memory for one translator on the heap, sized when the model is known: [`Arena`](super::Arena)'s counterpart for programs that
/// choose models and limits at run time. It is allocated once, and a translation allocates nothing.
///
/// ```
/// # use latimer::{HeapArena, Limits, Model, include_blob};
/// # static BLOB: &[u8] = include_blob!("../example.blob");
/// let model = Model::from_bytes(BLOB)?;
/// let mut arena = HeapArena::new(&model, Limits::DEFAULT)?;
/// let mut translator = model.translator(arena.as_mut(), Limits::DEFAULT)?;
/// # Ok::<(), latimer::Error>(())
/// ```
#[derive(Debug)]
pub struct HeapArena(Vec<Block>);

impl HeapArena {
    /// An arena for translators of `model` under `limits`.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`] as [`Model::arena_len`], [`Error::Arena`] with 0 bytes found where the heap has no room.
    pub fn new(model: &Model<'_>, limits: Limits) -> Result<Self, Error> {
        let need = model.arena_len(limits)?;
        let count = need.div_ceil(size_of::<Block>());
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(count).map_err(|_| Error::Arena { need, found: 0 })?;
        blocks.resize(count, Block::zeroed());
        Ok(HeapArena(blocks))
    }
}

/// The bytes, for [`Model::translator`].
impl AsMut<[u8]> for HeapArena {
    fn as_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
