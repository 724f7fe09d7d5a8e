//! The translator: runs a model in one arena, whole phrases or step by step.

use crate::arena::{ArenaPlan, Carver, Limits, MAX_BEAMS, Slots, Work};
use crate::blob::Blob;
use crate::blob::layout::ALIGN;
use crate::blob::shortlist::{block_count, set_bytes};
use crate::engine::{Engine, EngineKind, Room};
use crate::error::Error;
use crate::observe::{Logits, Observer};
use crate::rows::Rows;
use crate::search::{BeamSearch, Rules};
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
    /// What a beam search remembers.
    book: &'m mut [u8],
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
    encoded: bool,
    pub(crate) max_tokens: usize,
    high_water: usize,
    pub(crate) beams: usize,
    length_penalty: u32,
    /// The last beam search and how many hypotheses it finished.
    searched: Option<(Rules, usize)>,
    /// Of the hypothesis that is the target ids, Q24.
    score: Option<i64>,
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
            other => Err(Error::Blob(crate::BlobError::Engine { found: other as u8 })),
        }
    };
}

impl<'m> Translator<'m> {
    pub(crate) fn new(blob: Blob<'m>, plan: ArenaPlan, arena: &'m mut [u8], limits: Limits) -> Result<Self, Error> {
        let found = arena.len();
        if found < plan.total() || !(arena.as_ptr() as usize).is_multiple_of(ALIGN) {
            return Err(Error::Arena { need: plan.total(), found });
        }
        let mut carver = Carver::new(arena);
        let source_ids = carver.take(limits.source_tokens as usize)?;
        let target_ids = carver.take(limits.target_tokens as usize)?;
        let book = carver.take(plan.book)?;
        let chosen = carver.take(plan.shortlist.min(set_bytes(blob.spec().header().target_vocab)))?;
        Ok(Translator {
            blob,
            limits,
            plan,
            source_ids,
            target_ids,
            book,
            chosen,
            shortlist: false,
            beams: limits.beams as usize,
            length_penalty: 1 << 16,
            searched: None,
            score: None,
            region: carver.rest(),
            cross_len: 0,
            source_len: 0,
            target_len: 0,
            position: 0,
            encoded: false,
            max_tokens: limits.target_tokens as usize,
            high_water: 0,
        })
    }

