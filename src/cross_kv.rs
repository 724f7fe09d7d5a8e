//! Keys and values of every cross-attention: projected once a phrase, read at every step.

use crate::arena::{Carver, Kv, Work};
use crate::blob::Blob;
use crate::blob::layout::Role;
use crate::engine::{Engine, Room};
use crate::error::Error;
use crate::layer::{KeysValues, Tokens, store_kv};

/// Projects the encoder's output for every decoder block into `cross`.
pub(crate) fn project<E: Engine>(
    engine: E,
    blob: &Blob,
    tokens: &mut Tokens<E>,
    cross: &mut [u8],
    work: &mut Work<E>,
) -> Result<(), Error> {
    let (spec, tensors) = (blob.spec(), blob.table());
    let d_model = spec.d_model().max(1);
    let mut carver = Carver::new(cross);
    for i in 0..spec.decoder_blocks() {
        let Some(block) = spec.decoder_block(i) else { break };
        let heads = block.heads as usize;
        let tensors = tensors.decoder(spec.encoder_blocks(), i);
        let mut kv = Kv::<E>::carve(&mut carver, Room::exact(tokens.hidden.len() / d_model), d_model, heads)?;
        let projections = KeysValues { tensors, key: Role::CrossK, value: Role::CrossV, d_model, heads };
        let together = work.tokens(d_model);
        for (n, tokens) in tokens.parts(together, d_model).enumerate() {
            store_kv(engine, projections, &tokens, n * together, &mut kv, work)?;
        }
    }
    Ok(())
}
