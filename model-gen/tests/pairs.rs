//! Weights in pairs are the same numbers laid otherwise: a model gives the same logits with them as without.

mod common;

use common::{phrases, random_checkpoint, translate};
use latimer::blob::layout::{Role, SpecHeader};
use latimer::blob::tensor::dtype;
use latimer::kernel::layout::PAIR_COLUMNS;
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::pack::{Options, pack};
use model_gen::quantize::InputBits;
use model_gen::testing::RandomSpec;
use std::path::Path;

const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: 24, text_bytes: 200, beams: 1 };

fn packed(dir: &Path, dsp_pairs: bool) -> AlignedBytes {
    let mut options = Options { dsp_pairs, ..Options::new(EngineKind::Int8) };
    options.settings.bits = InputBits::all(8);
    AlignedBytes::copy_of(&pack(dir, &options).unwrap().bytes)
}

/// Roles and element types of the matrices.
fn matrices(model: &Model) -> Vec<(u8, u8)> {
    let entries = model.blob().tensors().map(|tensor| *tensor.entry());
    let matrices = entries.filter(|entry| !matches!(entry.dtype, dtype::NORM | dtype::STEPS));
    matrices.map(|entry| (entry.role, entry.dtype)).collect()
}

#[test]
fn pairs_change_no_logit() {
    let base = || RandomSpec { encoder_layers: 1, decoder_layers: 2, ..RandomSpec::default() };
    // The second feed-forward matrix can't lie in pairs in two of these: four divides not its columns, or they are too
    // many.
    for (d_model, heads, ffn, all) in
        [(20, 5, 24, true), (32, 2, 10, false), (12, 3, PAIR_COLUMNS, true), (12, 3, PAIR_COLUMNS + 4, false)]
    {
        let dir = random_checkpoint(&RandomSpec { d_model, heads, ffn, ..base() });
        let (plain, pairs) = (packed(dir.path(), false), packed(dir.path(), true));
        let (plain, pairs) = (Model::from_bytes(&plain).unwrap(), Model::from_bytes(&pairs).unwrap());
        assert!(matrices(&plain).iter().all(|&(_, dtype)| dtype == dtype::I8));
        let &SpecHeader { source_embedding, output, .. } = pairs.blob().spec().header();
        assert_eq!(source_embedding, output, "hidden states are made of rows in pairs too");
        for (role, dtype) in matrices(&pairs) {
            let wanted = if all || role != Role::Fc2 as u8 { dtype::I8_PAIRS } else { dtype::I8 };
            assert_eq!(dtype, wanted, "role {role} of {d_model} x {ffn}");
        }
        for phrase in phrases(12, 3) {
            let found = translate(&pairs, LIMITS, phrase.as_bytes()).unwrap();
            assert_eq!(found, translate(&plain, LIMITS, phrase.as_bytes()).unwrap(), "{d_model} x {ffn}: {phrase:?}");
        }
    }
}
