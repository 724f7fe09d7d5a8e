//! Sublayers that encoder and decoder blocks share: project keys and values, attend, feed forward. Each takes a block
//! of tokens; the decoder's block is a token of each beam.
//!
//! What has a tensor or scratch of its own is not inlined: a stack holds one of them at a time, and observers have no
//! copies.

use crate::arena::{Kv, Slots, Work};
use crate::blob::layout::{Block, Role, SpecHeader};
use crate::blob::{Blob, BlockTensors, Tensor};
use crate::engine::{AttendScratch, Cached, Engine, Place, Side, Watched};
use crate::error::{BlobError, Error};

/// Hidden states of a block of tokens, with their format.
pub(crate) struct Tokens<'t, E: Engine> {
    pub hidden: &'t mut [E::Hidden],
    pub frac: i8,
}

impl<'t, E: Engine> Tokens<'t, E> {
    /// As many as `count` at a time.
    pub fn parts(&mut self, count: usize, d_model: usize) -> impl Iterator<Item = Tokens<'_, E>> {
        let frac = self.frac;
        self.hidden.chunks_mut((count * d_model).max(1)).map(move |hidden| Tokens { hidden, frac })
    }
}

/// An attention's key and value side: which tensors of the block they are.
#[derive(Clone, Copy)]
pub(crate) struct KeysValues<'t, 'a> {
    pub tensors: BlockTensors<'t, 'a>,
    pub key: Role,
    pub value: Role,
    pub d_model: usize,
    pub heads: usize,
}

/// An attention's query and output side.
#[derive(Clone, Copy)]
pub(crate) struct Attention<'t, 'a> {
    pub tensors: BlockTensors<'t, 'a>,
    pub query: Role,
    pub out: Role,
    pub norm: Role,
    /// Fraction bits of the values' projection.
    pub value_frac: i8,
    pub heads: usize,
    /// Bits of the inputs that lie quantized in the work buffers, those of all the tokens: queries are projected from what keys
    /// and values were.
    pub quantized: Option<u8>,
    /// A head whose most attended positions go to the work buffers' `peaks`.
    pub watched: Option<u8>,
}

impl<'t, 'a> Attention<'t, 'a> {
    /// A block's attention to its own tokens.
    pub fn own(tensors: BlockTensors<'t, 'a>, heads: usize, quantized: Option<u8>) -> Result<Self, BlobError> {
        let value_frac = tensors.out_frac(Role::SelfV)?;
        let (query, out, norm) = (Role::SelfQ, Role::SelfOut, Role::SelfNorm);
        Ok(Attention { tensors, query, out, norm, value_frac, heads, quantized, watched: None })
    }
}

/// Embeds each token's id at its position, which are the first and the step from one to the next; the fraction bits of the
/// hidden states.
#[inline(never)]
pub(crate) fn embed<E: Engine>(
    engine: E,
    blob: &Blob,
    table: u32,
    ids: &[u16],
    (mut position, step): (usize, usize),
    hidden: &mut [E::Hidden],
) -> Result<i8, BlobError> {
    let table = blob.table().get(table)?;
    let steps = blob.table().get(blob.spec().header().positions)?;
    for (&id, out) in ids.iter().zip(hidden.chunks_exact_mut(blob.spec().d_model().max(1))) {
        engine.embed(&table, &steps, id, position as u16, out);
        position += step;
    }
    Ok(table.entry.embed_frac)
}

/// Quantizes each token's hidden state as the input of a linear, unless it lies quantized to as many bits, and multiplies; the
/// fraction bits of what comes out.
#[inline(never)]
fn project<E: Engine>(
    engine: E,
    tensors: BlockTensors,
    role: Role,
    tokens: &Tokens<E>,
    quantized: &mut Option<u8>,
    work: &mut Work<E>,
) -> Result<i8, BlobError> {
    let linear = tensors.get(role)?;
    let bits = Some(linear.entry.in_bits);
    if *quantized != bits {
        quantize(engine, &linear, tokens, work);
        *quantized = bits;
    }
    multiply(engine, &linear, tokens.hidden.len() / linear.cols().max(1), work);
    Ok(linear.entry.out_frac)
}

