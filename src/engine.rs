//! What the two engines share: the flow of a translation is written once over this trait.

use crate::blob::Tensor;
use crate::blob::layout::{Block, SpecHeader};
use crate::error::BlobError;
use crate::observe::{Logits, Row};
use crate::rows::Rows;
use bytemuck::Pod;

/// Which arithmetic a blob was packed for; the discriminant is stored in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EngineKind {
    /// int8 weights, dynamic activations, integers only.
    Int8 = 0,
    /// f16 weights, f32 arithmetic in one written order.
    F16 = 1,
}

impl EngineKind {
    /// The engine of a header, if this build has code for it.
    pub(crate) const fn from_header(engine: u8) -> Result<Self, BlobError> {
        match engine {
            0 if cfg!(feature = "int8") => Ok(EngineKind::Int8),
            1 if cfg!(feature = "f16") => Ok(EngineKind::F16),
            found => Err(BlobError::Engine { found }),
        }
    }

    /// The same engine, of which the compiler knows what this build can have.
    pub(crate) const fn built(self) -> Self {
        match self {
            EngineKind::F16 if !cfg!(feature = "f16") => EngineKind::Int8,
            EngineKind::Int8 if !cfg!(feature = "int8") => EngineKind::F16,
            engine => engine,
        }
    }

    /// The name used on command lines and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            EngineKind::Int8 => "int8",
            EngineKind::F16 => "f16",
        }
    }
}

/// Positions of a cache. How an engine lays keys and values is its own affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Positions there is room for, a multiple of `chunk`.
    pub capacity: usize,
    /// Positions whose values lie together, a multiple of four.
    pub chunk: usize,
}

impl Room {
    /// Positions of a chunk where it is not known how many of the capacity there will be.
    const CHUNK: usize = 16;

    /// For so many positions.
    pub const fn exact(positions: usize) -> Self {
        let capacity = positions.next_multiple_of(4);
        Room { capacity, chunk: capacity }
    }

    /// For any number of positions up to `limit`.
    pub const fn up_to(limit: usize) -> Self {
        if limit < Self::CHUNK {
            return Self::exact(limit);
        }
        Room { capacity: limit.next_multiple_of(Self::CHUNK), chunk: Self::CHUNK }
    }
}

/// Keys or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Keys,
    Values,
}

/// Where one token's key or value goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    #[cfg_attr(not(feature = "int8"), expect(dead_code, reason = "only int8 lays caches in tiles"))]
    pub side: Side,
    pub position: usize,
    #[cfg_attr(not(feature = "int8"), expect(dead_code, reason = "only int8 lays caches in tiles"))]
    pub room: Room,
}

/// A cache of keys or of values, of which an attention looks at the first `visible` positions.
#[derive(Clone, Copy)]
pub(crate) struct Cached<'c, E: Engine> {
    pub rows: &'c [E::Cache],
    /// One scale a head and position; empty in an engine without scales.
    #[cfg_attr(not(feature = "int8"), expect(dead_code, reason = "only int8 has scales"))]
    pub scales: &'c [E::Scale],
    #[cfg_attr(not(feature = "int8"), expect(dead_code, reason = "only int8 lays caches in tiles"))]
    pub room: Room,
    pub visible: usize,
}

/// Where attention writes intermediate values: room for one token at least, as the arena plan has it.
pub(crate) struct AttendScratch<'s, E: Engine> {
    /// For each token one value a position, and no fewer than two heads have.
    pub scores: &'s mut [E::Wide],
    /// For each token one head of the query and one weight a position, in whole chunks.
    #[cfg_attr(not(feature = "int8"), expect(dead_code, reason = "only int8 quantizes a query"))]
    pub inputs: &'s mut [E::Input],
    /// A head that is watched.
    pub watched: Option<Watched<'s>>,
}

/// A head whose most attended positions are wanted.
pub(crate) struct Watched<'s> {
    pub head: usize,
    /// Receives the position of each token.
    pub positions: &'s mut [u16],
}

