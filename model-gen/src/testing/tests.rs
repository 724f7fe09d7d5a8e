use std::sync::Arc;

use super::*;
use crate::aligned::AlignedBytes;
use crate::import::spm::{PieceType, SpmModel};
use crate::import::{CheckpointDir, load_checkpoint};
use crate::pack::{Options, pack};
use crate::reference::Reference;
use latimer::{EngineKind, Limits, Model};

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
    let ended = outputs.iter().filter(|output| output.last() == Some(&0)).count();
    println!("{ended} of {} ended", outputs.len());
    assert!((1..outputs.len()).contains(&ended), "{ended} of {outputs:?} ended");
    assert!(distinct.len() > 9, "{outputs:?}");
    let ids: std::collections::BTreeSet<_> = outputs.iter().flatten().collect();
    assert!(ids.len() > 10 && !ids.contains(&76), "{ids:?}");
    for state in &reference.encode(&[2, 3, 4, 5, 0]) {
        let largest = state.data.iter().fold(0f32, |max, x| max.max(x.abs()));
        assert!((1.0..10.0).contains(&largest), "{largest}");
    }
}

/// Every piece of the vocabulary can come from the tokenizer, none of them under the id of its place in the file.
#[test]
fn spm_and_vocab_hold_the_same_pieces() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    let checkpoint = CheckpointDir::open(dir.path()).unwrap();
    let vocab = checkpoint.vocabularies(&checkpoint.config().unwrap()).unwrap().source;
    let model = SpmModel::parse("source.spm", &std::fs::read(checkpoint.source_spm()).unwrap()).unwrap();
    let texts: Vec<&str> = model.pieces.iter().map(|piece| str::from_utf8(piece.piece()).unwrap()).collect();
    let ids: std::collections::BTreeSet<u32> = texts.iter().filter_map(|text| vocab.id(text)).collect();
    assert_eq!((texts.len(), ids.len()), (77, 76));
    let in_place = texts.iter().zip(0..).filter(|(text, place)| vocab.id(text) == Some(*place)).count();
    assert!(in_place < 10, "{in_place} pieces stand in the place of their id");
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

/// The two sides differ in size, in the pieces they have and in the ids of those they share.
#[test]
fn a_target_vocabulary_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for tied_output in [true, false] {
        let spec = RandomSpec { target_vocab: Some(59), tied_output, ..RandomSpec::default() };
        write_random_checkpoint(dir.path(), &spec).unwrap();
        let checkpoint = load_checkpoint(dir.path()).unwrap();
        assert_eq!((checkpoint.source_embedding.rows, checkpoint.target_embedding.rows), (77, 59));
        assert_eq!(Arc::ptr_eq(&checkpoint.target_embedding, &checkpoint.output), tied_output);
        let vocabularies = CheckpointDir::open(dir.path()).unwrap().vocabularies(&checkpoint.config).unwrap();
        let (source, target) = (&vocabularies.source, &vocabularies.target);
        assert_eq!((source.pieces().len(), target.pieces().len(), target.id("<pad>")), (77, 59, Some(58)));
        let shared = target.pieces().iter().filter(|piece| source.id(piece).is_some()).count();
        let moved = target.pieces().iter().filter(|piece| source.id(piece) != target.id(piece)).count();
        assert!(shared > 40 && moved > 40, "{shared} shared, {moved} moved");
    }
}

/// Every rule of the character map, and the user-defined piece where a likelier way around it exists.
#[test]
fn a_rich_tokenizer_maps_characters_and_keeps_its_own_piece() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec { rich_tokenizer: true, ..RandomSpec::default() }).unwrap();
    let bytes = AlignedBytes::copy_of(&pack(dir.path(), &Options::new(EngineKind::Int8)).unwrap().bytes);
    let model = Model::from_bytes(&bytes).unwrap();
    let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT).unwrap());
    let mut translator = model.translator(&mut arena, Limits::DEFAULT).unwrap();
    let mut ids = |text: &str| translator.tokenize(text.as_bytes()).unwrap().to_vec();
    for (from, to) in charsmap::RULES {
        for (before, after) in [("", ""), ("x", "y"), ("A", "E"), ("\u{3001}", "\u{c1}")] {
            let mapped = |text: &str| text.replace("AE", "e").replace('A', "a");
            let (before, after) = if from.starts_with('A') { ("x", "y") } else { (before, after) };
            let wanted = ids(&format!("{}{to}{}", mapped(before), mapped(after)));
            assert_eq!(ids(&format!("{before}{from}{after}")), wanted, "{before}{from}{after}");
        }
    }
    let spm = SpmModel::parse("source.spm", &std::fs::read(dir.path().join("source.spm")).unwrap()).unwrap();
    let own: Vec<_> = spm.pieces.iter().filter(|piece| piece.r#type() == PieceType::UserDefined).collect();
    assert_eq!(own.len(), 1);
    let own = str::from_utf8(own[0].piece()).unwrap();
    let config = load_checkpoint(dir.path()).unwrap().config;
    let vocab = CheckpointDir::open(dir.path()).unwrap().vocabularies(&config).unwrap().source;
    let id = vocab.id(own).unwrap() as u16;
    for text in [own.to_owned(), format!("x{own}y"), format!("{own}{own}{own}")] {
        let count = ids(&text).iter().filter(|found| **found == id).count();
        assert_eq!(count, text.matches(own).count(), "{own} in {text}: {:?}", ids(&text));
    }
}
