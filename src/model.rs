//! A model, and the translator that runs it in an arena.

use crate::arena::{ArenaPlan, Carver, Limits, Work};
use crate::blob::Blob;
use crate::blob::layout::ALIGN;
use crate::engine::{Engine, EngineKind};
use crate::error::Error;
use crate::observe::Observer;
use crate::text::{EncodeWork, Node};
use crate::{cross_kv, decoder, encoder};

/// A checked blob, ready to translate.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    blob: Blob<'a>,
}

impl<'a> Model<'a> {
    /// Checks every byte of the blob once; see [`Blob::parse`].
    ///
    /// # Errors
    ///
    /// [`Error::Blob`] says what is wrong with the bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Model { blob: Blob::parse(bytes)? })
    }

    /// The blob behind the model.
    pub const fn blob(&self) -> &Blob<'a> {
        &self.blob
    }

    /// A value of the blob's metadata; see [`Blob::meta`].
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.blob.meta(key)
    }

    /// Where the arena's bytes go under `limits`.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`] where a limit is zero or exceeds the model's positions.
    pub const fn arena_plan(&self, limits: Limits) -> Result<ArenaPlan, Error> {
        ArenaPlan::new(self.blob.spec(), self.blob.engine(), limits)
    }

    /// Bytes of arena needed under `limits`; [`arena_len`](crate::arena_len) is the `const` form.
    ///
    /// # Errors
    ///
    /// As [`Model::arena_plan`].
    pub const fn arena_len(&self, limits: Limits) -> Result<usize, Error> {
        match self.arena_plan(limits) {
            Ok(plan) => Ok(plan.total()),
            Err(error) => Err(error),
        }
    }

    /// A translator in `arena`, which must be aligned to 16 bytes and as long as [`Model::arena_len`] says.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`], or [`Error::Arena`] with the bytes needed.
    pub fn translator<'m>(&self, arena: &'m mut [u8], limits: Limits) -> Result<Translator<'m>, Error>
    where
        'a: 'm,
    {
        let plan = self.arena_plan(limits)?;
        let found = arena.len();
        if found < plan.total() || !(arena.as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(Error::Arena { need: plan.total(), found });
        }
        let mut carver = Carver::new(arena);
        let source_ids = carver.take(limits.source_tokens as usize)?;
        let target_ids = carver.take(limits.target_tokens as usize)?;
        Ok(Translator {
            blob: self.blob,
            limits,
            plan,
            source_ids,
            target_ids,
            region: carver.rest(),
            source_len: 0,
            target_len: 0,
            position: 0,
            encoded: false,
            max_tokens: limits.target_tokens as usize,
            high_water: 0,
        })
    }
}

/// Runs a model in one arena, a phrase at a time. [`translate`](Translator::translate) does all of it; the steps can
/// be called one by one: [`tokenize`](Translator::tokenize), [`encode`](Translator::encode),
/// [`step`](Translator::step).
#[derive(Debug)]
pub struct Translator<'m> {
    pub(crate) blob: Blob<'m>,
    pub(crate) limits: Limits,
    plan: ArenaPlan,
    pub(crate) source_ids: &'m mut [u16],
    pub(crate) target_ids: &'m mut [u16],
    /// What the phases share.
    region: &'m mut [u8],
    pub(crate) source_len: usize,
    pub(crate) target_len: usize,
    position: usize,
    encoded: bool,
    pub(crate) max_tokens: usize,
    high_water: usize,
}

/// Calls a function generic over the engine with the blob's own.
macro_rules! with_engine {
    ($blob:expr, |$engine:ident| $call:expr) => {
        match $blob.engine() {
            #[cfg(feature = "int8")]
            EngineKind::Int8 => {
                let $engine = crate::op::int8::Int8;
                $call
            }
            #[cfg(feature = "f16")]
            EngineKind::F16 => {
                let math = crate::op::f16::Math::from_spec($blob.spec().header().math);
                let $engine = crate::op::f16::F16 { math };
                $call
            }
            // A blob of an engine this build lacks was refused when it was parsed.
            #[allow(unreachable_patterns)]
            _ => Err(Error::Blob(crate::BlobError::Unsupported { section: 0, index: 0 })),
        }
    };
}

impl<'m> Translator<'m> {
    /// The limits the arena was sized for.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Ends translations after `count` target tokens, end of sentence included; at most the limit.
    pub const fn set_max_tokens(&mut self, count: usize) {
        let limit = self.limits.target_tokens as usize;
        self.max_tokens = if count == 0 {
            1
        } else if count > limit {
            limit
        } else {
            count
        };
    }

    /// Ids of the last phrase tokenized or encoded, end of sentence included.
    pub fn source_ids(&self) -> &[u16] {
        self.source_ids.get(..self.source_len).unwrap_or_default()
    }

    /// Ids of the last translation, end of sentence included where it was reached.
    pub fn target_ids(&self) -> &[u16] {
        self.target_ids.get(..self.target_len).unwrap_or_default()
    }

