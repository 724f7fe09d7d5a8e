//! Sessions on a heap: the arena's memory, and the translator with it, is allocated for the model that is asked for and freed
//! when another is.

use alloc::boxed::Box;
use core::mem::take;

use latimer::{HeapArena, Model, Translator};

use crate::answer::{Answers, Measures};
use crate::phrase::How;
use crate::serve::{Next, greet, serve};
use crate::session::{Buffers, Refusal};
use crate::{LIMITS, Models, Port};

#[cfg(target_os = "none")]
#[global_allocator]
static HEAP: embedded_alloc::LlffHeap = embedded_alloc::LlffHeap::empty();

/// Gives `memory` to the allocator.
#[cfg(target_os = "none")]
pub(crate) fn give(memory: &mut [u8]) {
    // SAFETY: the memory is the allocator's from now on: `run`, which calls this once, never returns it.
    unsafe { HEAP.init(memory.as_mut_ptr().addr(), memory.len()) };
}

/// As [`session`](crate::session), with sessions on the heap.
///
/// # Errors
///
/// The port's.
pub fn session_on_heap<P: Port>(port: &mut P, models: Models<'_>, buffers: &mut Buffers<'_>) -> Result<bool, P::Error> {
    let Buffers { json, desk, .. } = buffers;
    desk.how = How::FIRST;
    let mut answers = Answers { port, json: false, buffer: json };
    let (mut number, mut asked, mut refused) = (1, 1, false);
    loop {
        let (model, mut arena) = match open(models, asked) {
            Ok(opened) => opened,
            Err(refusal) => {
                refusal.tell(&mut answers)?;
                if asked == number {
                    return Ok(false);
                }
                // The one that was served goes on.
                (asked, refused) = (number, true);
                continue;
            }
        };
        number = asked;
        let mut translator = match place(&model, arena.as_mut()) {
            Ok(translator) => translator,
            Err(refusal) => return refusal.tell(&mut answers).map(|()| false),
        };
        if !take(&mut refused) {
            desk.measures = Measures { arena: translator.arena_len(), ..Measures::NONE };
            greet(&mut answers, &translator, models, number)?;
        }
        let Next::Model(next) = serve(&mut answers, &mut translator, (models, number), desk)? else { return Ok(true) };
        asked = next;
    }
}

/// Neither this nor what follows is inlined: what passes through their frames was on the stack all the time else.
#[inline(never)]
fn open<'m>(models: Models<'m>, number: usize) -> Result<(Box<Model<'m>>, HeapArena), Refusal> {
    let model = Box::new(models.open(number)?);
    let arena = HeapArena::new(&model, LIMITS)?;
    Ok((model, arena))
}

#[inline(never)]
fn place<'m>(model: &Model<'m>, arena: &'m mut [u8]) -> Result<Box<Translator<'m>>, Refusal> {
    let mut translator = Box::new(model.translator(arena, LIMITS)?);
    // Room for more does not make a search of it.
    let _ = translator.set_beams(1);
    Ok(translator)
}
