//! Typed buffers cut from the arena's bytes, as the plan has them.

use super::Limits;
use super::plan::{BLOCK_TOKENS, cache_len, round_up, scores_len, weights_len};
use crate::blob::spec::Spec;
use crate::engine::{Engine, Room};
use crate::error::Error;
use bytemuck::Pod;

/// Cuts typed buffers off the front of a region. Nothing here can panic: a region too small is an error, which the
/// plan rules out.
pub(crate) struct Carver<'a> {
    rest: &'a mut [u8],
    whole: usize,
}

impl<'a> Carver<'a> {
    pub fn new(region: &'a mut [u8]) -> Self {
        Carver { whole: region.len(), rest: region }
    }

    /// `len` elements, zeroed or not as the bytes happen to be.
    pub fn take<T: Pod>(&mut self, len: usize) -> Result<&'a mut [T], Error> {
        let bytes = len.saturating_mul(size_of::<T>());
        if bytes == 0 {
            return Ok(&mut []);
        }
        let rest = core::mem::take(&mut self.rest);
        let found = rest.len();
        let error = Error::Arena { need: self.whole.saturating_add(bytes).saturating_sub(found), found: self.whole };
        let (head, rest) = rest.split_at_mut_checked(round_up(bytes)).ok_or(error)?;
        self.rest = rest;
        bytemuck::try_cast_slice_mut(head.get_mut(..bytes).unwrap_or_default()).map_err(|_| error)
    }

    /// What is left.
    pub fn rest(self) -> &'a mut [u8] {
        self.rest
    }
}

/// Keys and values.
pub(crate) struct Kv<'a, E: Engine> {
    pub room: Room,
    pub keys: &'a mut [E::Cache],
    pub key_scales: &'a mut [E::Scale],
    pub values: &'a mut [E::Cache],
    pub value_scales: &'a mut [E::Scale],
}

impl<'a, E: Engine> Kv<'a, E> {
    pub fn carve(carver: &mut Carver<'a>, room: Room, d_model: usize, heads: usize) -> Result<Self, Error> {
        let (len, scales) = (cache_len(room, d_model, heads), room.capacity * heads * E::SCALES);
        Ok(Kv {
            room,
            keys: carver.take(len)?,
            key_scales: carver.take(scales)?,
            values: carver.take(len)?,
            value_scales: carver.take(scales)?,
        })
    }
}

/// Buffers for a block of tokens.
pub(crate) struct Work<'a, E: Engine> {
    /// Hidden state of the token being decoded.
    pub hidden: &'a mut [E::Hidden],
    /// Input of a linear.
    pub input: &'a mut [E::Input],
    /// Output of a linear.
    pub wide: &'a mut [E::Wide],
    /// One scale a token.
    pub scales: &'a mut [E::Scale],
    /// One score a position, and no fewer than a head has.
    pub scores: &'a mut [E::Wide],
    /// One head of a query, then one weight a position.
    pub attend: &'a mut [E::Input],
}

impl<'a, E: Engine> Work<'a, E> {
    pub fn carve(region: &'a mut [u8], spec: &Spec<'_>, limits: Limits) -> Result<Self, Error> {
        let (mut ffn, mut head_dim) = (spec.d_model(), 1);
        for block in (0..spec.block_count()).filter_map(|i| spec.block(i)) {
            ffn = ffn.max(block.ffn as usize);
            head_dim = head_dim.max(spec.d_model() / (block.heads as usize).max(1));
        }
        let longest = limits.source_tokens.max(limits.target_tokens) as usize;
        let block = longest.min(BLOCK_TOKENS);
        let mut carver = Carver::new(region);
        Ok(Work {
            hidden: carver.take(spec.d_model())?,
            input: carver.take(block * ffn)?,
            wide: carver.take(block * ffn)?,
            scales: carver.take(block * E::SCALES)?,
            scores: carver.take(scores_len(longest, head_dim))?,
            attend: carver.take(weights_len(longest, head_dim))?,
        })
    }
}
