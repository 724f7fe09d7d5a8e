//! The translator: runs a model in one arena, whole phrases or step by step.

use crate::arena::{ArenaPlan, Carver, Limits, Loan, MAX_BEAMS, Work};
use crate::blob::Blob;
use crate::blob::glossary::Glossary;
use crate::blob::layout::ALIGN;
use crate::blob::shortlist::{block_count, set_bytes};
use crate::engine::Engine;
use crate::error::Error;
use crate::observe::Observer;
use crate::passage::Part;
use crate::rows::Rows;
use crate::search::BeamSearch;
use crate::text::{EncodeWork, Node};
use crate::{cross_kv, decoder, encoder};
use core::fmt;

/// Bytes of text taken for each byte of normalized text that the limits allow: runs of whitespace shrink.
const RAW_FACTOR: usize = 16;

/// Runs a model in one arena, a phrase at a time. [`translate`](Translator::translate) does all of it; the steps can
/// be called one by one, for those who want ids, logits or a say in each token:
///
/// ```
/// # use latimer::{Arena, Limits, Model, arena_len, include_blob};
/// # static BLOB: &[u8] = include_blob!("example.blob");
/// # let model = Model::from_bytes(BLOB)?;
/// # let mut arena = Arena::<{ arena_len(BLOB, Limits::DEFAULT) }>::new();
/// # let mut translator = model.translator(arena.as_mut(), Limits::DEFAULT)?;
/// let ids = translator.tokenize("Good morning.".as_bytes())?;
/// assert_eq!(ids.last(), Some(&model.eos_id()));
/// translator.encode(&mut ())?; // an observer would see every layer's output
/// let mut detokenizer = model.blob().tokenizer().detokenizer();
/// let mut text = heapless::String::<64>::new();
/// let mut id = model.start_id();
/// for _ in 0..8 {
///     id = translator.step(id, &mut ())?; // ... and every logit
///     if id == model.eos_id() {
///         break;
///     }
///     detokenizer.push(id, &mut text)?; // `text` grows token by token
/// }
/// detokenizer.finish(&mut text)?;
/// # Ok::<(), latimer::Error>(())
/// ```
pub struct Translator<'m> {
    pub(crate) blob: Blob<'m>,
    pub(crate) limits: Limits,
    plan: ArenaPlan,
    pub(crate) source_ids: &'m mut [u16],
    pub(crate) target_ids: &'m mut [u16],
    /// Row blocks of the output matrix that the phrase encoded reads, a bit each, where the shortlist is on.
    chosen: &'m mut [u8],
    pub(crate) shortlist: bool,
    /// What the phases share.
    region: &'m mut [u8],
    /// Bytes of the cross-attention's keys and values, for the phrase encoded.
    cross_len: usize,
    pub(crate) source_len: usize,
    pub(crate) target_len: usize,
    position: usize,
    /// Parts of the encoding that are done.
    encoded: usize,
    pub(crate) max_tokens: usize,
    high_water: usize,
    pub(crate) beams: usize,
    length_penalty: u32,
    unknown_allowed: bool,
    /// The user's own.
    pub(crate) glossary: Glossary<'m>,
    /// Block and head of the cross-attention that tells what a token is made from.
    aligned_by: (u8, u8),
    /// The part of a passage that is being translated: here, where it takes no stack.
    pub(crate) part: Part,
    /// The search for the phrase that is encoded.
    search: Option<BeamSearch>,
    /// Source positions that its hypotheses looked at last.
    peaks: [u16; MAX_BEAMS],
    /// Of the hypothesis that is the target ids, Q24.
    score: Option<i64>,
    chosen_number: usize,
    /// Whether the search was ended on request.
    stopped: bool,
    /// The arena that all of the buffers were cut from.
    loan: Loan<'m>,
}

impl fmt::Debug for Translator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Translator");
        f.field("blob", &self.blob).field("limits", &self.limits).field("arena", &self.plan.total());
        f.field("source_ids", &self.source_ids()).field("target_ids", &self.target_ids()).finish()
    }
}

/// Calls a function generic over the engine with the blob's own.
macro_rules! with_engine {
    ($blob:expr, |$engine:ident| $call:expr) => {
        match $blob.engine() {
            #[cfg(feature = "int8")]
            crate::EngineKind::Int8 => {
                let $engine = crate::op::int8::Int8;
                $call
            }
            #[cfg(feature = "f16")]
            crate::EngineKind::F16 => {
                let math = crate::op::f16::Math::from_spec($blob.spec().header().math);
                let $engine = crate::op::f16::F16 { math };
                $call
            }
            // A blob of an engine this build lacks was refused when it was parsed.
            #[allow(unreachable_patterns)]
            other => Err(Error::Blob(crate::BlobError::Engine { found: other as u8 })),
        }
    };
}