    /// The blob of the model.
    pub const fn blob(&self) -> &Blob<'m> {
        &self.blob
    }

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

    /// Chooses the target language of phrases that do not start with a code (`>>xxx<<`), in place of the one chosen
    /// when the model was packed; `None` leaves them without.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownLanguage`] where the model has no such language: `Tokenizer::languages` lists them.
    pub fn set_target(&mut self, language: Option<&str>) -> Result<(), Error> {
        self.blob.tokenizer_mut().set_language(language)
    }

    /// Ids of the last phrase tokenized or encoded, end of sentence included.
    pub fn source_ids(&self) -> &[u16] {
        self.source_ids.get(..self.source_len).unwrap_or_default()
    }

    /// Ids of the last translation, end of sentence included where it was reached.
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
        self.encoded = false;
        self.source_len = 0;
        let bytes = self.limits.text_bytes as usize;
        // Text that normalizes to nothing fills no buffer: without this, time would not be bounded by the limits.
        if text.len() > bytes * RAW_FACTOR {
            return Err(Error::TextTooLong { limit: bytes });
        }
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

    /// Encodes the ids of the last [`Translator::tokenize`] and projects the keys and values of every
    /// cross-attention.
    ///
    /// # Errors
    ///
    /// [`Error::NothingToEncode`] where there are no ids.
    pub fn encode(&mut self, observer: &mut impl Observer) -> Result<(), Error> {
        self.encoded = false;
        (self.score, self.searched) = (None, None);
        if self.source_len == 0 {
            return Err(Error::NothingToEncode);
        }
        let vocab = self.blob.spec().header().source_vocab;
        if let Some(&id) = self.source_ids().iter().find(|&&id| id as u32 >= vocab) {
            return Err(Error::InvalidId { id });
        }
        with_engine!(self.blob, |engine| self.encode_with(engine, observer))?;
        self.choose_rows();
        self.encoded = true;
        self.restart();
        self.note_high_water();
        Ok(())
    }

    /// [`Translator::encode`] of ids from elsewhere, end of sentence included.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyTokens`], [`Error::InvalidId`], [`Error::NothingToEncode`].
    pub fn encode_ids(&mut self, ids: &[u16], observer: &mut impl Observer) -> Result<(), Error> {
        self.encoded = false;
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
    fn encode_with<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<(), Error> {
        // The phrase's own plan: what it leaves of the arena is work buffers.
        self.cross_len = self.plan_of(self.source_len, 1)?.cross;
        // Not copied: a blob's views are some hundred bytes.
        let blob = &self.blob;
        let ids = self.source_ids.get(..self.source_len).unwrap_or_default();
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let hidden = carver.take(ids.len() * blob.spec().d_model())?;
        let mut work = Work::<E>::carve(carver.rest(), blob, ids.len(), ids.len(), 1)?;
        let mut tokens = encoder::encode(engine, blob, ids, hidden, cross, &mut work, observer)?;
        cross_kv::project(engine, blob, &mut tokens, cross, &mut work)
    }

    /// Feeds `id` to the decoder at the next position and returns the id with the highest logit: pad excluded, ties
    /// to the lower id. The first id of a phrase is [`Model::start_id`](crate::Model::start_id).
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

    #[inline(never)]
    fn step_with<E: Engine>(&mut self, engine: E, id: u16, observer: &mut impl Observer) -> Result<u16, Error> {
        let (blob, limits) = (&self.blob, self.limits);
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let own = carver.take::<u8>(self.plan.own)?;
        let positions = self.source_len.max(limits.target_tokens as usize);
        let mut work = Work::<E>::carve(carver.rest(), blob, positions, 1, 1)?;
        let (source_len, position) = (self.source_len, self.position);
        let rows = Rows::of(self.chosen, self.shortlist);
        let caches = decoder::Caches { cross, own, beams: 1, places: &[0], source_len, limits, position, rows };
        decoder::step(engine, blob, id, caches, &mut work, observer)
    }

    /// Lets [`Translator::translate`] follow this many hypotheses at a time, at the start [`Limits::beams`]; with 1 it takes the
    /// best token at each step.
    ///
    /// # Errors
    ///
    /// [`Error::Limits`] for zero, and for more than the arena was sized for.
    pub const fn set_beams(&mut self, beams: usize) -> Result<(), Error> {
        if beams == 0 || beams > self.limits.beams as usize {
            return Err(Error::Limits);
        }
        self.beams = beams;
        Ok(())
    }

    /// Compares finished hypotheses of a beam search by their sum of log-probabilities over this power of their length, in Q16:
    /// `1 << 16` at the start; more favours longer ones.
    pub const fn set_length_penalty(&mut self, power: u32) {
        self.length_penalty = power;
    }

    /// Score of the last translation by a beam search: log-probability in nats over the length penalty's power of the length,
    /// in Q24.
    pub const fn score(&self) -> Option<i64> {
        self.score
    }

    /// Whether the blob has a shortlist.
    pub const fn has_shortlist(&self) -> bool {
        self.blob.shortlist().is_some()
    }

    /// Makes logits only of the ids in the blob's shortlist for the phrase, from the next step on; off at the start. Other ids
    /// are never chosen and no observer sees their logits; a beam search's log-probabilities are those among the rest.
    ///
    /// # Errors
    ///
    /// [`Error::NoShortlist`] where the blob has none.
    pub fn set_shortlist(&mut self, on: bool) -> Result<(), Error> {
        if on && !self.has_shortlist() {
            return Err(Error::NoShortlist);
        }
        self.shortlist = on;
        self.choose_rows();
        Ok(())
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

    /// Forgets the last translation.
    pub(crate) const fn forget(&mut self) {
        self.target_len = 0;
        (self.score, self.searched) = (None, None);
    }

    /// Hypotheses of the last beam search, the best first: as many as beams, or fewer where no more ended.
    pub const fn hypotheses(&self) -> usize {
        match self.searched {
            Some((_, count)) => count,
            None => 0,
        }
    }

    /// Makes hypothesis `number`, 0 being the best, the target ids, and its score the one that [`Translator::score`] gives; false
    /// where there are fewer.
    pub fn choose_hypothesis(&mut self, number: usize) -> bool {
        let Some((rules, count)) = self.searched else { return false };
        let Ok(search) = BeamSearch::reopened(self.book, rules, count) else { return false };
        let Some((len, score)) = search.read(number, self.target_ids) else { return false };
        (self.target_len, self.score) = (len, Some(score));
        true
    }

    /// Searches the best hypothesis for the phrase that is encoded, its ids then being the target ids. Returns whether it ends as
    /// a sentence does. A [`Translator::step`] after it needs a [`Translator::restart`].
    ///
    /// The observer gets the logits of some ids of each hypothesis after the other, and a hidden state of each; it gets no
    /// tokens, which are known in the end.
    ///
    /// ```
    /// # use latimer::{Arena, Limits, Model, arena_len, include_blob};
    /// # static BLOB: &[u8] = include_blob!("example.blob");
    /// # let model = Model::from_bytes(BLOB)?;
    /// const LIMITS: Limits = Limits { beams: 4, ..Limits::DEFAULT };
    /// let mut arena = Arena::<{ arena_len(BLOB, LIMITS) }>::new();
    /// let mut translator = model.translator(arena.as_mut(), LIMITS)?;
    /// translator.tokenize("Good morning.".as_bytes())?;
    /// translator.encode(&mut ())?;
    /// let whole = translator.search(&mut ())?;
    /// let score = translator.score().map(|score| score as f32 / (1 << 24) as f32); // nats a token
    /// assert!(!translator.target_ids().is_empty() && score < Some(0.0));
    /// assert!((1..=4).contains(&translator.hypotheses()) && translator.choose_hypothesis(0));
    /// # Ok::<(), latimer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfSteps`] where nothing is encoded, [`Error::Limits`] where the arena was sized for greedy search.
    pub fn search(&mut self, observer: &mut impl Observer) -> Result<bool, Error> {
        self.forget();
        if self.limits.beams < 2 {
            return Err(Error::Limits);
        }
        if !self.encoded {
            return Err(Error::OutOfSteps);
        }
        with_engine!(self.blob, |engine| self.search_with(engine, observer))?;
        self.note_high_water();
        // The caches are those of several hypotheses: a step needs a restart.
        self.position = self.limits.target_tokens as usize;
        Ok(self.target_ids().last() == Some(&self.blob.spec().header().eos_id))
    }

    #[inline(never)]
    fn search_with<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<(), Error> {
        let (blob, limits, beams) = (&self.blob, self.limits, self.beams);
        let (spec, header) = (blob.spec(), blob.spec().header());
        let rules = Rules {
            beams,
            steps: self.max_tokens,
            length_penalty: self.length_penalty,
            start: header.start_id,
            eos: header.eos_id,
            pad: header.pad_id,
        };
        let mut search = BeamSearch::new(self.book, rules)?;
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let own = carver.take::<u8>(self.plan.own)?;
        let rest = carver.rest();
        let positions = self.source_len.max(limits.target_tokens as usize);
        let room = Room::up_to(limits.target_tokens as usize);
        for position in 0..self.max_tokens {
            let (mut ids, mut places, mut count) = ([0; MAX_BEAMS], [0; MAX_BEAMS], 0);
            for (next, (id, place)) in search.next().zip(ids.iter_mut().zip(&mut places)) {
                (*id, *place) = next;
                count += 1;
            }
            let (ids, places) = (ids.get(..count).unwrap_or_default(), places.get(..count).unwrap_or_default());
            let mut work = Work::<E>::carve(&mut *rest, blob, positions, 1, limits.beams as usize)?;
            let caches = decoder::Caches {
                cross: &mut *cross,
                own: &mut *own,
                beams,
                places,
                source_len: self.source_len,
                limits,
                position,
                rows: Rows::of(self.chosen, self.shortlist),
            };
            let offer = |beam, first, logits: Logits<'_>| search.offer(beam, first, logits);
            decoder::steps(engine, blob, ids, caches, &mut work, observer, offer)?;
            self.position = position + 1;
            let more = search.advance(|(from, to)| {
                let mut start = 0;
                for block in (0..spec.decoder_blocks()).filter_map(|block| spec.decoder_block(block)) {
                    let len = Slots::len::<E>(room, spec.d_model(), block.heads as usize);
                    let [from, to] = [from, to].map(|place| start + place as usize * len);
                    if let Ok([from, to]) = own.get_disjoint_mut([from..from + len, to..to + len]) {
                        to.iter_mut().zip(&*from).for_each(|(to, from)| *to = *from);
                    }
                    start += beams * len;
                }
            });
            if !more {
                break;
            }
        }
        self.searched = Some((rules, search.count()));
        self.choose_hypothesis(0);
        Ok(())
    }

    /// What a phrase of this size needs is what the plan says for limits of this size.
    fn note_high_water(&mut self) {
        if let Ok(plan) = self.plan_of(self.source_len, self.position.max(1)) {
            self.high_water = self.high_water.max(plan.total());
        }
    }

    /// The plan for limits of exactly so many tokens.
    fn plan_of(&self, source: usize, target: usize) -> Result<ArenaPlan, Error> {
        let text_bytes = self.limits.text_bytes;
        let limits = Limits { source_tokens: source as u16, target_tokens: target as u16, text_bytes, ..self.limits };
        ArenaPlan::of(&self.blob, limits)
    }
}
