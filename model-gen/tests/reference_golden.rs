//! The float reference against what transformers gives for the same checkpoint.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model_gen::import::load_checkpoint;
use model_gen::reference::{BeamOptions, Reference};
use rayon::prelude::*;
use safetensors::SafeTensors;
use serde::Deserialize;

/// Relative L2 distance allowed at every layer: two f32 implementations that sum in different orders.
const TOLERANCE: f64 = 1e-4;

/// transformers' `max_length` of 64 counts the start token.
const MAX_TOKENS: usize = 63;

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn reference() -> Option<Reference> {
    let dir = shared("models/en-es-nano")?;
    Some(Reference::new(Arc::new(load_checkpoint(&dir).expect("the shared checkpoint imports"))))
}

struct Hidden<'a>(SafeTensors<'a>);

impl Hidden<'_> {
    fn ids(&self, key: &str) -> Vec<u32> {
        self.0.tensor(key).unwrap().data().as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }

    fn floats(&self, key: &str) -> Vec<f32> {
        self.0.tensor(key).unwrap().data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
}

fn assert_close(key: &str, found: &[f32], wanted: &[f32]) -> f64 {
    assert_eq!(found.len(), wanted.len(), "{key}");
    let square = |x: f64| x * x;
    let distance: f64 = found.iter().zip(wanted).map(|(a, b)| square(f64::from(a - b))).sum();
    let norm: f64 = wanted.iter().map(|x| square(f64::from(*x))).sum();
    let relative = (distance / norm).sqrt();
    assert!(relative < TOLERANCE, "{key}: relative L2 distance {relative:e}");
    relative
}

#[test]
fn hidden_states_and_logits_at_every_layer() {
    let (Some(reference), Some(path)) = (reference(), shared("golden/en-es-nano/hidden.safetensors")) else { return };
    let bytes = std::fs::read(path).unwrap();
    let hidden = Hidden(SafeTensors::deserialize(&bytes).unwrap());
    let mut worst = 0f64;
    let mut compared = 0;
    for phrase in (0..).take_while(|n| hidden.0.tensor(&format!("{n}.input_ids")).is_ok()) {
        let mut check = |key: String, found: &[f32]| {
            worst = worst.max(assert_close(&key, found, &hidden.floats(&key)));
            compared += 1;
        };
        let states = reference.encode(&hidden.ids(&format!("{phrase}.input_ids")));
        for (layer, state) in states.iter().enumerate() {
            check(format!("{phrase}.encoder.{layer}"), &state.data);
        }
        let mut decoder = reference.decoder(states.last().unwrap());
        let ids = hidden.ids(&format!("{phrase}.decoder_input_ids"));
        let steps: Vec<_> = ids.iter().map(|id| decoder.step(*id)).collect();
        for layer in 0..steps[0].states.len() {
            let rows: Vec<f32> = steps.iter().flat_map(|step| step.states[layer].iter().copied()).collect();
            check(format!("{phrase}.decoder.{layer}"), &rows);
        }
        let logits: Vec<f32> = steps.iter().flat_map(|step| step.logits.iter().copied()).collect();
        check(format!("{phrase}.logits"), &logits);
    }
    println!("{compared} tensors, worst relative L2 distance {worst:e}");
    assert!(compared >= 12 * 7, "only {compared} tensors were compared");
}

#[derive(Deserialize)]
struct Golden {
    ids: Vec<u32>,
    greedy_ids: Vec<u32>,
    beam4_ids: Vec<u32>,
    beam4_score: f32,
}

fn golden(path: &Path) -> Vec<Golden> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn greedy_ids_of_the_test_set() {
    let (Some(reference), Some(path)) = (reference(), shared("golden/en-es-nano/test.jsonl")) else { return };
    let golden = golden(&path);
    let equal =
        golden.par_iter().filter(|phrase| reference.greedy(&phrase.ids, MAX_TOKENS) == phrase.greedy_ids).count();
    println!("{equal} of {} phrases equal", golden.len());
    assert!(golden.len() > 1000 && equal * 1000 >= golden.len() * 999, "{equal} of {} phrases equal", golden.len());
}

#[test]
fn beam_ids_and_scores_of_the_test_set() {
    let (Some(reference), Some(path)) = (reference(), shared("golden/en-es-nano/test.jsonl")) else { return };
    let golden = golden(&path);
    let options = BeamOptions { beams: 4, length_penalty: 1.0, max_tokens: MAX_TOKENS };
    let hypotheses: Vec<_> = golden.par_iter().map(|phrase| reference.beam_search(&phrase.ids, &options)).collect();
    let (mut equal, mut worst) = (0, 0f32);
    for (hypothesis, phrase) in hypotheses.iter().zip(&golden) {
        worst = worst.max((hypothesis.score - phrase.beam4_score).abs());
        equal += usize::from(hypothesis.ids == phrase.beam4_ids);
    }
    println!("{equal} of {} phrases equal, scores within {worst:e}", golden.len());
    assert!(golden.len() > 1000 && equal * 100 >= golden.len() * 99, "{equal} of {} phrases equal", golden.len());
    assert!(worst < 1e-3, "a score differs by {worst}");
}