    /// Bytes of the arena that the largest phrase so far needed.
    pub const fn arena_high_water(&self) -> usize {
        self.high_water
    }

    /// Bytes of the arena under the translator's limits.
    pub const fn arena_len(&self) -> usize {
        self.plan.total()
    }

    /// Normalizes and tokenizes a text of any bytes; the ids, end of sentence included, are the ones
    /// [`Translator::encode`] takes.
    ///
    /// # Errors
    ///
    /// [`Error::TextTooLong`], [`Error::TooManyTokens`].
    pub fn tokenize(&mut self, text: &[u8]) -> Result<&[u16], Error> {
        self.encoded = false;
        self.source_len = 0;
        let bytes = self.limits.text_bytes as usize;
        let mut carver = Carver::new(self.region);
        let work = EncodeWork { text: carver.take(bytes)?, nodes: carver.take::<Node>(bytes)? };
        let limit = self.source_ids.len();
        let too_many = Error::TooManyTokens { limit };
        let room = self.source_ids.get_mut(..limit.saturating_sub(1)).ok_or(too_many)?;
        let count = self.blob.tokenizer().encode(text, work, room).map_err(|error| match error {
            Error::TooManyTokens { .. } => too_many,
            other => other,
        })?;
        *self.source_ids.get_mut(count).ok_or(too_many)? = self.blob.spec().header().eos_id;
        self.source_len = count + 1;
        Ok(self.source_ids())
    }

    /// Encodes ids, or where none are given those of the last [`Translator::tokenize`], and projects the keys and
    /// values of every cross-attention.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyTokens`], [`Error::InvalidId`], and [`Error::OutOfSteps`] where there are no ids.
    pub fn encode(&mut self, ids: Option<&[u16]>, observer: &mut impl Observer) -> Result<(), Error> {
        self.encoded = false;
        if let Some(ids) = ids {
            let limit = self.source_ids.len();
            let room = self.source_ids.get_mut(..ids.len()).ok_or(Error::TooManyTokens { limit })?;
            room.copy_from_slice(ids);
            self.source_len = ids.len();
        }
        if self.source_len == 0 {
            return Err(Error::OutOfSteps);
        }
        let vocab = self.blob.spec().header().source_vocab;
        if let Some(&id) = self.source_ids().iter().find(|&&id| id as u32 >= vocab) {
            return Err(Error::InvalidId { id });
        }
        with_engine!(self.blob, |engine| self.encode_with(engine, observer))?;
        (self.encoded, self.position) = (true, 0);
        self.note_high_water();
        Ok(())
    }

    fn encode_with<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<(), Error> {
        let (blob, limits) = (self.blob, self.limits);
        let limit = limits.source_tokens as usize;
        let (spec, d_model) = (blob.spec(), blob.spec().d_model());
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.plan.cross)?;
        let mut state = Carver::new(carver.take::<u8>(self.plan.state)?);
        let mut work = Work::<E>::carve(carver.rest(), spec, limits)?;
        let ids = self.source_ids.get(..self.source_len).unwrap_or_default();
        let hidden = state.take(ids.len() * d_model)?;
        let frac = encoder::encode(engine, &blob, ids, hidden, cross, &mut work, observer)?;
        cross_kv::project(engine, &blob, hidden, frac, limit, cross, &mut work)
    }

    /// Feeds `id` to the decoder at the next position and returns the id with the highest logit: pad excluded, ties
    /// to the lower id. The first id of a phrase is the spec's start id.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSteps`] where nothing is encoded or the caches are full, [`Error::InvalidId`].
    pub fn step(&mut self, id: u16, observer: &mut impl Observer) -> Result<u16, Error> {
        if !self.encoded || self.position >= self.limits.target_tokens as usize {
            return Err(Error::OutOfSteps);
        }
        if id as u32 >= self.blob.spec().header().target_vocab {
            return Err(Error::InvalidId { id });
        }
        let next = with_engine!(self.blob, |engine| self.step_with(engine, id, observer))?;
        self.position += 1;
        self.note_high_water();
        Ok(next)
    }

    fn step_with<E: Engine>(&mut self, engine: E, id: u16, observer: &mut impl Observer) -> Result<u16, Error> {
        let (blob, limits) = (self.blob, self.limits);
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.plan.cross)?;
        let own = carver.take::<u8>(self.plan.state)?;
        let mut work = Work::<E>::carve(carver.rest(), blob.spec(), limits)?;
        let caches = decoder::Caches { cross, own, source_len: self.source_len, limits };
        decoder::step(engine, &blob, id, self.position, caches, &mut work, observer)
    }

    /// What a phrase of this size needs is what the plan says for limits of this size.
    fn note_high_water(&mut self) {
        let limits = Limits {
            source_tokens: self.source_len as u16,
            target_tokens: self.position.max(1) as u16,
            text_bytes: self.limits.text_bytes,
        };
        if let Ok(plan) = ArenaPlan::new(self.blob.spec(), self.blob.engine(), limits) {
            self.high_water = self.high_water.max(plan.total());
        }
    }
}
