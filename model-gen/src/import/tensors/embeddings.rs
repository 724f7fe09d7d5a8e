//! The three vocabulary matrices and how they are tied.
//!
//! safetensors refuses two keys for one storage, so which name a tied matrix goes by depends on who saved it; copies
//! under several names are accepted when they are equal.

use std::sync::Arc;

use super::reader::Reader;
use crate::import::checkpoint::Matrix;
use crate::import::config::Config;

const SHARED: &str = "model.shared.weight";
const ENCODER: &str = "model.encoder.embed_tokens.weight";
const DECODER: &str = "model.decoder.embed_tokens.weight";
const OUTPUT: &str = "lm_head.weight";

pub(super) struct Embeddings {
    pub(super) source: Arc<Matrix>,
    pub(super) target: Arc<Matrix>,
    pub(super) output: Arc<Matrix>,
}

pub(super) fn read(reader: &mut Reader, config: &Config) -> Embeddings {
    let d_model = config.d_model;
    let mut any = |keys: &[&str], rows| Arc::new(any_of(reader, keys, rows, d_model));
    let (source_rows, target_rows) = (config.vocab_size, config.decoder_vocab_size);
    let (source, target) = match (config.share_encoder_decoder_embeddings, config.tie_word_embeddings) {
        (true, tied) => {
            let names = [SHARED, ENCODER, DECODER, OUTPUT];
            let shared = any(if tied { &names } else { &names[..3] }, source_rows);
            (Arc::clone(&shared), shared)
        }
        (false, true) => (any(&[ENCODER], source_rows), any(&[DECODER, OUTPUT], target_rows)),
        (false, false) => (any(&[ENCODER], source_rows), any(&[DECODER], target_rows)),
    };
    let output = if config.tie_word_embeddings { Arc::clone(&target) } else { any(&[OUTPUT], target_rows) };
    // A copy is the same matrix, whatever config.json says.
    let output = if output == target { Arc::clone(&target) } else { output };
    Embeddings { source, target, output }
}

/// The matrix that goes by one or several of `keys`; the first is the one to name when there is none.
fn any_of(reader: &mut Reader, keys: &[&str], rows: usize, cols: usize) -> Matrix {
    let mut present = keys.iter().copied().filter(|key| reader.contains(key)).collect::<Vec<_>>().into_iter();
    let first = present.next().unwrap_or(keys[0]);
    let data = reader.required(first, &[rows, cols]);
    for key in present {
        // An empty `data` was a problem already.
        if reader.optional(key, &[rows, cols]).is_some_and(|copy| copy != data && !data.is_empty()) {
            reader.problem(
                key,
                &format!("found values other than those of {first}, wanted a copy: config.json ties them"),
            );
        }
    }
    Matrix { rows, cols, data }
}
