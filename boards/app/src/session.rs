//! A firmware's life: a model is opened and served until another is asked for.

use core::mem::{MaybeUninit, take};

use heapless::String;
use latimer::{AlignmentCrc, Error, Limits, LogitsCrc, Model, Outcome, Translator};

use crate::answer::{Answers, JSON_BYTES, Measures};
use crate::line::LineReader;
use crate::log::info;
use crate::phrase::How;
use crate::serve::{Next, greet, serve};
use crate::{LINE_BYTES, Models, Port};

/// The limits every board's arena is sized for.
pub const LIMITS: Limits = Limits { beams: if cfg!(feature = "beam") { 4 } else { 1 }, ..Limits::DEFAULT };

/// Bytes that a firmware's memory has beside the arena: what else sessions on a heap need there.
pub const HEAP_EXTRA: usize = if cfg!(feature = "alloc") { 6 * 1024 } else { 0 };

/// Room for a translation: twice what a line has.
pub(crate) const TARGET_BYTES: usize = 2 * LINE_BYTES;

/// Memory of a session, kept off the stack so that `:stats` tells what the engine needs there.
#[derive(Debug)]
pub struct Buffers<'m> {
    /// Some 700 bytes, and twice as many. Nothing until a session begins, as `None` is more than zeros: a static that is not
    /// zeros all over takes as much of flash as of RAM.
    model: MaybeUninit<Option<Model<'m>>>,
    translator: MaybeUninit<Option<Translator<'m>>>,
    pub(crate) json: [u8; JSON_BYTES],
    pub(crate) desk: Desk,
    #[cfg(feature = "bench")]
    bench: crate::bench::Memory,
}

/// What phrases come and go through.
#[derive(Debug)]
pub(crate) struct Desk {
    pub how: How,
    pub line: LineReader,
    pub target: String<TARGET_BYTES>,
    /// The last phrase, for the button.
    pub phrase: String<LINE_BYTES>,
    pub outcome: Outcome,
    pub crcs: Option<(LogitsCrc, AlignmentCrc)>,
    pub measures: Measures,
}

impl Buffers<'_> {
    /// Empty buffers, zeros that take no flash.
    #[allow(clippy::new_without_default, reason = "made in statics only")]
    pub const fn new() -> Self {
        Self {
            model: MaybeUninit::uninit(),
            translator: MaybeUninit::uninit(),
            json: [0; JSON_BYTES],
            desk: Desk {
                how: How::OFF,
                line: LineReader::new(),
                target: String::new(),
                phrase: String::new(),
                outcome: Outcome::NONE,
                crcs: None,
                measures: Measures::NONE,
            },
            #[cfg(feature = "bench")]
            bench: crate::bench::Memory::new(),
        }
    }
}

/// Answers lines until `:exit` and ends the program: 0 when asked to, 1 when the line broke or the first model is no good.
pub fn run<'m, P: Port>(port: &mut P, models: Models<'m>, arena: &'m mut [u8], buffers: &mut Buffers<'m>) -> ! {
    #[cfg(feature = "bench")]
    let result = match models.get(1) {
        Some(blob) => crate::bench::session(port, Some((blob, arena)), &mut buffers.bench.0),
        None => Ok(false),
    };
    #[cfg(not(any(feature = "bench", all(feature = "alloc", target_os = "none"))))]
    let result = session(port, models, arena, buffers);
    #[cfg(all(feature = "alloc", target_os = "none", not(feature = "bench")))]
    let result = {
        crate::heap::give(arena);
        crate::session_on_heap(port, models, buffers)
    };
    let code = match result {
        Ok(true) => 0,
        Ok(false) | Err(_) => 1,
    };
    P::exit(code)
}

/// Answers lines until `:exit` or the end of input; false if there is no model, or the first can't be run.
///
/// The models share the arena, one at a time; `:model N` goes over to another.
///
/// # Errors
///
/// The port's.
pub fn session<'m, P: Port>(
    port: &mut P,
    models: Models<'m>,
    arena: &'m mut [u8],
    buffers: &mut Buffers<'m>,
) -> Result<bool, P::Error> {
    let Buffers { model, translator, json, desk, .. } = buffers;
    let (model, translator) = (model.write(None), translator.write(None));
    desk.how = How::FIRST;
    let mut answers = Answers { port, json: false, buffer: json };
    let arena_bytes = arena.len();
    let mut number = 1;
    if let Err(error) = read(model, models, number).and_then(|model| open(translator, model, arena)) {
        return error.tell(&mut answers).map(|()| false);
    }
    let mut opened = true;
    while let Some(serving) = translator {
        if take(&mut opened) {
            // Room for more does not make a search of it.
            let _ = serving.set_beams(1);
            info!("model {}, {} bytes of arena", number, arena_bytes);
            desk.measures = Measures { arena: arena_bytes, ..Measures::NONE };
            greet(&mut answers, serving, models, number)?;
        }
        let Next::Model(asked) = serve(&mut answers, serving, (models, number), desk)? else { return Ok(true) };
        // Only if it can be run: the one that is there goes on else.
        match read(model, models, asked).and_then(|model| change(translator, model, arena_bytes)) {
            Ok(()) => (number, opened) = (asked, true),
            Err(error) => error.tell(&mut answers)?,
        }
    }
    Ok(false)
}

impl<'m> Models<'m> {
    /// Checks model `number`.
    pub(crate) fn open(self, number: usize) -> Result<Model<'m>, Refusal> {
        let blob = self.get(number).ok_or_else(|| Refusal::Missing(self.count()))?;
        Ok(Model::from_bytes(blob)?)
    }
}

/// Why a model is not served.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is none of that number, but so many.
    Missing(usize),
    /// It can't be run.
    Engine(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Refusal {
    #[inline(never)]
    pub fn tell<P: Port>(self, answers: &mut Answers<'_, P>) -> Result<(), P::Error> {
        match self {
            Self::Missing(0) => {
                answers.error("no model where this firmware looks for one: flash it, see `model-gen image`")
            }
            Self::Missing(count) => answers.error(format_args!("no such model: this firmware has {count}")),
            Self::Engine(error) => answers.error(error),
        }
    }
}

/// Puts a model in its place. Neither this nor what follows is inlined: they were on the stack all the time else.
#[inline(never)]
fn read<'m, 'p>(place: &'p mut Option<Model<'m>>, models: Models<'m>, number: usize) -> Result<&'p Model<'m>, Refusal> {
    Ok(place.insert(models.open(number)?))
}

/// Puts a translator of the model in its place.
#[inline(never)]
fn open<'m>(place: &mut Option<Translator<'m>>, model: &Model<'m>, arena: &'m mut [u8]) -> Result<(), Refusal> {
    *place = Some(model.translator(arena, LIMITS)?);
    Ok(())
}

/// Puts a translator of the model in the place of the one that is there, if the arena's bytes suffice.
#[inline(never)]
fn change<'m>(place: &mut Option<Translator<'m>>, model: &Model<'m>, found: usize) -> Result<(), Refusal> {
    let need = model.arena_len(LIMITS)?;
    if need > found {
        return Err(Error::Arena { need, found }.into());
    }
    match Translator::take_arena(place) {
        Some(arena) => open(place, model, arena),
        None => Ok(()),
    }
}