/// Each token's hidden state as the input of `linear`, and of any linear whose inputs have as many bits.
#[inline(never)]
pub(crate) fn quantize<E: Engine>(engine: E, linear: &Tensor, tokens: &Tokens<E>, work: &mut Work<E>) {
    let width = linear.cols().max(1);
    let rows = tokens.hidden.chunks_exact(width).zip(work.input.chunks_exact_mut(width));
    for (i, (hidden, input)) in rows.enumerate() {
        let scale = engine.input_of_hidden(linear, hidden, tokens.frac, input);
        set(work.scales, i, scale);
    }
}

/// Quantizes each token's `work.wide` as the input of a linear and multiplies; the fraction bits of what comes out.
#[inline(never)]
fn project_wide<E: Engine>(
    engine: E,
    tensors: BlockTensors,
    role: Role,
    frac: i8,
    count: usize,
    work: &mut Work<E>,
) -> Result<i8, BlobError> {
    let linear = &tensors.get(role)?;
    let cols = linear.cols().max(1);
    let rows = work.wide.chunks_exact(cols).zip(work.input.chunks_exact_mut(cols)).take(count);
    for (i, (wide, input)) in rows.enumerate() {
        let scale = engine.input_of_wide(linear, wide, frac, input);
        set(work.scales, i, scale);
    }
    multiply(engine, linear, count, work);
    Ok(linear.entry.out_frac)
}

fn multiply<E: Engine>(engine: E, linear: &Tensor, count: usize, work: &mut Work<E>) {
    let input = work.input.get(..count * linear.cols()).unwrap_or_default();
    let out = work.wide.get_mut(..count * linear.rows()).unwrap_or_default();
    engine.linear(linear, input, work.scales, out);
}

/// An engine without scales has none to set.
fn set<T>(slots: &mut [T], i: usize, value: T) {
    if let Some(slot) = slots.get_mut(i) {
        *slot = value;
    }
}

/// Projects the tokens' keys and values and stores them from `position` on; the bits of the tokens' inputs, which lie quantized.
#[inline(never)]
pub(crate) fn store_kv<E: Engine>(
    engine: E,
    KeysValues { tensors, key, value, d_model, heads }: KeysValues,
    tokens: &Tokens<E>,
    position: usize,
    kv: &mut Kv<E>,
    work: &mut Work<E>,
) -> Result<Option<u8>, BlobError> {
    let (d_model, mut quantized) = (d_model.max(1), None);
    for (side, role, rows, scales) in [
        (Side::Keys, key, &mut *kv.keys, &mut *kv.key_scales),
        (Side::Values, value, &mut *kv.values, &mut *kv.value_scales),
    ] {
        let frac = project(engine, tensors, role, tokens, &mut quantized, work)?;
        let count = tokens.hidden.len() / d_model;
        for (i, wide) in work.wide.chunks_exact(d_model).take(count).enumerate() {
            let place = Place { side, position: position + i, room: kv.room };
            engine.store(wide, frac, heads, place, rows, scales);
        }
    }
    Ok(quantized)
}

/// Projects the key and value of each beam's token and stores them at `position` of the beam's own; the bits of the tokens'
/// inputs, which lie quantized.
#[inline(never)]
pub(crate) fn store_own<E: Engine>(
    engine: E,
    KeysValues { tensors, key, value, d_model, heads }: KeysValues,
    tokens: &Tokens<E>,
    position: usize,
    slots: &mut Slots,
    work: &mut Work<E>,
) -> Result<Option<u8>, Error> {
    let (d_model, mut quantized) = (d_model.max(1), None);
    for (side, role) in [(Side::Keys, key), (Side::Values, value)] {
        let frac = project(engine, tensors, role, tokens, &mut quantized, work)?;
        let count = tokens.hidden.len() / d_model;
        for (beam, wide) in work.wide.chunks_exact(d_model).take(count).enumerate() {
            let kv = slots.kv::<E>(beam)?;
            let place = Place { side, position, room: kv.room };
            let (rows, scales) = match side {
                Side::Keys => (kv.keys, kv.key_scales),
                Side::Values => (kv.values, kv.value_scales),
            };
            engine.store(wide, frac, heads, place, rows, scales);
        }
    }
    Ok(quantized)
}

