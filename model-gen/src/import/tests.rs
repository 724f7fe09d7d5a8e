//! What is imported is what runs.

use std::path::Path;
use std::sync::Arc;

use super::load_checkpoint;
use crate::aligned::AlignedBytes;
use crate::pack::{Options, pack};
use crate::reference::Reference;
use crate::testing::{RandomSpec, write_random_checkpoint};
use latimer::{EngineKind, Limits, Model};

/// Packs the checkpoint for both engines; each must choose the reference's ids, step by step after the same beginnings:
/// f16 nearly always, int8 mostly (random weights leave small margins).
pub(super) fn assert_engines_follow_the_reference(checkpoint: &Path) {
    let reference = Reference::new(Arc::new(load_checkpoint(checkpoint).unwrap()));
    let start = reference.checkpoint().config.decoder_start_token_id;
    for (engine, percent) in [(EngineKind::F16, 97), (EngineKind::Int8, 80)] {
        let bytes = AlignedBytes::copy_of(&pack(checkpoint, &Options::new(engine)).unwrap().bytes);
        let model = Model::from_bytes(&bytes).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT).unwrap());
        let mut translator = model.translator(&mut arena, Limits::DEFAULT).unwrap();
        let (mut same, mut all) = (0, 0);
        for text in ["a house", "the cat", "12 dogs", "yes?", "no, no", "where is it", "e", "tea or rat"] {
            let source: Vec<u32> = translator.tokenize(text.as_bytes()).unwrap().iter().map(|&id| id.into()).collect();
            translator.encode(&mut ()).unwrap();
            let wanted = reference.greedy(&source, 20);
            let mut previous = start;
            for &id in &wanted {
                same += usize::from(u32::from(translator.step(previous as u16, &mut ()).unwrap()) == id);
                previous = id;
            }
            all += wanted.len();
        }
        println!("{engine:?}: {same} of {all}");
        assert!(all > 40 && same * 100 >= all * percent, "{engine:?}: {same} of {all}");
    }
}

#[test]
fn every_activation_runs_as_in_the_reference() {
    for activation in ["relu", "swish", "gelu"] {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec { activation, ..RandomSpec::default() }).unwrap();
        assert_engines_follow_the_reference(dir.path());
    }
}
