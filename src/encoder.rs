//! The encoder: source ids to hidden states.

use crate::arena::{Carver, Kv, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{Attention, FeedForward, Tokens, attend, feed_forward, store_kv};
use crate::observe::{Observer, Stage};

/// Encodes `ids` into `hidden` (`ids.len() x d_model`); returns the hidden states' fraction bits.
///
/// `region` takes the keys and values of one block after the other. Within a block: those of all tokens first, then all
/// attend, then all feed forward, in place; as many at a time as the work buffers hold.
pub(crate) fn encode<E: Engine>(
    engine: E,
    blob: &Blob,
    ids: &[u16],
    hidden: &mut [E::Hidden],
    region: &mut [u8],
    work: &mut Work<E>,
    observer: &mut impl Observer,
) -> Result<i8, Error> {
    let (spec, tensors) = (blob.spec(), blob.table());
    let header = spec.header();
    let d_model = spec.d_model();
    let table = tensors.get(header.source_embedding)?;
    let steps = tensors.get(header.positions)?;
    for (position, (&id, row)) in ids.iter().zip(hidden.chunks_exact_mut(d_model)).enumerate() {
        engine.embed(&table, &steps, id, position as u16, row);
    }
    let mut frac = table.entry.embed_frac;
    show::<E>(0, hidden, frac, d_model, observer);

    for i in 0..spec.encoder_blocks() {
        let Some(block) = spec.encoder_block(i) else { break };
        let heads = block.heads as usize;
        let mut kv = Kv::<E>::carve(&mut Carver::new(&mut *region), Room::exact(ids.len()), d_model, heads)?;
        let [key, value] = [tensors.encoder(i, Role::SelfK)?, tensors.encoder(i, Role::SelfV)?];
        let attention = Attention {
            query: tensors.encoder(i, Role::SelfQ)?,
            out: tensors.encoder(i, Role::SelfOut)?,
            norm: tensors.encoder(i, Role::SelfNorm)?,
            value_frac: value.entry.out_frac,
            heads,
        };
        let layers = FeedForward {
            fc1: tensors.encoder(i, Role::Fc1)?,
            fc2: tensors.encoder(i, Role::Fc2)?,
            norm: tensors.encoder(i, Role::FinalNorm)?,
        };
        let together = work.tokens(d_model);
        for (n, hidden) in hidden.chunks_mut(together * d_model).enumerate() {
            store_kv(engine, [&key, &value], heads, &Tokens { hidden, frac }, n * together, &mut kv, work);
        }
        // A token's scores lie beside its query.
        for hidden in hidden.chunks_mut(work.tokens(d_model + ids.len()) * d_model) {
            attend(engine, &attention, header, &mut Tokens { hidden, frac }, &kv, ids.len(), work);
        }
        let frac_between = attention.norm.entry.out_frac;
        for hidden in hidden.chunks_mut(work.tokens(layers.fc1.rows().max(d_model)) * d_model) {
            let mut tokens = Tokens { hidden, frac: frac_between };
            feed_forward(engine, &layers, header, &block, &mut tokens, work);
        }
        frac = layers.norm.entry.out_frac;
        show::<E>(i + 1, hidden, frac, d_model, observer);
    }
    Ok(frac)
}

fn show<E: Engine>(stage: usize, hidden: &[E::Hidden], frac: i8, d_model: usize, observer: &mut impl Observer) {
    for (position, row) in hidden.chunks_exact(d_model.max(1)).enumerate() {
        observer.hidden(Stage::Encoder(stage as u8), position, E::row(row, frac));
    }
}
