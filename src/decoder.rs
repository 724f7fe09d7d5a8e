//! One decoder step: target ids in, one of each beam, logits out.

use crate::arena::{Carver, Kv, STRIP, Slots, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{Attention, KeysValues, Tokens, attend, attend_own, embed, feed_forward, quantize, store_own};
use crate::observe::{Logits, Observer, Stage};
use crate::rows::Rows;
use crate::search::Best;
use core::ops::Range;

/// Where a step stands: its caches and sizes.
pub(crate) struct Caches<'c> {
    /// Cross-attention keys and values of every block.
    pub cross: &'c mut [u8],
    /// Self-attention keys and values of every block and beam.
    pub own: &'c mut [u8],
    /// Places that there are in `own`, and the one of each beam.
    pub beams: usize,
    pub places: &'c [u8],
    /// Source tokens of the phrase.
    pub source_len: usize,
    /// Positions that a beam has room for.
    pub steps: usize,
    /// Of the tokens.
    pub position: usize,
    /// A head of the cross-attention, by its block, that is watched.
    pub watched: Option<(u8, u8)>,
    /// Of the output matrix, that logits are made of.
    pub rows: Rows<'c>,
}

/// Runs `id` through the decoder; returns the id with the highest logit but for those that are `never` chosen, ties to the
/// lower id.
pub(crate) fn step<E: Engine>(
    engine: E,
    blob: &Blob,
    (id, never): (u16, [u16; 2]),
    caches: Caches,
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<u16, Error> {
    let (position, rows) = (caches.position, caches.rows);
    let hidden = core::mem::take(&mut work.hidden);
    let tokens = blocks(engine, blob, (&[id], hidden), caches, work, observer)?;
    choose(engine, blob, (position, never, rows), &tokens, work, observer)
}

/// Runs the id of each beam through the decoder; `offer` gets their logits, a strip of each beam after the other, and the
/// memory where their hidden states were, the first of the work buffers.
pub(crate) fn steps<E: Engine>(
    engine: E,
    blob: &Blob,
    ids: &[u16],
    caches: Caches,
    work: &mut Work<E>,
    observer: &mut impl Observer,
    offer: impl FnMut(&mut [u8], (usize, usize), Logits<'_>),
) -> Result<(), Error> {
    let at = (caches.position, caches.rows);
    let hidden = core::mem::take(&mut work.hidden);
    let frac = blocks(engine, blob, (ids, &mut *hidden), caches, work, observer)?.frac;
    offer_logits(engine, blob, at, (ids.len(), frac, hidden), work, observer, offer)
}

/// What follows the blocks, apart from them for the stack.
#[inline(never)]
fn offer_logits<E: Engine>(
    engine: E,
    blob: &Blob,
    (position, rows): (usize, Rows),
    (count, frac, hidden): (usize, i8, &mut [E::Hidden]),
    work: &mut Work<E>,
    observer: &mut impl Observer,
    mut offer: impl FnMut(&mut [u8], (usize, usize), Logits<'_>),
) -> Result<(), Error> {
    let output = blob.table().get(blob.spec().header().output)?;
    let len = count * blob.spec().d_model();
    let tokens = Tokens { frac, hidden: hidden.get_mut(..len).unwrap_or_default() };
    quantize(engine, &output, &tokens, work);
    let input = work.input.get(..len).unwrap_or_default();
    let spare: &mut [u8] = bytemuck::try_cast_slice_mut(hidden).unwrap_or_default();
    for Range { start: first, end } in rows.runs(output.rows(), STRIP) {
        let rows = end - first;
        let strips = work.wide.get_mut(..count * rows).unwrap_or_default();
        engine.logits_of(&output, first, input, work.scales, strips);
        for (beam, strip) in strips.chunks_exact(rows.max(1)).enumerate() {
            observer.logits(position, first, E::logits_row(&output, strip));
            offer(spare, (beam, first), E::logits_row(&output, strip));
        }
    }
    Ok(())
}

/// Embeds and runs all blocks. The tokens' hidden states have left the work buffers, of which blocks use the others.
#[inline(always)]
fn blocks<'h, E: Engine>(
    engine: E,
    blob: &Blob,
    (ids, hidden): (&[u16], &'h mut [E::Hidden]),
    caches: Caches,
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<Tokens<'h, E>, Error> {
    let (d_model, position) = (blob.spec().d_model().max(1), caches.position);
    let hidden = hidden.get_mut(..ids.len() * d_model).unwrap_or_default();
    let table = blob.spec().header().target_embedding;
    let frac = embed(engine, blob, table, ids, (position, 0), hidden)?;
    let mut tokens = Tokens { frac, hidden };
    show(0, position, &tokens, d_model, observer);

    let mut own = Carver::new(caches.own);
    let mut cross = Carver::new(caches.cross);
    let room = Room::up_to(caches.steps);
    for i in 0..blob.spec().decoder_blocks() {
        let (spec, tensors) = (blob.spec(), blob.table().decoder(blob.spec().encoder_blocks(), i));
        let Some(block) = spec.decoder_block(i) else { break };
        let sizes = (d_model, block.heads as usize);
        let mut slots = Slots::carve::<E>(&mut own, room, sizes, caches.beams, caches.places)?;
        attend_to_own(engine, blob, i, (&mut slots, position), &mut tokens, work)?;
        let watched = caches.watched.filter(|&(block, _)| block as usize == i).map(|(_, head)| head);
        attend_across(engine, blob, (i, watched), (&mut cross, caches.source_len), &mut tokens, work)?;
        let together = work.tokens((block.ffn as usize).max(d_model));
        for mut tokens in tokens.parts(together, d_model) {
            feed_forward(engine, tensors, spec.header(), &block, &mut tokens, work)?;
        }
        tokens.frac = tensors.out_frac(Role::FinalNorm)?;
        show(i + 1, position, &tokens, d_model, observer);
    }
    Ok(tokens)
}

fn show<E: Engine>(stage: usize, position: usize, tokens: &Tokens<E>, d_model: usize, observer: &mut impl Observer) {
    for row in tokens.hidden.chunks_exact(d_model.max(1)) {
        observer.hidden(Stage::Decoder(stage as u8), position, E::row(row, tokens.frac));
    }
}

/// The id with the highest logit. Apart from the blocks, for the stack that a strip of logits needs.
#[inline(never)]
fn choose<E: Engine>(
    engine: E,
    blob: &Blob,
    (position, never, rows): (usize, [u16; 2], Rows),
    tokens: &Tokens<E>,
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<u16, Error> {
    let header = blob.spec().header();
    let output = blob.table().get(header.output)?;
    let input = work.input.get_mut(..blob.spec().d_model()).unwrap_or_default();
    let scale = engine.input_of_hidden(&output, tokens.hidden, tokens.frac, input);
    let mut best = Best::new(never);
    engine.logits(&output, rows, input, scale, |first, logits: Logits<'_>| {
        observer.logits(position, first, logits);
        best.offer(first, logits);
    });
    Ok(best.id().unwrap_or(header.eos_id))
}

/// Self-attention of block `index`: each token's key and value go to `position` of its beam's caches, where all before it
/// are.
#[inline(never)]
fn attend_to_own<E: Engine>(
    engine: E,
    blob: &Blob,
    index: usize,
    (slots, position): (&mut Slots, usize),
    tokens: &mut Tokens<E>,
    work: &mut Work<E>,
) -> Result<(), Error> {
    let (spec, tensors) = (blob.spec(), blob.table().decoder(blob.spec().encoder_blocks(), index));
    let Some(heads) = spec.decoder_block(index).map(|block| block.heads as usize) else { return Ok(()) };
    let projections = KeysValues { tensors, key: Role::SelfK, value: Role::SelfV, d_model: spec.d_model(), heads };
    let quantized = store_own(engine, projections, tokens, position, slots, work)?;
    let attention = Attention::own(tensors, heads, quantized)?;
    attend_own(engine, attention, spec.header(), tokens, slots, position + 1, work)
}

/// Attention of block `index` to `source_len` source tokens, whose keys and values are there; a head may be watched.
#[inline(never)]
fn attend_across<E: Engine>(
    engine: E,
    blob: &Blob,
    (index, watched): (usize, Option<u8>),
    (caches, source_len): (&mut Carver, usize),
    tokens: &mut Tokens<E>,
    work: &mut Work<E>,
) -> Result<(), Error> {
    let (spec, tensors) = (blob.spec(), blob.table().decoder(blob.spec().encoder_blocks(), index));
    let Some(heads) = spec.decoder_block(index).map(|block| block.heads as usize) else { return Ok(()) };
    let kv = Kv::<E>::carve(caches, Room::exact(source_len), spec.d_model(), heads)?;
    let attention = Attention {
        tensors,
        query: Role::CrossQ,
        out: Role::CrossOut,
        norm: Role::CrossNorm,
        value_frac: tensors.out_frac(Role::CrossV)?,
        heads,
        quantized: None,
        watched,
    };
    Ok(attend(engine, attention, spec.header(), tokens, &kv, source_len, work)?)
}
