//! Beam search against the float reference's, and against golden outputs where they are there.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use latimer::{EngineKind, Error, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::import::load_checkpoint;
use model_gen::pack::{Options, pack};
use model_gen::reference::{BeamOptions, Reference};
use model_gen::testing::{RandomSpec, write_random_checkpoint};

const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: 24, text_bytes: 200, beams: 8 };

fn packed(checkpoint: &Path, engine: EngineKind) -> AlignedBytes {
    AlignedBytes::copy_of(&pack(checkpoint, &Options::new(engine)).unwrap().bytes)
}

fn sources() -> impl Iterator<Item = Vec<u16>> {
    (0..30).map(|n: u16| (0..=n % 13).map(|i| 2 + (7 * n + 11 * i) % 70).chain([0]).collect())
}

/// Random weights have logits that lie close together, so that roundings decide some; yet all but a few agree.
#[test]
fn f16_finds_what_the_reference_finds() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 1..4 {
        write_random_checkpoint(dir.path(), &RandomSpec { seed, ..RandomSpec::default() }).unwrap();
        let reference = Reference::new(Arc::new(load_checkpoint(dir.path()).unwrap()));
        let blob = packed(dir.path(), EngineKind::F16);
        let model = Model::from_bytes(&blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        translator.set_unknown_allowed(true);
        let (mut same, mut all) = (0, 0);
        for (beams, penalty) in [(2, 1.0), (3, 0.6), (4, 1.0), (8, 0.0), (5, 1.5)] {
            translator.set_beams(beams).unwrap();
            translator.set_length_penalty((penalty * 65536.0) as u32);
            for ids in sources() {
                translator.encode_ids(&ids, &mut ()).unwrap();
                translator.search(&mut ()).unwrap();
                let wide: Vec<u32> = ids.iter().map(|&id| id.into()).collect();
                let options = BeamOptions { beams, length_penalty: penalty, max_tokens: 24 };
                let wanted = reference.beam_search(&wide, &options);
                let found: Vec<u32> = translator.target_ids().iter().map(|&id| id.into()).collect();
                all += 1;
                // The reference may end with the first token; here only an empty text has an empty translation.
                if wanted.ids == [0] || wanted.ids == found {
                    same += 1;
                    if wanted.ids == found {
                        let score = translator.score().unwrap() as f32 / (1 << 24) as f32;
                        // The weights are rounded to f16.
                        assert!((score - wanted.score).abs() < 2e-2 * (1.0 - wanted.score), "{score} {}", wanted.score);
                    }
                }
                assert!(found.len() > 1 && !found.contains(&76), "neither empty nor pad: {found:?}");

                // All hypotheses differ, the best first; none is there that was not found.
                let (mut all_ids, mut scores) = (Vec::new(), Vec::new());
                for number in 0..translator.hypotheses() {
                    assert!(translator.choose_hypothesis(number));
                    all_ids.push(translator.target_ids().to_vec());
                    scores.push(translator.score().unwrap());
                }
                assert!((1..=beams).contains(&scores.len()) && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
                all_ids.sort();
                all_ids.dedup();
                assert_eq!(all_ids.len(), scores.len());
                assert!(!translator.choose_hypothesis(scores.len()));
            }
        }
        assert!(same * 100 >= all * 95, "seed {seed}: {same} of {all}");
    }
}

#[test]
fn one_beam_without_a_penalty_is_greedy_and_phrases_do_not_depend_on_each_other() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    for engine in [EngineKind::Int8, EngineKind::F16] {
        let blob = packed(dir.path(), engine);
        let model = Model::from_bytes(&blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
        arena.fill(0xa5);
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        translator.set_unknown_allowed(true);
        for ids in sources() {
            translator.encode_ids(&ids, &mut ()).unwrap();
            let (mut greedy, mut id) = (Vec::new(), model.start_id());
            for step in 0..24 {
                id = translator.step(id, &mut ()).unwrap();
                greedy.push(id);
                if id == model.eos_id() && step > 0 {
                    break;
                }
            }
            translator.set_beams(1).unwrap();
            translator.set_length_penalty(0);
            translator.search(&mut ()).unwrap();
            // Greedy may end at once, which a search does not.
            if greedy[0] != model.eos_id() {
                assert_eq!(translator.target_ids(), greedy, "{engine:?}");
            }
            // Again, after other numbers of beams have used the buffers.
            let mut found = Vec::new();
            for beams in [4, 8, 2, 4, 8, 2] {
                translator.set_beams(beams).unwrap();
                translator.search(&mut ()).unwrap();
                found.push(translator.target_ids().to_vec());
            }
            assert_eq!(found[..3], found[3..], "{engine:?}");
        }
        assert_eq!(translator.set_beams(0), Err(Error::Limits));
        assert_eq!(translator.set_beams(9), Err(Error::Limits));
        let greedy = Limits { beams: 1, ..LIMITS };
        for beams in [0, 9, u16::MAX] {
            assert_eq!(model.arena_len(Limits { beams, ..LIMITS }), Err(Error::Limits));
        }
        let mut arena = AlignedBytes::zeroed(model.arena_len(greedy).unwrap());
        let mut translator = model.translator(&mut arena, greedy).unwrap();
        assert_eq!(translator.set_beams(2), Err(Error::Limits));
        assert_eq!(translator.search(&mut ()), Err(Error::OutOfSteps));
    }
}

/// Four hypotheses of the f16 engine against the golden ones: at least 98 % are the same.
#[test]
fn golden_hypotheses() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let golden = shared.join("golden/en-es-nano/test.jsonl");
    let Ok(lines) = fs::read_to_string(&golden) else {
        println!("skipped: no {}", golden.display());
        return;
    };
    let all = std::env::var_os("LATIMER_WHOLE").is_some();
    let blob = packed(&shared.join("models/en-es-nano"), EngineKind::F16);
    let model = Model::from_bytes(&blob).unwrap();
    let limits = Limits { beams: 4, ..Limits::DEFAULT };
    assert!(model.arena_len(limits).unwrap() < 200 * 1024);
    let rows: Vec<serde_json::Value> =
        lines.lines().step_by(if all { 1 } else { 8 }).map(|line| serde_json::from_str(line).unwrap()).collect();
    let sources: Vec<&str> = rows.iter().map(|row| row["source"].as_str().unwrap()).collect();
    let found = model_gen::run::translate_all(&model, limits, 64, &sources, || {}).unwrap();
    let same = rows.iter().zip(found).filter(|(row, found)| {
        let found: Vec<u64> = found.as_ref().unwrap().target_ids.iter().map(|&id| id.into()).collect();
        row["beam4_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).eq(found)
    });
    let same = same.count();
    println!("{same} of {} hypotheses are the golden ones", rows.len());
    assert!(same * 100 >= rows.len() * 98, "{same} of {}", rows.len());
}

/// Room for four hypotheses at 64 source and 64 target tokens.
#[test]
fn four_hypotheses_fit_96_kib() {
    let checkpoint = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/en-es-nano");
    let blob = packed(&checkpoint, EngineKind::Int8);
    let model = Model::from_bytes(&blob).unwrap();
    let len = model.arena_len(Limits { beams: 4, ..Limits::DEFAULT }).unwrap();
    assert!(len <= 96 * 1024, "{len}");
}
