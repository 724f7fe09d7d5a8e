//! Runs a checkpoint or a blob over a set of phrases.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::import::load_checkpoint;
use model_gen::pack::{Options, pack};
use model_gen::reference::Reference;
use model_gen::run::translate_all;
use model_gen::score::pairs::{MAX_REFERENCES, Phrase, read_pairs};
use model_gen::score::{corpus_bleu, corpus_chrf};

/// Target ids at most: 64 positions, one of them the start token's.
const MAX_TOKENS: usize = 63;

/// Phrases and their references.
pub struct Set {
    sources: Vec<String>,
    references: Vec<Vec<String>>,
}

impl Set {
    /// Distinct sources of a file of pairs.
    pub fn read(path: &Path) -> Result<Self> {
        let phrases = read_pairs(path, MAX_REFERENCES)?;
        let (sources, references) =
            phrases.into_iter().map(|Phrase { source, references }| (source, references)).unzip();
        Ok(Set { sources, references })
    }
}

/// What came out of a model over a set.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Bytes of the blob, or of the weights file.
    pub bytes: u64,
    ids: Vec<Vec<u16>>,
    bleu: f64,
    chrf: f64,
}

impl Outputs {
    fn of(bytes: u64, set: &Set, ids: Vec<Vec<u16>>, texts: &[String]) -> Result<Self> {
        let bleu = corpus_bleu(texts, &set.references)?.score;
        Ok(Outputs { bytes, ids, bleu, chrf: corpus_chrf(texts, &set.references)? })
    }

    /// BLEU and chrF, two decimals.
    pub fn scores(&self) -> [String; 2] {
        [self.bleu, self.chrf].map(|score| format!("{score:.2}"))
    }

    /// How many phrases have the same ids.
    pub fn same_as(&self, other: &Outputs) -> String {
        let same = self.ids.iter().zip(&other.ids).filter(|(a, b)| a == b).count();
        format!("{same} of {} ({:.1} %)", self.ids.len(), 100.0 * same as f64 / self.ids.len() as f64)
    }
}

/// Packs a checkpoint and translates with the runtime.
pub fn engine(dir: &Path, options: &Options, set: &Set) -> Result<Outputs> {
    let blob = AlignedBytes::copy_of(&pack(dir, options)?.bytes);
    let model = Model::from_bytes(&blob)?;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    for translation in translate_all(&model, Limits::DEFAULT, MAX_TOKENS, &set.sources, || ())? {
        let translation = translation?;
        ids.push(translation.target_ids);
        texts.push(translation.target);
    }
    Outputs::of(blob.len() as u64, set, ids, &texts)
}

/// Runs a checkpoint in plain float32, with the runtime's tokenizer.
pub fn float(dir: &Path, set: &Set) -> Result<Outputs> {
    let reference = Reference::new(Arc::new(load_checkpoint(dir)?));
    let blob = AlignedBytes::copy_of(&pack(dir, &Options::new(EngineKind::Int8))?.bytes);
    let model = Model::from_bytes(&blob)?;
    let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT)?);
    let mut translator = model.translator(&mut arena, Limits::DEFAULT)?;
    let eos = model.blob().spec().header().eos_id;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    for source in &set.sources {
        let source: Vec<u32> = translator.tokenize(source.as_bytes())?.iter().map(|&id| id.into()).collect();
        let target: Vec<u16> = reference.greedy(&source, MAX_TOKENS).iter().map(|&id| id as u16).collect();
        let mut text = String::new();
        let mut detokenizer = model.blob().tokenizer().detokenizer();
        target.iter().filter(|&&id| id != eos).try_for_each(|&id| detokenizer.push(id, &mut text))?;
        detokenizer.finish(&mut text)?;
        ids.push(target);
        texts.push(text);
    }
    let weights = dir.join("model.safetensors");
    let bytes = weights.metadata().with_context(|| format!("cannot read `{}`", weights.display()))?.len();
    Outputs::of(bytes, set, ids, &texts)
}