mod search;
mod settings;

impl<'m> Translator<'m> {
    pub(crate) fn new(blob: Blob<'m>, plan: ArenaPlan, arena: &'m mut [u8], limits: Limits) -> Result<Self, Error> {
        let found = arena.len();
        if found < plan.total() || !(arena.as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(Error::Arena { need: plan.total(), found });
        }
        let (arena, loan) = Loan::of(arena);
        let mut carver = Carver::new(arena);
        let source_ids = carver.take(limits.source_tokens as usize)?;
        let target_ids = carver.take(limits.target_tokens as usize)?;
        let chosen = carver.take(plan.shortlist.min(set_bytes(blob.spec().header().target_vocab)))?;
        Ok(Translator {
            blob,
            limits,
            plan,
            source_ids,
            target_ids,
            chosen,
            shortlist: blob.shortlist().is_some(),
            beams: limits.beams as usize,
            length_penalty: 1 << 16,
            unknown_allowed: false,
            glossary: Glossary::EMPTY,
            aligned_by: (blob.guide().header().aligned_block, blob.guide().header().aligned_head),
            part: Part::EMPTY,
            peaks: [0; MAX_BEAMS],
            search: None,
            score: None,
            chosen_number: 0,
            stopped: false,
            region: carver.rest(),
            cross_len: 0,
            source_len: 0,
            target_len: 0,
            position: 0,
            encoded: 0,
            max_tokens: limits.target_tokens as usize,
            high_water: 0,
            loan,
        })
    }

