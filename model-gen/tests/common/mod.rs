//! What the integration tests share: models made on the spot, the shared data where it is there, an observer that
//! keeps everything, and the measure of difference.
#![allow(dead_code, reason = "each test crate uses its own part")]

use latimer::observe::{Logits, Row, Stage};
use latimer::{EngineKind, Error, Limits, LogitsCrc, Model, Observer};
use model_gen::aligned::AlignedBytes;
use model_gen::pack::{Options, pack};
use model_gen::testing::{RandomSpec, SplitMix64, write_random_checkpoint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const ENGINES: [EngineKind; 2] = [EngineKind::Int8, EngineKind::F16];

/// A path in the shared data, or a line that says why the test is skipped.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(name);
    if !path.exists() {
        println!("skipped: no shared data at {}", path.display());
        return None;
    }
    Some(path)
}

/// A checkpoint with random weights in a directory of its own.
pub fn random_checkpoint(spec: &RandomSpec) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), spec).unwrap();
    dir
}

/// The checkpoint in `dir` as a blob.
pub fn packed(dir: &Path, engine: EngineKind) -> AlignedBytes {
    AlignedBytes::copy_of(&pack(dir, &Options::new(engine)).unwrap().bytes)
}

/// A model that translates in well under a millisecond, for tests that run it thousands of times.
pub fn tiny() -> RandomSpec {
    RandomSpec {
        d_model: 12,
        heads: 3,
        ffn: 10,
        vocab: 50,
        encoder_layers: 1,
        decoder_layers: 1,
        ..RandomSpec::default()
    }
}

/// Phrases of letters and spaces, and a few of what no vocabulary has.
pub fn phrases(count: usize, seed: u64) -> Vec<String> {
    let mut random = SplitMix64::new(seed);
    let letters: Vec<char> = "etaoinshrdlu  bcdfg 0?'ñ".chars().collect();
    let mut phrases: Vec<String> = ["a", "Hello!", "日本 etao", "the end ?"].map(str::to_owned).into();
    while phrases.len() < count {
        let len = 1 + random.below(28);
        phrases.push((0..len).map(|_| letters[random.below(letters.len())]).collect());
    }
    phrases
}

/// Everything one translation gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub source_ids: Vec<u16>,
    pub target_ids: Vec<u16>,
    pub target: String,
    pub logits_crc: u32,
    pub truncated: bool,
}

/// Translates in the arena given, whatever it holds.
pub fn translate_in(arena: &mut [u8], model: &Model, limits: Limits, phrase: &[u8]) -> Result<Outcome, Error> {
    let mut translator = model.translator(arena, limits)?;
    // As the float reference may.
    translator.set_unknown_allowed(true);
    let (mut crc, mut target) = (LogitsCrc::new(), String::new());
    let stats = translator.translate_phrase(phrase, &mut crc, &mut target)?;
    assert!(translator.arena_high_water() <= translator.arena_len());
    Ok(Outcome {
        source_ids: translator.source_ids().to_vec(),
        target_ids: translator.target_ids().to_vec(),
        target,
        logits_crc: crc.value(),
        truncated: stats.truncated,
    })
}

/// Translates in a fresh arena.
pub fn translate(model: &Model, limits: Limits, phrase: &[u8]) -> Result<Outcome, Error> {
    translate_in(&mut AlignedBytes::zeroed(model.arena_len(limits)?), model, limits, phrase)
}

/// Keeps hidden states by stage (`encoder.L`, `decoder.L`, as the golden file names them) and all logits.
#[derive(Default)]
pub struct Capture {
    pub hidden: BTreeMap<String, Vec<f32>>,
    pub logits: Vec<f32>,
}

impl Observer for Capture {
    fn hidden(&mut self, stage: Stage, _position: usize, row: Row<'_>) {
        let key = match stage {
            Stage::Encoder(layer) => format!("encoder.{layer}"),
            Stage::Decoder(layer) => format!("decoder.{layer}"),
        };
        let kept = self.hidden.entry(key).or_default();
        match row {
            Row::Fixed { values, frac } => {
                kept.extend(values.iter().map(|&v| f32::from(v) * 2f32.powi(-i32::from(frac))))
            }
            Row::Float(values) => kept.extend(values),
        }
    }

    fn logits(&mut self, _step: usize, _first: usize, logits: Logits<'_>) {
        match logits {
            Logits::Fixed { values, frac } => {
                self.logits.extend(values.iter().map(|&v| v as f32 * 2f32.powi(-i32::from(frac))));
            }
            Logits::Float(values) => self.logits.extend(values),
        }
    }
}

/// Hidden states and logits for given source and decoder ids.
pub fn teacher_forced(model: &Model, limits: Limits, source: &[u16], decoder: &[u16]) -> Capture {
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits).unwrap());
    let mut translator = model.translator(&mut arena, limits).unwrap();
    let mut capture = Capture::default();
    translator.encode_ids(source, &mut capture).unwrap();
    for &id in decoder {
        translator.step(id, &mut capture).unwrap();
    }
    capture
}

/// The largest relative distance at each stage.
#[derive(Default)]
pub struct Worst(BTreeMap<String, f64>);

impl Worst {
    /// Compares one stage's values; the distance is relative to the L2 norm of those wanted.
    pub fn note(&mut self, stage: &str, found: &[f32], wanted: &[f32]) {
        assert_eq!(found.len(), wanted.len(), "{stage}");
        let sum = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
        let distance = sum(&mut found.iter().zip(wanted).map(|(a, b)| f64::from(*a) - f64::from(*b)));
        let norm = sum(&mut wanted.iter().map(|v| f64::from(*v)));
        let relative = (distance / norm).sqrt();
        assert!(relative.is_finite(), "{stage}: {distance} / {norm}");
        let worst = self.0.entry(stage.to_owned()).or_default();
        *worst = worst.max(relative);
    }

    /// Prints the figures and holds each to the bound.
    pub fn hold(&self, name: &str, bound: f64) {
        let figures: Vec<String> = self.0.iter().map(|(stage, worst)| format!("{stage} {worst:.2e}")).collect();
        println!("{name}: worst relative L2 distance: {}", figures.join(", "));
        assert!(!self.0.is_empty());
        for (stage, worst) in &self.0 {
            assert!(*worst <= bound, "{name}, {stage}: {worst:e} exceeds {bound:e}");
        }
    }
}
