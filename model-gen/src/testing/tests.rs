use std::sync::Arc;

use super::*;
use crate::import::{CheckpointDir, load_checkpoint};
use crate::reference::Reference;

#[test]
fn imports_and_translates_to_more_than_one_thing() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    let checkpoint = load_checkpoint(dir.path()).unwrap();
    let vocabularies = CheckpointDir::open(dir.path()).unwrap().vocabularies(&checkpoint.config).unwrap();
    assert_eq!(vocabularies.source.pieces().len(), 77);
    assert_eq!((vocabularies.source.id("</s>"), vocabularies.source.id("<pad>")), (Some(0), Some(76)));
    let reference = Reference::new(Arc::new(checkpoint));
    let outputs: Vec<_> = (2..20).map(|id| reference.greedy(&[id, id + 30, id + 7, 0], 24)).collect();
    let distinct: std::collections::BTreeSet<_> = outputs.iter().collect();
    outputs.iter().for_each(|o| println!("{o:?}"));
    assert!(distinct.len() > 9, "{outputs:?}");
    let ids: std::collections::BTreeSet<_> = outputs.iter().flatten().collect();
    assert!(ids.len() > 15 && !ids.contains(&76), "{ids:?}");
    for state in &reference.encode(&[2, 3, 4, 5, 0]) {
        let largest = state.data.iter().fold(0f32, |max, x| max.max(x.abs()));
        assert!((1.0..10.0).contains(&largest), "{largest}");
    }
}

#[test]
fn a_seed_is_a_checkpoint() {
    let bytes = |seed| {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec { seed, ..RandomSpec::default() }).unwrap();
        ["model.safetensors", "source.spm", "vocab.json"].map(|name| std::fs::read(dir.path().join(name)).unwrap())
    };
    assert_eq!(bytes(5), bytes(5));
    assert_ne!(bytes(5)[0], bytes(6)[0]);
}

#[test]
fn tiny_vocabularies_and_odd_widths_work() {
    let dir = tempfile::tempdir().unwrap();
    let spec =
        RandomSpec { d_model: 7, heads: 1, vocab: 8, encoder_layers: 1, decoder_layers: 1, ..RandomSpec::default() };
    write_random_checkpoint(dir.path(), &spec).unwrap();
    let reference = Reference::new(Arc::new(load_checkpoint(dir.path()).unwrap()));
    assert!(!reference.greedy(&[3, 0], 4).is_empty());
}
