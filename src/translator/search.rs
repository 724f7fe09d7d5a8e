//! Searching for the best translation of the phrase that is encoded, at once or step by step.

use super::Translator;
use crate::arena::{Carver, MAX_BEAMS, Slots, Work};
use crate::blob::Blob;
use crate::decoder;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::observe::{Logits, Observer};
use crate::passage::{Desk, Draft, Part};
use crate::rows::Rows;
use crate::search::{BeamSearch, Book, Choice, Guard, Rules, Token, book_bytes, choice_bytes};
use core::ops::ControlFlow;

/// What the tokens of a translation add up to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// Nats in Q7.
    pub nats: u32,
    pub guarded: bool,
    /// Whether no word may come twice.
    pub words: bool,
    /// Whether there was no room for all of the text.
    pub cut: bool,
}

impl Translator<'_> {
    /// Lets [`Translator::translate`] follow this many hypotheses at a time, at the start
    /// [`Limits::beams`](crate::Limits::beams); with 1 it takes the best token at each step.
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

    /// Score of the last translation by [`Translator::search`]: log-probability in nats over the length penalty's power of the
    /// length, in Q24.
    pub const fn score(&self) -> Option<i64> {
        self.score
    }

    /// Forgets the last translation.
    pub(crate) const fn forget(&mut self) {
        self.target_len = 0;
        (self.score, self.search) = (None, None);
    }

    /// Hypotheses of the last search, the best first: as many as beams, or fewer where no more ended.
    pub const fn hypotheses(&self) -> usize {
        match &self.search {
            Some(search) => search.count(),
            None => 0,
        }
    }

    /// Makes hypothesis `number`, 0 being the best, the target ids, and its score the one that [`Translator::score`] gives; false
    /// where there are fewer.
    pub fn choose_hypothesis(&mut self, number: usize) -> bool {
        let ids = core::mem::take(&mut self.target_ids);
        let read = self.read(number, |place, token| {
            if let Some(slot) = ids.get_mut(place) {
                *slot = token.id;
            }
        });
        self.target_ids = ids;
        let Some((len, score)) = read else { return false };
        (self.target_len, self.score, self.chosen_number) = (len, Some(score), number);
        true
    }

    /// Shows what the last search knows of each target token: where it comes from, how likely it was. Each comes with its place
    /// among the target ids, the last first; none after a [`Translator::step`].
    pub fn tokens(&mut self, show: impl FnMut(usize, Token)) {
        self.read(self.chosen_number, show);
    }

    /// Shows the tokens of a hypothesis, each with its place, the last first; their number and score.
    fn read(&mut self, number: usize, show: impl FnMut(usize, Token)) -> Option<(usize, i64)> {
        let search = self.search.as_ref()?;
        let Rules { beams, steps, .. } = search.rules;
        let mut carver = Carver::new(self.region);
        carver.take::<u8>(self.cross_len).ok()?;
        let book = Book::open(carver.take(book_bytes(beams, steps)).ok()?, beams, steps).ok()?;
        search.read(&book, number, show)
    }

    /// Whether the last search was ended on request.
    pub(crate) const fn was_stopped(&self) -> bool {
        self.stopped
    }

    /// Ends the search with the best that there is.
    pub(crate) fn stop_search(&mut self) -> Result<(), Error> {
        let Some(search) = &mut self.search else { return Ok(()) };
        let (beams, steps) = (search.rules.beams, search.rules.steps);
        let mut carver = Carver::new(self.region);
        carver.take::<u8>(self.cross_len)?;
        search.stop(&mut Book::open(carver.take(book_bytes(beams, steps))?, beams, steps)?);
        self.stopped = true;
        self.choose_hypothesis(0);
        Ok(())
    }

    /// What is certain of a translation, or in the end the best, before it is written, and what its tokens add up to. `None` where there
    /// is none, or no memory for one that still grows.
    pub(crate) fn draft(&mut self, ended: bool) -> Result<Option<(Draft<'_>, Sums, &Blob<'_>, &Part)>, Error> {
        let Some(search) = &self.search else { return Ok(None) };
        let Rules { beams, steps, eos, .. } = search.rules;
        let own = if ended { 0 } else { self.own_bytes()? };
        let mut carver = Carver::new(self.region);
        carver.take::<u8>(self.cross_len)?;
        let book = Book::open(carver.take(book_bytes(beams, steps))?, beams, steps)?;
        let mut desk = match (carver.take::<u8>(own), ended) {
            (Err(_), false) => return Ok(None),
            (taken, _) => {
                taken?;
                match Desk::carve(carver.rest(), self.limits, ended) {
                    Err(_) if !ended => return Ok(None),
                    desk => desk?,
                }
            }
        };
        let mut sums = Sums { words: search.rules.guard.words, ..Sums::default() };
        let note = |place, token: Token| {
            desk.note(place, token);
            sums.nats += u32::from(token.nats);
            sums.guarded |= token.guarded;
        };
        let read = if ended {
            search.read(&book, self.chosen_number, note).map(|(len, _)| len)
        } else {
            search.read_agreed(&book, note)
        };
        let Some(len) = read else { return Ok(None) };
        let detokenizer = self.blob.tokenizer().detokenizer();
        let draft = desk.draft(len, eos, detokenizer, ended);
        sums.cut = draft.cut;
        Ok((ended || !draft.cut).then_some((draft, sums, &self.blob, &self.part)))
    }

    /// Bytes of the keys and values of the search. Not inlined: a plan is no small thing on the stack.
    #[inline(never)]
    fn own_bytes(&self) -> Result<usize, Error> {
        let rules = self.search.as_ref().ok_or(Error::OutOfSteps)?.rules;
        Ok(self.plan_with(self.source_len, rules.steps, rules.beams)?.own)
    }

    /// Searches the best hypothesis for the phrase that is encoded, its ids then being the target ids. Returns whether it ends as
    /// a sentence does. A [`Translator::step`] after it needs a [`Translator::restart`].
    ///
    /// The observer gets the logits of some ids of each hypothesis after the other, and a hidden state of each; it gets tokens
    /// from a search with one beam alone, as those of several are known in the end.
    ///
    /// ```
    /// # use latimer::{Arena, Limits, Model, arena_len, include_blob};
    /// # static BLOB: &[u8] = include_blob!("../example.blob");
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
    /// [`Error::OutOfSteps`] where nothing is encoded.
    pub fn search(&mut self, observer: &mut impl Observer) -> Result<bool, Error> {
        self.begin_search(Guard::OFF, self.max_tokens)?;
        while self.search_step(observer)? {}
        Ok(self.ends_whole())
    }

    /// Whether the target ids end as a sentence does.
    pub(crate) fn ends_whole(&self) -> bool {
        self.target_ids().last() == Some(&self.blob.spec().header().eos_id)
    }

    /// Makes the steps of a search the next to be done: at most so many.
    pub(crate) fn begin_search(&mut self, guard: Guard, steps: usize) -> Result<(), Error> {
        self.forget();
        self.stopped = false;
        if !self.is_encoded() {
            return Err(Error::OutOfSteps);
        }
        let header = self.blob.spec().header();
        self.search = Some(BeamSearch::new(Rules {
            beams: self.beams,
            steps: steps.clamp(1, self.max_tokens),
            length_penalty: self.length_penalty,
            start: header.start_id,
            eos: header.eos_id,
            never: self.never(),
            guard,
        }));
        // The caches are to be those of the search: a step needs a restart.
        self.position = self.limits.target_tokens as usize;
        Ok(())
    }

    /// Does one step of the search: a token of each hypothesis. Whether there are more; if not, the best hypothesis is the target
    /// ids.
    pub(crate) fn search_step(&mut self, observer: &mut impl Observer) -> Result<bool, Error> {
        let more = with_engine!(self.blob, |engine| self.search_step_with(engine, observer))?;
        let steps = self.search.as_ref().map_or(0, |search| search.steps());
        if let Ok(plan) = self.plan_of(self.source_len, steps.max(1)) {
            self.high_water = self.high_water.max(plan.total());
        }
        if !more {
            self.choose_hypothesis(0);
        }
        Ok(more)
    }

    fn search_step_with<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<bool, Error> {
        self.run_beams(engine, observer)?;
        self.choose_next::<E>(observer)
    }

    /// Runs the latest token of each hypothesis through the decoder. The best next ones are left at the start of the work
    /// buffers, the source positions that the hypotheses look at in `peaks`. Apart from what follows, for the stack.
    #[inline(never)]
    fn run_beams<E: Engine>(&mut self, engine: E, observer: &mut impl Observer) -> Result<(), Error> {
        let (own_len, rows) = (self.own_bytes()?, Rows::of(self.chosen, self.shortlist));
        let Some(search) = &mut self.search else { return Err(Error::OutOfSteps) };
        let (beams, steps, position) = (search.rules.beams, search.rules.steps, search.steps());
        let (mut ids, mut places, mut count) = ([0; MAX_BEAMS], [0; MAX_BEAMS], 0);
        for (next, (id, place)) in search.next().zip(ids.iter_mut().zip(&mut places)) {
            (*id, *place) = next;
            count += 1;
        }
        let (ids, places) = (ids.get(..count).unwrap_or_default(), places.get(..count).unwrap_or_default());
        let (blob, source_len, watched) = (&self.blob, self.source_len, Some(self.aligned_by));
        let mut carver = Carver::new(self.region);
        let cross = carver.take::<u8>(self.cross_len)?;
        let book = Book::open(carver.take(book_bytes(beams, steps))?, beams, steps)?;
        let own = carver.take::<u8>(own_len)?;
        let mut work = Work::<E>::carve(carver.rest(), blob, source_len.max(steps), beams, beams)?;
        let caches = decoder::Caches { cross, own, beams, places, source_len, steps, position, watched, rows };
        decoder::steps(engine, blob, ids, caches, &mut work, observer, |spare, at, logits: Logits<'_>| {
            let choices = choices_in(spare, beams);
            search.offer(&book, choices, at, logits, |id| blob.tokenizer().guarded_as(id));
        })?;
        self.peaks = work.peaks;
        Ok(())
    }

    /// Chooses among the best next tokens; copies keys and values of hypotheses that fork. Whether there are more steps.
    #[inline(never)]
    fn choose_next<E: Engine>(&mut self, observer: &mut impl Observer) -> Result<bool, Error> {
        let own_len = self.own_bytes()?;
        let Some(search) = &mut self.search else { return Err(Error::OutOfSteps) };
        let (beams, steps, position) = (search.rules.beams, search.rules.steps, search.steps());
        let spec = self.blob.spec();
        let mut carver = Carver::new(self.region);
        carver.take::<u8>(self.cross_len)?;
        let mut book = Book::open(carver.take(book_bytes(beams, steps))?, beams, steps)?;
        let own = carver.take::<u8>(own_len)?;
        let choices = choices_in(carver.rest(), beams);
        let mut more = search.advance(&mut book, choices, &self.peaks, |(from, to)| {
            let mut start = 0;
            for block in (0..spec.decoder_blocks()).filter_map(|block| spec.decoder_block(block)) {
                let len = Slots::len::<E>(Room::up_to(steps), spec.d_model(), block.heads as usize);
                let [from, to] = [from, to].map(|place| start + place as usize * len);
                if let Ok([from, to]) = own.get_disjoint_mut([from..from + len, to..to + len]) {
                    to.iter_mut().zip(&*from).for_each(|(to, from)| *to = *from);
                }
                start += beams * len;
            }
        });
        if beams == 1
            && let Some(token) = search.latest(&book)
            && observer.token(position, token.id) == ControlFlow::Break(())
        {
            search.stop(&mut book);
            (self.stopped, more) = (true, false);
        }
        Ok(more)
    }
}

/// The best next tokens of all beams, which lie where hidden states were.
fn choices_in(spare: &mut [u8], beams: usize) -> &mut [Choice] {
    bytemuck::try_cast_slice_mut(spare.get_mut(..choice_bytes(beams)).unwrap_or_default()).unwrap_or_default()
}
