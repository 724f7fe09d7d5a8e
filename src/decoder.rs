//! One decoder step: a target id in, logits out.

use crate::arena::{Carver, Kv, Limits, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{Attention, KeysValues, Tokens, attend, feed_forward, store_kv};
use crate::observe::{Logits, Observer, Stage};
use crate::search::Best;

/// Where a step stands: its caches and sizes.
pub(crate) struct Caches<'c> {
    /// Cross-attention keys and values of every block.
    pub cross: &'c mut [u8],
    /// Self-attention keys and values of every block.
    pub own: &'c mut [u8],
    /// Source tokens of the phrase.
    pub source_len: usize,
    pub limits: Limits,
}

/// Runs `id` at `position` through the decoder; returns the id with the highest logit, pad excluded, ties to the
/// lower id.
pub(crate) fn step<E: Engine>(
    engine: E,
    blob: &Blob,
    id: u16,
    position: usize,
    caches: Caches,
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<u16, Error> {
    // The token's hidden state leaves the work buffers while blocks use the others.
    let hidden = core::mem::take(&mut work.hidden);
    let mut tokens = Tokens { frac: embed(engine, blob, id, position, hidden)?, hidden };
    observer.hidden(Stage::Decoder(0), position, E::row(tokens.hidden, tokens.frac));

    let mut own = Carver::new(caches.own);
    let mut cross = Carver::new(caches.cross);
    for i in 0..blob.spec().decoder_blocks() {
        let own = (&mut own, Room::up_to(caches.limits.target_tokens as usize), position);
        attend_own(engine, blob, i, own, &mut tokens, work)?;
        attend_across(engine, blob, i, (&mut cross, caches.source_len), &mut tokens, work)?;
        let (spec, tensors) = (blob.spec(), blob.table().decoder(blob.spec().encoder_blocks(), i));
        let Some(block) = spec.decoder_block(i) else { break };
        feed_forward(engine, tensors, spec.header(), &block, &mut tokens, work)?;
        observer.hidden(Stage::Decoder(i as u8 + 1), position, E::row(tokens.hidden, tokens.frac));
    }

    choose(engine, blob, position, &tokens, work, observer)
}

/// The id with the highest logit. Apart from the blocks, for the stack that a strip of logits needs.
#[inline(never)]
fn choose<E: Engine>(
    engine: E,
    blob: &Blob,
    position: usize,
    tokens: &Tokens<E>,
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<u16, Error> {
    let header = blob.spec().header();
    let output = blob.table().get(header.output)?;
    let input = work.input.get_mut(..blob.spec().d_model()).unwrap_or_default();
    let scale = engine.input_of_hidden(&output, tokens.hidden, tokens.frac, input);
    let mut best = Best::new(header.pad_id);
    engine.logits(&output, input, scale, |first, logits: Logits<'_>| {
        observer.logits(position, first, logits);
        best.offer(first, logits);
    });
    Ok(best.id().unwrap_or(header.eos_id))
}

#[inline(never)]
fn embed<E: Engine>(engine: E, blob: &Blob, id: u16, position: usize, out: &mut [E::Hidden]) -> Result<i8, Error> {
    let header = blob.spec().header();
    let table = blob.table().get(header.target_embedding)?;
    let steps = blob.table().get(header.positions)?;
    engine.embed(&table, &steps, id, position as u16, out);
    Ok(table.entry.embed_frac)
}

/// Self-attention of block `index`: the token's key and value go to `position` of the caches, where all before it are.
#[inline(never)]
fn attend_own<E: Engine>(
    engine: E,
    blob: &Blob,
    index: usize,
    (caches, room, position): (&mut Carver, Room, usize),
    tokens: &mut Tokens<E>,
    work: &mut Work<E>,
) -> Result<(), Error> {
    let (spec, tensors) = (blob.spec(), blob.table().decoder(blob.spec().encoder_blocks(), index));
    let Some(heads) = spec.decoder_block(index).map(|block| block.heads as usize) else { return Ok(()) };
    let mut kv = Kv::<E>::carve(caches, room, spec.d_model(), heads)?;
    let projections = KeysValues { tensors, key: Role::SelfK, value: Role::SelfV, heads };
    store_kv(engine, projections, tokens, position, &mut kv, work)?;
    let attention = Attention {
        tensors,
        query: Role::SelfQ,
        out: Role::SelfOut,
        norm: Role::SelfNorm,
        value_frac: tensors.out_frac(Role::SelfV)?,
        heads,
    };
    Ok(attend(engine, attention, spec.header(), tokens, &kv, position + 1, work)?)
}

/// Attention of block `index` to `source_len` source tokens, whose keys and values are there.
#[inline(never)]
fn attend_across<E: Engine>(
    engine: E,
    blob: &Blob,
    index: usize,
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
    };
    Ok(attend(engine, attention, spec.header(), tokens, &kv, source_len, work)?)
}