impl Watched<'_> {
    /// Notes where the scores of a token are highest, if `head` is watched; of equal ones the first. The last position is the
    /// end of sentence, which no token is made from.
    #[inline(always)]
    pub fn note<T: PartialOrd>(watched: &mut Option<Self>, head: usize, token: usize, scores: &[T]) {
        let Some(watched) = watched.as_mut().filter(|watched| watched.head == head) else { return };
        let mut best = (0, scores.first());
        let real = scores.len().saturating_sub(1).max(1);
        for (position, score) in (0..).zip(scores.iter().take(real)) {
            if best.1.is_some_and(|best| score > best) {
                best = (position, Some(score));
            }
        }
        if let Some(slot) = watched.positions.get_mut(token) {
            *slot = best.0;
        }
    }
}

/// One engine's arithmetic. All slices are row-major, a token a row.
pub(crate) trait Engine: Copy {
    /// Hidden state between blocks.
    type Hidden: Pod;
    /// Input of a linear.
    type Input: Pod;
    /// Output of a linear.
    type Wide: Pod;
    /// Element of a key or value cache.
    type Cache: Pod;
    /// Scale of a dynamically quantized vector.
    type Scale: Pod;
    /// Scales a vector needs: 1, or 0.
    const SCALES: usize;
    /// Which it is.
    const KIND: EngineKind;

    /// Embedding row `id` times the embedding scale, plus position `position`.
    fn embed(self, table: &Tensor, steps: &Tensor, id: u16, position: u16, out: &mut [Self::Hidden]);

    /// A hidden state as the input of `linear`, of which the bits of its inputs alone matter; `frac` are the hidden state's fraction bits.
    fn input_of_hidden(
        self,
        linear: &Tensor,
        hidden: &[Self::Hidden],
        frac: i8,
        out: &mut [Self::Input],
    ) -> Self::Scale;

    /// The output of a linear with fraction bits `frac` as the input of `linear`.
    fn input_of_wide(self, linear: &Tensor, wide: &[Self::Wide], frac: i8, out: &mut [Self::Input]) -> Self::Scale;

    /// `out[t] = W x[t] + b` for every token.
    fn linear(self, linear: &Tensor, x: &[Self::Input], scales: &[Self::Scale], out: &mut [Self::Wide]);

    /// Stores one token's key or value, quantized a head at a time.
    fn store(
        self,
        wide: &[Self::Wide],
        frac: i8,
        heads: usize,
        place: Place,
        rows: &mut [Self::Cache],
        scales: &mut [Self::Scale],
    );

    /// Attention of some tokens: their queries (`d_model` values each, with `frac` fraction bits) become contexts, in
    /// the fraction bits of the values.
    #[expect(clippy::too_many_arguments, reason = "an attention has this many inputs")]
    fn attend(
        self,
        queries: &mut [Self::Wide],
        d_model: usize,
        frac: i8,
        keys: Cached<Self>,
        values: Cached<Self>,
        value_frac: i8,
        heads: usize,
        scratch: &mut AttendScratch<Self>,
    );

    /// The block's activation, in place.
    fn activate(self, wide: &mut [Self::Wide], frac: i8, block: &Block);

    /// `hidden = norm(hidden + wide)`.
    fn add_norm(
        self,
        norm: &Tensor,
        spec: &SpecHeader,
        hidden: &mut [Self::Hidden],
        frac: i8,
        wide: &mut [Self::Wide],
        wide_frac: i8,
    );

    /// Logits of one token, in strips of the rows chosen, from the first, as many together as the kernel likes: nothing is
    /// stored.
    fn logits(
        self,
        output: &Tensor,
        rows: Rows,
        x: &[Self::Input],
        scale: Self::Scale,
        sink: impl FnMut(usize, Logits<'_>),
    );

    /// Logits `first ..` of some tokens, each as many as `out` has for it, which are read from it.
    fn logits_of(
        self,
        output: &Tensor,
        first: usize,
        x: &[Self::Input],
        scales: &[Self::Scale],
        out: &mut [Self::Wide],
    );

    /// What a token's logits are for observers.
    fn logits_row<'v>(output: &Tensor, values: &'v [Self::Wide]) -> Logits<'v>;

    /// A hidden state for observers.
    fn row(hidden: &[Self::Hidden], frac: i8) -> Row<'_>;
}
