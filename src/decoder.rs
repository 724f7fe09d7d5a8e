//! One decoder step: a target id in, logits out.

use crate::arena::{Carver, Kv, Limits, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{Attention, FeedForward, Tokens, attend, feed_forward, store_kv};
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
    let (spec, tensors) = (blob.spec(), blob.table());
    let header = spec.header();
    let d_model = spec.d_model();
    let table = tensors.get(header.target_embedding)?;
    let steps = tensors.get(header.positions)?;
    // The token's hidden state leaves the work buffers while blocks use the others.
    let hidden = core::mem::take(&mut work.hidden);
    engine.embed(&table, &steps, id, position as u16, hidden);
    let mut tokens = Tokens { hidden, frac: table.entry.embed_frac };
    observer.hidden(Stage::Decoder(0), position, E::row(tokens.hidden, tokens.frac));

    let mut own = Carver::new(caches.own);
    let mut cross = Carver::new(caches.cross);
    for i in 0..spec.decoder_blocks() {
        let Some(block) = spec.decoder_block(i) else { break };
        let heads = block.heads as usize;
        let role = |role| tensors.decoder(spec.encoder_blocks(), i, role);
        let mut own = Kv::<E>::carve(&mut own, Room::up_to(caches.limits.target_tokens as usize), d_model, heads)?;
        let cross = Kv::<E>::carve(&mut cross, Room::exact(caches.source_len), d_model, heads)?;

        let [key, value] = [role(Role::SelfK)?, role(Role::SelfV)?];
        store_kv(engine, [&key, &value], heads, &tokens, position, &mut own, work);
        let own_attention = Attention {
            query: role(Role::SelfQ)?,
            out: role(Role::SelfOut)?,
            norm: role(Role::SelfNorm)?,
            value_frac: value.entry.out_frac,
            heads,
        };
        attend(engine, &own_attention, header, &mut tokens, &own, position + 1, work);
        let cross_attention = Attention {
            query: role(Role::CrossQ)?,
            out: role(Role::CrossOut)?,
            norm: role(Role::CrossNorm)?,
            value_frac: role(Role::CrossV)?.entry.out_frac,
            heads,
        };
        attend(engine, &cross_attention, header, &mut tokens, &cross, caches.source_len, work);
        let layers = FeedForward { fc1: role(Role::Fc1)?, fc2: role(Role::Fc2)?, norm: role(Role::FinalNorm)? };
        feed_forward(engine, &layers, header, &block, &mut tokens, work);
        observer.hidden(Stage::Decoder(i as u8 + 1), position, E::row(tokens.hidden, tokens.frac));
    }

    let output = tensors.get(header.output)?;
    let input = work.input.get_mut(..d_model).unwrap_or_default();
    let scale = engine.input_of_hidden(&output, tokens.hidden, tokens.frac, input);
    let mut best = Best::new(header.pad_id);
    engine.logits(&output, input, scale, |first, logits: Logits<'_>| {
        observer.logits(position, first, logits);
        best.offer(first, logits);
    });
    Ok(best.id().unwrap_or(header.eos_id))
}