/// Attention of each token over the first `visible` positions, output projection, residual and norm.
#[inline(never)]
pub(crate) fn attend<E: Engine>(
    engine: E,
    attention: Attention,
    spec: &SpecHeader,
    tokens: &mut Tokens<E>,
    kv: &Kv<E>,
    visible: usize,
    work: &mut Work<E>,
) -> Result<(), BlobError> {
    let tensors = attention.tensors;
    let d_model = (spec.d_model as usize).max(1);
    let count = tokens.hidden.len() / d_model;
    let frac = project(engine, tensors, attention.query, tokens, &mut { attention.quantized }, work)?;
    look_up(engine, attention, frac, [0, count * d_model, count * d_model, d_model], kv, visible, work);
    let frac = project_wide(engine, tensors, attention.out, attention.value_frac, count, work)?;
    add_norm(engine, tensors, attention.norm, spec, tokens, frac, work)
}

/// The same of each beam's token over its own keys and values.
#[inline(never)]
pub(crate) fn attend_own<E: Engine>(
    engine: E,
    attention: Attention,
    spec: &SpecHeader,
    tokens: &mut Tokens<E>,
    slots: &mut Slots,
    visible: usize,
    work: &mut Work<E>,
) -> Result<(), Error> {
    let tensors = attention.tensors;
    let d_model = (spec.d_model as usize).max(1);
    let count = tokens.hidden.len() / d_model;
    let frac = project(engine, tensors, attention.query, tokens, &mut { attention.quantized }, work)?;
    for beam in 0..count {
        let kv = slots.kv::<E>(beam)?;
        let queries = [beam * d_model, (beam + 1) * d_model, count * d_model, d_model];
        look_up(engine, attention, frac, queries, &kv, visible, work);
    }
    let frac = project_wide(engine, tensors, attention.out, attention.value_frac, count, work)?;
    Ok(add_norm(engine, tensors, attention.norm, spec, tokens, frac, work)?)
}

/// Some queries, of `frac` fraction bits, to contexts, in `work.wide`: from where to where they lie, where all end.
#[inline(never)]
fn look_up<E: Engine>(
    engine: E,
    attention: Attention,
    frac: i8,
    [start, end, all, d_model]: [usize; 4],
    kv: &Kv<E>,
    visible: usize,
    work: &mut Work<E>,
) {
    let keys = Cached { rows: kv.keys, scales: kv.key_scales, room: kv.room, visible };
    let values = Cached { rows: kv.values, scales: kv.value_scales, room: kv.room, visible };
    // The inputs of the query's projection are done with, and so is what of its output no token needs.
    let (queries, scores) = work.wide.split_at_mut_checked(all).unwrap_or_default();
    let queries = queries.get_mut(start..end).unwrap_or_default();
    let watched = attention.watched.map(|head| Watched { head: head as usize, positions: &mut work.peaks });
    let mut scratch = AttendScratch { scores, inputs: work.input, watched };
    engine.attend(queries, d_model, frac, keys, values, attention.value_frac, attention.heads, &mut scratch);
}

/// Feed-forward layers, residual and norm.
#[inline(never)]
pub(crate) fn feed_forward<E: Engine>(
    engine: E,
    tensors: BlockTensors,
    spec: &SpecHeader,
    block: &Block,
    tokens: &mut Tokens<E>,
    work: &mut Work<E>,
) -> Result<(), BlobError> {
    let count = tokens.hidden.len() / (spec.d_model as usize).max(1);
    let frac = project(engine, tensors, Role::Fc1, tokens, &mut None, work)?;
    let wide = work.wide.get_mut(..count * block.ffn as usize).unwrap_or_default();
    engine.activate(wide, frac, block);
    let frac = project_wide(engine, tensors, Role::Fc2, frac, count, work)?;
    add_norm(engine, tensors, Role::FinalNorm, spec, tokens, frac, work)
}

#[inline(never)]
fn add_norm<E: Engine>(
    engine: E,
    tensors: BlockTensors,
    role: Role,
    spec: &SpecHeader,
    tokens: &mut Tokens<E>,
    wide_frac: i8,
    work: &mut Work<E>,
) -> Result<(), BlobError> {
    let norm = &tensors.get(role)?;
    let d_model = (spec.d_model as usize).max(1);
    let rows = tokens.hidden.chunks_exact_mut(d_model).zip(work.wide.chunks_exact_mut(d_model));
    for (hidden, wide) in rows {
        engine.add_norm(norm, spec, hidden, tokens.frac, wide, wide_frac);
    }
    tokens.frac = norm.entry.out_frac;
    Ok(())
}