    /// Takes a translator from its place and gives its arena back, for a translator of another model, say.
    ///
    /// ```
    /// # use latimer::{Arena, Limits, Model, Translator, arena_len, include_blob};
    /// # static BLOB: &[u8] = include_blob!("example.blob");
    /// # let (there, back) = (Model::from_bytes(BLOB)?, Model::from_bytes(BLOB)?);
    /// # const LEN: usize = arena_len(BLOB, Limits::DEFAULT);
    /// let mut arena = Arena::<LEN>::new(); // enough for both models
    /// let mut translator = Some(there.translator(arena.as_mut(), Limits::DEFAULT)?);
    /// // ...
    /// if let Some(arena) = Translator::take_arena(&mut translator) {
    ///     translator = Some(back.translator(arena, Limits::DEFAULT)?);
    /// }
    /// # Ok::<(), latimer::Error>(())
    /// ```
    // Not `self`: an argument's references are in use until the call ends.
    pub fn take_arena(place: &mut Option<Self>) -> Option<&'m mut [u8]> {
        let loan = place.as_ref()?.loan;
        *place = None;
        // SAFETY: the translator is gone and with it every slice that was cut from the arena; what methods lend of them has
        // ended with the borrow of the translator. Its loan was copied here alone.
        Some(unsafe { loan.back() })
    }

    /// The blob of the model.
    pub const fn blob(&self) -> &Blob<'m> {
        &self.blob
    }

    /// The limits the arena was sized for.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Ids of the last phrase tokenized or encoded, end of sentence included; of a passage, those of the last part that the model was
    /// asked about.
    pub fn source_ids(&self) -> &[u16] {
        self.source_ids.get(..self.source_len).unwrap_or_default()
    }

    /// Ids of the last translation, end of sentence included where it was reached; of a passage, what the model made of the same
    /// part.
    pub fn target_ids(&self) -> &[u16] {
        self.target_ids.get(..self.target_len).unwrap_or_default()
    }

    /// Bytes of arena that would have sufficed for the largest phrase so far: what [`Model::arena_len`](crate::Model::arena_len) gives for limits
    /// of exactly its tokens.
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
        self.forget_phrase();
        let count = Self::tokenize_in(&self.blob, self.limits, self.region, self.source_ids, text)?;
        self.source_len = count;
        Ok(self.source_ids())
    }

    /// How many ids, end of sentence included, there are of what `fill` writes and gives the length of; `None` of it is too long.
    /// They lie in the region until [`Translator::take_tokenized`]: before that the last phrase's are kept.
    pub(crate) fn tokenize_filled(
        &mut self,
        fill: impl FnOnce(&Blob, &Part, &mut [u8]) -> Option<usize>,
    ) -> Result<usize, Error> {
        self.encoded = 0;
        (self.score, self.search) = (None, None);
        let limit = self.limits.text_bytes as usize;
        let mut carver = Carver::new(self.region);
        let ids = carver.take(self.limits.source_tokens as usize)?;
        let filled = carver.take::<u8>(limit)?;
        let len = fill(&self.blob, &self.part, &mut *filled).ok_or(Error::TextTooLong { limit })?;
        let text = filled.get(..len).unwrap_or_default();
        Self::tokenize_in(&self.blob, self.limits, carver.rest(), ids, text)
    }

    /// Makes the `count` ids that [`Translator::tokenize_filled`] left the phrase's, and their encoding the next to be done.
    pub(crate) fn take_tokenized(&mut self, count: usize) -> Result<(), Error> {
        self.forget();
        let ids = Carver::new(self.region).take::<u16>(self.limits.source_tokens as usize)?;
        self.source_ids.iter_mut().zip(ids).for_each(|(to, from)| *to = *from);
        self.source_len = count;
        self.begin_encoding()
    }

    /// Puts the ids of `text`, end of sentence included, into `ids`; how many they are.
    fn tokenize_in(
        blob: &Blob,
        limits: Limits,
        region: &mut [u8],
        ids: &mut [u16],
        text: &[u8],
    ) -> Result<usize, Error> {
        let bytes = limits.text_bytes as usize;
        // Text that normalizes to nothing fills no buffer: without this, time would not be bounded by the limits.
        if text.len() > bytes * RAW_FACTOR {
            return Err(Error::TextTooLong { limit: bytes });
        }
        let mut carver = Carver::new(region);
        let work = EncodeWork { text: carver.take(bytes)?, nodes: carver.take::<Node>(bytes)? };
        let limit = ids.len();
        let too_many = Error::TooManyTokens { limit };
        let room = ids.get_mut(..limit.saturating_sub(1)).ok_or(too_many)?;
        let count = blob.tokenizer().encode(text, work, room).map_err(|error| match error {
            Error::TooManyTokens { .. } => too_many,
            other => other,
        })?;
        *ids.get_mut(count).ok_or(too_many)? = blob.spec().header().eos_id;
        Ok(count + 1)
    }

    /// Encodes the ids of the last [`Translator::tokenize`] and projects the keys and values of every
    /// cross-attention.
    ///
    /// # Errors
    ///
    /// [`Error::NothingToEncode`] where there are no ids.
    pub fn encode(&mut self, observer: &mut impl Observer) -> Result<(), Error> {
        self.begin_encoding()?;
        while self.encode_part(observer)? {}
        Ok(())
    }

    /// Makes the parts of the encoding of the ids that are there the next to be done.
    pub(crate) fn begin_encoding(&mut self) -> Result<(), Error> {
        self.encoded = 0;
        (self.score, self.search) = (None, None);
        if self.source_len == 0 {
            return Err(Error::NothingToEncode);
        }
        let vocab = self.blob.spec().header().source_vocab;
        if let Some(&id) = self.source_ids().iter().find(|&&id| id as u32 >= vocab) {
            return Err(Error::InvalidId { id });
        }
        Ok(())
    }

    /// Does a part of the encoding: embedding, one block, or the projection of keys and values. Whether there are more.
    pub(crate) fn encode_part(&mut self, observer: &mut impl Observer) -> Result<bool, Error> {
        with_engine!(self.blob, |engine| self.encode_part_with(engine, observer))?;
        self.encoded += 1;
        if !self.is_encoded() {
            return Ok(true);
        }
        self.choose_rows();
        self.restart();
        self.note_high_water();
        Ok(false)
    }

    const fn is_encoded(&self) -> bool {
        self.encoded > self.blob.spec().encoder_blocks() + 1
    }

    const fn forget_phrase(&mut self) {
        (self.encoded, self.source_len) = (0, 0);
        (self.score, self.search) = (None, None);
    }

    /// [`Translator::encode`] of ids from elsewhere, end of sentence included.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyTokens`], [`Error::InvalidId`], [`Error::NothingToEncode`].
    pub fn encode_ids(&mut self, ids: &[u16], observer: &mut impl Observer) -> Result<(), Error> {
        self.forget_phrase();
        let limit = self.source_ids.len();
        let room = self.source_ids.get_mut(..ids.len()).ok_or(Error::TooManyTokens { limit })?;
        room.iter_mut().zip(ids).for_each(|(room, &id)| *room = id);
        self.source_len = ids.len();
        self.encode(observer)
    }

    /// Starts the target again for the phrase that is encoded: the next [`Translator::step`] is at the first position.
    pub const fn restart(&mut self) {
        self.position = 0;
    }

    // Neither is inlined, nor is what else runs once: frames that follow each other then share the stack.
    #[inline(never)]
    fn encode_part_with<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<(), Error> {
        // The phrase's own plan: what it leaves of the arena is work buffers.
        self.cross_len = self.plan_of(self.source_len, 1)?.cross;
        // Not copied: a blob's views are some hundred bytes.
        let blob = &self.blob;
        let ids = self.source_ids.get(..self.source_len).unwrap_or_default();
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let hidden = carver.take(ids.len() * blob.spec().d_model())?;
        let mut work = Work::<E>::carve(carver.rest(), blob, ids.len(), ids.len(), 1)?;
        let blocks = blob.spec().encoder_blocks();
        match self.encoded {
            0 => encoder::embed_source(engine, blob, ids, hidden, observer),
            part if part <= blocks => encoder::run_block(engine, blob, part - 1, hidden, cross, &mut work, observer),
            _ => {
                let mut tokens = encoder::tokens_after(blob, blocks, hidden)?;
                cross_kv::project(engine, blob, &mut tokens, cross, &mut work)
            }
        }
    }

    /// Feeds `id` to the decoder at the next position and returns the id with the highest logit: padding and the unknown
    /// piece excluded, ties to the lower id. The first id of a phrase is [`Model::start_id`](crate::Model::start_id).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSteps`] where nothing is encoded or the caches are full, [`Error::InvalidId`].
    pub fn step(&mut self, id: u16, observer: &mut impl Observer) -> Result<u16, Error> {
        if !self.is_encoded() || self.position >= self.limits.target_tokens as usize {
            return Err(Error::OutOfSteps);
        }
        if id as u32 >= self.blob.spec().header().target_vocab {
            return Err(Error::InvalidId { id });
        }
        // The caches go where a search has its own.
        self.search = None;
        let next = with_engine!(self.blob, |engine| self.step_with(engine, id, observer))?;
        self.position += 1;
        self.note_high_water();
        Ok(next)
    }

    #[inline(never)]
    fn step_with<E: Engine>(&mut self, engine: E, id: u16, observer: &mut impl Observer) -> Result<u16, Error> {
        let (blob, limits, never) = (&self.blob, self.limits, self.never());
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let own = carver.take::<u8>(self.plan.own)?;
        let positions = self.source_len.max(limits.target_tokens as usize);
        let mut work = Work::<E>::carve(carver.rest(), blob, positions, 1, 1)?;
        let (source_len, position, steps) = (self.source_len, self.position, limits.target_tokens as usize);
        let rows = Rows::of(self.chosen, self.shortlist);
        let caches =
            decoder::Caches { cross, own, beams: 1, places: &[0], source_len, steps, position, watched: None, rows };
        decoder::step(engine, blob, (id, never), caches, &mut work, observer)
    }

    /// The share of the output matrix that a step reads, as row blocks of all: with the shortlist on, those of the phrase that
    /// is encoded.
    pub fn output_blocks(&self) -> (usize, usize) {
        let all = block_count(self.blob.spec().header().target_vocab);
        match Rows::of(self.chosen, self.shortlist) {
            Rows::All => (all, all),
            Rows::Blocks(set) => (set.iter().map(|bits| bits.count_ones() as usize).sum(), all),
        }
    }

    /// Looks up which rows the source ids need: from nothing, so that no phrase has another's.
    pub(crate) fn choose_rows(&mut self) {
        if let (Some(shortlist), true) = (self.blob.shortlist(), self.shortlist) {
            shortlist.fill(self.source_ids.get(..self.source_len).unwrap_or_default(), self.chosen);
        }
    }

    /// What a phrase of this size needs is what the plan says for limits of this size.
    fn note_high_water(&mut self) {
        if let Ok(plan) = self.plan_of(self.source_len, self.position.max(1)) {
            self.high_water = self.high_water.max(plan.total());
        }
    }

    /// The plan for limits of exactly so many tokens.
    fn plan_of(&self, source: usize, target: usize) -> Result<ArenaPlan, Error> {
        self.plan_with(source, target, self.limits.beams as usize)
    }

    fn plan_with(&self, source: usize, target: usize, beams: usize) -> Result<ArenaPlan, Error> {
        let (source_tokens, target_tokens, beams) = (source as u16, target as u16, beams as u16);
        let limits = Limits { source_tokens, target_tokens, beams, text_bytes: self.limits.text_bytes };
        ArenaPlan::of(&self.blob, limits)
    }
}
