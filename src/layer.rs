//! Sublayers that encoder and decoder blocks share: project keys and values, attend, feed forward. Each takes a block
//! of tokens; the decoder's block is one token. They are not inlined, or each observer would have a copy.

use crate::arena::{Kv, Work};
use crate::blob::Tensor;
use crate::blob::layout::{Block, SpecHeader};
use crate::engine::{AttendScratch, Cached, Engine, Place, Side};

/// Hidden states of a block of tokens, with their format.
pub(crate) struct Tokens<'t, E: Engine> {
    pub hidden: &'t mut [E::Hidden],
    pub frac: i8,
}

/// An attention's output side: query, output projection, norm.
pub(crate) struct Attention<'a> {
    pub query: Tensor<'a>,
    pub out: Tensor<'a>,
    pub norm: Tensor<'a>,
    /// Fraction bits of the values' projection.
    pub value_frac: i8,
    pub heads: usize,
}

/// A block's feed-forward layers.
pub(crate) struct FeedForward<'a> {
    pub fc1: Tensor<'a>,
    pub fc2: Tensor<'a>,
    pub norm: Tensor<'a>,
}

/// Quantizes each token's hidden state as the input of `linear` and multiplies.
fn project<E: Engine>(engine: E, linear: &Tensor, tokens: &Tokens<E>, d_model: usize, work: &mut Work<E>) {
    quantize(engine, linear, tokens, d_model, work);
    multiply(engine, linear, tokens.hidden.len() / d_model.max(1), work);
}

/// Each token's hidden state as the input of `linear`, and of any linear whose inputs have as many bits.
fn quantize<E: Engine>(engine: E, linear: &Tensor, tokens: &Tokens<E>, d_model: usize, work: &mut Work<E>) {
    let width = d_model.max(1);
    let rows = tokens.hidden.chunks_exact(width).zip(work.input.chunks_exact_mut(width));
    for (i, (hidden, input)) in rows.enumerate() {
        let scale = engine.input_of_hidden(linear, hidden, tokens.frac, input);
        set(work.scales, i, scale);
    }
}

/// Quantizes each token's `work.wide` as the input of `linear` and multiplies.
fn project_wide<E: Engine>(engine: E, linear: &Tensor, frac: i8, count: usize, work: &mut Work<E>) {
    let cols = linear.cols().max(1);
    let rows = work.wide.chunks_exact(cols).zip(work.input.chunks_exact_mut(cols)).take(count);
    for (i, (wide, input)) in rows.enumerate() {
        let scale = engine.input_of_wide(linear, wide, frac, input);
        set(work.scales, i, scale);
    }
    multiply(engine, linear, count, work);
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

/// Projects the tokens' keys and values and stores them from `position` on.
#[inline(never)]
pub(crate) fn store_kv<E: Engine>(
    engine: E,
    [key, value]: [&Tensor; 2],
    heads: usize,
    tokens: &Tokens<E>,
    position: usize,
    kv: &mut Kv<E>,
    work: &mut Work<E>,
) {
    let d_model = key.rows().max(1);
    let count = tokens.hidden.len() / d_model;
    let mut quantized = None;
    for (side, linear, rows, scales) in [
        (Side::Keys, key, &mut *kv.keys, &mut *kv.key_scales),
        (Side::Values, value, &mut *kv.values, &mut *kv.value_scales),
    ] {
        let bits = Some(linear.entry.in_bits);
        if quantized != bits {
            quantize(engine, linear, tokens, d_model, work);
            quantized = bits;
        }
        multiply(engine, linear, count, work);
        for (i, wide) in work.wide.chunks_exact(d_model).take(count).enumerate() {
            let place = Place { side, position: position + i, room: kv.room };
            engine.store(wide, linear.entry.out_frac, heads, place, rows, scales);
        }
    }
}

/// Attention of each token over the first `visible` positions, output projection, residual and norm.
#[inline(never)]
pub(crate) fn attend<E: Engine>(
    engine: E,
    attention: &Attention,
    spec: &SpecHeader,
    tokens: &mut Tokens<E>,
    kv: &Kv<E>,
    visible: usize,
    work: &mut Work<E>,
) {
    let d_model = (spec.d_model as usize).max(1);
    let count = tokens.hidden.len() / d_model;
    project(engine, &attention.query, tokens, d_model, work);
    let keys = Cached { rows: kv.keys, scales: kv.key_scales, room: kv.room, visible };
    let values = Cached { rows: kv.values, scales: kv.value_scales, room: kv.room, visible };
    // The inputs of the query's projection are done with, and so is what of its output no token needs.
    let (queries, scores) = work.wide.split_at_mut_checked(count * d_model).unwrap_or_default();
    let mut scratch = AttendScratch { scores, inputs: work.input };
    let frac = attention.query.entry.out_frac;
    engine.attend(queries, d_model, frac, keys, values, attention.value_frac, attention.heads, &mut scratch);
    project_wide(engine, &attention.out, attention.value_frac, count, work);
    add_norm(engine, &attention.norm, spec, tokens, attention.out.entry.out_frac, work);
}

/// Feed-forward layers, residual and norm.
#[inline(never)]
pub(crate) fn feed_forward<E: Engine>(
    engine: E,
    layers: &FeedForward,
    spec: &SpecHeader,
    block: &Block,
    tokens: &mut Tokens<E>,
    work: &mut Work<E>,
) {
    let d_model = (spec.d_model as usize).max(1);
    let count = tokens.hidden.len() / d_model;
    project(engine, &layers.fc1, tokens, d_model, work);
    let frac = layers.fc1.entry.out_frac;
    let wide = work.wide.get_mut(..count * layers.fc1.rows()).unwrap_or_default();
    engine.activate(wide, frac, block);
    project_wide(engine, &layers.fc2, frac, count, work);
    add_norm(engine, &layers.norm, spec, tokens, layers.fc2.entry.out_frac, work);
}

fn add_norm<E: Engine>(
    engine: E,
    norm: &Tensor,
    spec: &SpecHeader,
    tokens: &mut Tokens<E>,
    wide_frac: i8,
    work: &mut Work<E>,
) {
    let d_model = (spec.d_model as usize).max(1);
    let rows = tokens.hidden.chunks_exact_mut(d_model).zip(work.wide.chunks_exact_mut(d_model));
    for (hidden, wide) in rows {
        engine.add_norm(norm, spec, hidden, tokens.frac, wide, wide_frac);
    }
    tokens.frac = norm.entry.out_frac;
}
