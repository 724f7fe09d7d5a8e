//! The encoder: source ids to hidden states.

use crate::arena::{Carver, Kv, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{Attention, KeysValues, Tokens, attend, embed, feed_forward, store_kv};
use crate::observe::{Observer, Stage};

/// Embeds `ids` into `hidden` (`ids.len() x d_model`).
pub(crate) fn embed_source<E: Engine>(
    engine: E,
    blob: &Blob,
    ids: &[u16],
    hidden: &mut [E::Hidden],
    observer: &mut impl Observer,
) -> Result<(), Error> {
    let frac = embed(engine, blob, blob.spec().header().source_embedding, ids, (0, 1), hidden)?;
    show(0, &Tokens::<E> { frac, hidden }, blob.spec().d_model(), observer);
    Ok(())
}

/// Runs block `index` on `hidden`; `region` takes its keys and values.
pub(crate) fn run_block<E: Engine>(
    engine: E,
    blob: &Blob,
    index: usize,
    hidden: &mut [E::Hidden],
    region: &mut [u8],
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<(), Error> {
    let mut tokens = tokens_after::<E>(blob, index, hidden)?;
    block(engine, blob, index, &mut tokens, region, work)?;
    show(index + 1, &tokens, blob.spec().d_model(), observer);
    Ok(())
}

/// Hidden states that so many blocks have been run on.
pub(crate) fn tokens_after<'h, E: Engine>(
    blob: &Blob,
    blocks: usize,
    hidden: &'h mut [E::Hidden],
) -> Result<Tokens<'h, E>, Error> {
    let frac = match blocks.checked_sub(1) {
        None => blob.table().get(blob.spec().header().source_embedding)?.entry.embed_frac,
        Some(last) => blob.table().encoder(last).out_frac(Role::FinalNorm)?,
    };
    Ok(Tokens { frac, hidden })
}

/// One block, in place: keys and values of all tokens first, then all attend, then all feed forward; as many at a time as
/// the work buffers hold.
#[inline(never)]
fn block<E: Engine>(
    engine: E,
    blob: &Blob,
    index: usize,
    tokens: &mut Tokens<E>,
    region: &mut [u8],
    work: &mut Work<E>,
) -> Result<(), Error> {
    let (spec, tensors) = (blob.spec(), blob.table().encoder(index));
    let (header, d_model) = (spec.header(), spec.d_model().max(1));
    let Some(block) = spec.encoder_block(index) else { return Ok(()) };
    let (heads, count) = (block.heads as usize, tokens.hidden.len() / d_model);
    let mut kv = Kv::<E>::carve(&mut Carver::new(region), Room::exact(count), d_model, heads)?;

    let projections = KeysValues { tensors, key: Role::SelfK, value: Role::SelfV, d_model, heads };
    let together = work.tokens(d_model);
    let mut quantized = None;
    for (n, tokens) in tokens.parts(together, d_model).enumerate() {
        quantized = store_kv(engine, projections, &tokens, n * together, &mut kv, work)?;
    }
    let quantized = quantized.filter(|_| work.tokens(d_model + count) >= count);
    let attention = Attention::own(tensors, heads, quantized)?;
    // A token's scores lie beside its query.
    for mut tokens in tokens.parts(work.tokens(d_model + count), d_model) {
        attend(engine, attention, header, &mut tokens, &kv, count, work)?;
    }
    tokens.frac = tensors.out_frac(Role::SelfNorm)?;
    for mut tokens in tokens.parts(work.tokens((block.ffn as usize).max(d_model)), d_model) {
        feed_forward(engine, tensors, header, &block, &mut tokens, work)?;
    }
    tokens.frac = tensors.out_frac(Role::FinalNorm)?;
    Ok(())
}

fn show<E: Engine>(stage: usize, tokens: &Tokens<E>, d_model: usize, observer: &mut impl Observer) {
    for (position, row) in tokens.hidden.chunks_exact(d_model.max(1)).enumerate() {
        observer.hidden(Stage::Encoder(stage as u8), position, E::row(row, tokens.frac));
    }
}
