//! Typed buffers cut from the arena's bytes, as the plan has them.

use super::MAX_BEAMS;
use super::plan::{Sizes, WorkShape, cache_len, hidden_len, kv_bytes, round_up};
use crate::blob::Blob;
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
        let misaligned = Error::Arena { need: self.whole, found: self.whole };
        bytemuck::try_cast_slice_mut(self.take_bytes(bytes)?).map_err(|_| misaligned)
    }

    /// What does not depend on the type, once for all of them.
    fn take_bytes(&mut self, bytes: usize) -> Result<&'a mut [u8], Error> {
        let rest = core::mem::take(&mut self.rest);
        let found = rest.len();
        let error = Error::Arena { need: self.whole.saturating_add(bytes).saturating_sub(found), found: self.whole };
        let (head, rest) = rest.split_at_mut_checked(round_up(bytes)).ok_or(error)?;
        self.rest = rest;
        head.get_mut(..bytes).ok_or(error)
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

/// Keys and values of a block's self-attention, for each beam, where the beams share out places among themselves.
pub(crate) struct Slots<'a> {
    bytes: &'a mut [u8],
    room: Room,
    d_model: usize,
    heads: usize,
    /// The place of each beam.
    places: &'a [u8],
}

impl<'a> Slots<'a> {
    /// Cuts `count` places, of which `places` are in use.
    pub fn carve<E: Engine>(
        carver: &mut Carver<'a>,
        room: Room,
        (d_model, heads): (usize, usize),
        count: usize,
        places: &'a [u8],
    ) -> Result<Self, Error> {
        let bytes = carver.take(count * Self::len::<E>(room, d_model, heads))?;
        Ok(Slots { bytes, room, d_model, heads, places })
    }

    /// Bytes of a place.
    pub fn len<E: Engine>(room: Room, d_model: usize, heads: usize) -> usize {
        kv_bytes(Sizes::of(E::KIND), room, d_model, heads)
    }

    /// Those of a beam.
    #[inline(never)]
    pub fn kv<E: Engine>(&mut self, beam: usize) -> Result<Kv<'_, E>, Error> {
        let len = Self::len::<E>(self.room, self.d_model, self.heads);
        let start = self.places.get(beam).map_or(0, |&place| place as usize) * len;
        let bytes = self.bytes.get_mut(start..start + len).unwrap_or_default();
        Kv::carve(&mut Carver::new(bytes), self.room, self.d_model, self.heads)
    }
}

/// Buffers for a block of tokens.
pub(crate) struct Work<'a, E: Engine> {
    /// Hidden states of the tokens being decoded, one a beam.
    pub hidden: &'a mut [E::Hidden],
    /// Inputs of a linear; while tokens attend, heads of queries and softmax weights.
    pub input: &'a mut [E::Input],
    /// Outputs of a linear; while tokens attend, queries and scores.
    pub wide: &'a mut [E::Wide],
    /// One scale a token.
    pub scales: &'a mut [E::Scale],
    /// Source positions that the tokens being decoded attend to most, one a beam.
    pub peaks: [u16; MAX_BEAMS],
    /// Elements of `input`, shared out among tokens.
    elements: usize,
}

impl<'a, E: Engine> Work<'a, E> {
    /// All that `region` has room for, for `most` tokens at most, and hidden states of so many beams.
    // Not inlined, for the stack.
    #[inline(never)]
    pub fn carve(
        region: &'a mut [u8],
        blob: &Blob,
        positions: usize,
        most: usize,
        beams: usize,
    ) -> Result<Self, Error> {
        let (spec, sizes) = (blob.spec(), Sizes::of(blob.engine()));
        let d_model = spec.d_model();
        let mut shape = WorkShape { d_model, ffn: d_model, head_dim: 1, positions, hidden: beams };
        for block in (0..spec.block_count()).filter_map(|i| spec.block(i)) {
            shape.ffn = shape.ffn.max(block.ffn as usize);
            shape.head_dim = shape.head_dim.max(d_model / (block.heads as usize).max(1));
        }
        // Too small a region is what `take` finds out.
        let elements = shape.elements(sizes, region.len(), most).max(shape.ffn);
        let mut carver = Carver::new(region);
        Ok(Work {
            hidden: carver.take(hidden_len(sizes, beams, d_model))?,
            input: carver.take(shape.inputs(elements))?,
            wide: carver.take(shape.outputs(elements))?,
            scales: carver.take(shape.scales(elements) * E::SCALES)?,
            peaks: [0; MAX_BEAMS],
            elements,
        })
    }

    /// Tokens of so many values each for which there is room at once.
    pub fn tokens(&self, values: usize) -> usize {
        self.elements.checked_div(values).unwrap_or(1).max(1)
    }
}
