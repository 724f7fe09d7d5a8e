//! CTranslate2 on the same weights and phrases, in the same run as this project's engines. The peer gets ids from this
//! project's tokenizer, its ids become text by this project's detokenizer, and this project's scorer judges all.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::import::load_checkpoint;
use model_gen::pack::{InputBits, Options};
use model_gen::reference::Reference;
use model_gen::score::pairs::Phrase;
use model_gen::score::{corpus_bleu, corpus_chrf};
use serde::Deserialize;

use super::lab::Lab;
use super::plan;
use crate::generated::table;
use crate::{paths, shell};

/// Target ids at most: 64 positions, one of them the start token's.
const MAX_TOKENS: usize = 63;
/// All take turns so many times; for each phrase the fastest turn counts, for it was disturbed least.
const TURNS: usize = 3;
/// The peer's arithmetic as it names it, and the library that multiplies its matrices: Intel's, or its own choice. On
/// processors without instructions for bytes that choice may saturate sums in 16 bits.
const PEERS: [(&str, &str, Option<&str>); 3] = [
    ("CTranslate2, float32", "float32", None),
    ("CTranslate2, int8", "int8", None),
    ("CTranslate2, int8 with MKL", "int8", Some("1")),
];

/// What `peer.py` prints.
#[derive(Deserialize)]
struct Answer {
    version: String,
    ids: Vec<Vec<u16>>,
    seconds: Vec<f64>,
}

/// One contestant: ids without the end of sentence, and the fastest time of each phrase.
struct Contestant {
    name: String,
    ids: Vec<Vec<u16>>,
    seconds: Vec<f64>,
}

impl Contestant {
    /// Target tokens a second, the end of sentence being one.
    fn speed(&self) -> f64 {
        self.ids.iter().map(|ids| ids.len() + 1).sum::<usize>() as f64 / self.seconds.iter().sum::<f64>()
    }
}

/// Compares on the test set.
pub fn compare(lab: &Lab, python: &Path) -> Result<String> {
    let mut wide = plan::base();
    wide.settings.bits = InputBits::all(12);
    let mut blobs = Vec::new();
    for (name, options) in [
        ("latimer, int8", plan::base()),
        ("latimer, int8, activations of 12 bits", wide),
        ("latimer, f16", Options::new(EngineKind::F16)),
    ] {
        let packed = lab.pack(&options)?.context("rounding to nearest needs no calibration")?;
        blobs.push((name, AlignedBytes::copy_of(&packed.bytes)));
    }
    let models = blobs.iter().map(|(name, blob)| Ok((name, Model::from_bytes(blob)?))).collect::<Result<Vec<_>>>()?;
    let model = &models.first().context("the list of engines is empty")?.1;
    let sources = sources(model, &lab.test)?;
    let eos = model.blob().spec().header().eos_id;
    let float = float(lab, &sources, eos)?;

    let job = Job { folder: tempfile::tempdir()?, checkpoint: &lab.checkpoint, python, sources: &sources };
    let mut contestants: Vec<Contestant> = Vec::new();
    let mut version = String::new();
    for turn in 1..=TURNS {
        println!("turn {turn} of {TURNS}");
        for (name, kind, mkl) in PEERS {
            let Answer { version: new, ids, seconds } = job.run(kind, mkl)?;
            let count = ids.len().min(seconds.len());
            ensure!(count == sources.len(), "{name}: answers {count} of {} phrases", sources.len());
            note(&mut contestants, Contestant { name: name.to_owned(), ids, seconds });
            version = new;
        }
        for (name, model) in &models {
            note(&mut contestants, ours(name, model, &lab.test)?);
        }
    }
    page(model, &lab.test, &float, &contestants, &version)
}

/// Keeps the faster of two turns, phrase by phrase.
fn note(contestants: &mut Vec<Contestant>, turn: Contestant) {
    match contestants.iter_mut().find(|known| known.name == turn.name) {
        Some(known) => known.seconds.iter_mut().zip(turn.seconds).for_each(|(known, new)| *known = known.min(new)),
        None => contestants.push(turn),
    }
}

/// Ids of the sources, end of sentence included.
fn sources(model: &Model<'_>, phrases: &[Phrase]) -> Result<Vec<Vec<u16>>> {
    let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT)?);
    let mut translator = model.translator(&mut arena, Limits::DEFAULT)?;
    phrases.iter().map(|phrase| Ok(translator.tokenize(phrase.source.as_bytes())?.to_vec())).collect()
}

/// What the float reference says, without the end of sentence.
fn float(lab: &Lab, sources: &[Vec<u16>], eos: u16) -> Result<Vec<Vec<u16>>> {
    let reference = Reference::new(Arc::new(load_checkpoint(&lab.checkpoint)?));
    let translate = |source: &Vec<u16>| {
        let source: Vec<u32> = source.iter().map(|&id| id.into()).collect();
        // The checkpoint was packed: its ids fit 16 bits.
        without_end(reference.greedy(&source, MAX_TOKENS).iter().map(|&id| id as u16).collect(), eos)
    };
    Ok(sources.iter().map(translate).collect())
}

fn without_end(mut ids: Vec<u16>, eos: u16) -> Vec<u16> {
    if ids.last() == Some(&eos) {
        ids.pop();
    }
    ids
}

/// One turn of one of this project's engines, text to text, on this thread.
fn ours(name: &str, model: &Model<'_>, phrases: &[Phrase]) -> Result<Contestant> {
    let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT)?);
    let mut translator = model.translator(&mut arena, Limits::DEFAULT)?;
    translator.set_max_tokens(MAX_TOKENS);
    let eos = model.blob().spec().header().eos_id;
    let (mut ids, mut seconds, mut text) = (Vec::new(), Vec::new(), String::new());
    for phrase in phrases {
        text.clear();
        let start = Instant::now();
        translator.translate_phrase(phrase.source.as_bytes(), &mut (), &mut text)?;
        seconds.push(start.elapsed().as_secs_f64());
        ids.push(without_end(translator.target_ids().to_vec(), eos));
    }
    Ok(Contestant { name: name.to_owned(), ids, seconds })
}

/// The peer's program and what it is to do; what it reads lies in a folder that goes with this.
struct Job<'a> {
    folder: tempfile::TempDir,
    checkpoint: &'a Path,
    python: &'a Path,
    sources: &'a [Vec<u16>],
}

impl Job<'_> {
    fn run(&self, kind: &str, mkl: Option<&str>) -> Result<Answer> {
        let job = serde_json::json!({ "sources": self.sources, "max_tokens": MAX_TOKENS, "type": kind });
        let file = self.folder.path().join("job.json");
        fs::write(&file, job.to_string())?;
        let mut command = Command::new(self.python);
        command.arg(paths::root().join("xtask/src/accuracy/peer.py")).arg(self.checkpoint).arg(file);
        command.envs(mkl.map(|mkl| ("CT2_USE_MKL", mkl)));
        let answer = shell::output(&mut command)
            .context("--peer: give a Python with CTranslate2: `pip install ctranslate2` in a virtual environment")?;
        serde_json::from_str(&answer).with_context(|| format!("`{}` answers no JSON", shell::line(&command)))
    }
}

fn page(
    model: &Model<'_>,
    phrases: &[Phrase],
    float: &[Vec<u16>],
    contestants: &[Contestant],
    version: &str,
) -> Result<String> {
    let references: Vec<Vec<&str>> =
        phrases.iter().map(|phrase| phrase.references.iter().map(String::as_str).collect()).collect();
    let int8 = contestants.iter().filter(|one| one.name.starts_with("CTranslate2, int8")).map(Contestant::speed);
    let fastest = int8.fold(0.0, f64::max);
    let mut rows = Vec::new();
    for one in contestants {
        let texts = one.ids.iter().map(|ids| text(model, ids)).collect::<Result<Vec<_>>>()?;
        let same = one.ids.iter().zip(float).filter(|(a, b)| a == b).count();
        rows.push([
            one.name.clone(),
            format!("{:.2}", corpus_bleu(&texts, &references)?.score),
            format!("{:.2}", corpus_chrf(&texts, &references)?),
            format!("{same} ({:.2} %)", 100.0 * same as f64 / float.len() as f64),
            format!("{:.0}", one.speed()),
            format!("{:.2}", one.speed() / fastest),
        ]);
    }
    let head = ["engine", "BLEU", "chrF", "identical to float", "tokens a second", "its faster int8 = 1"];
    Ok(format!(
        "CTranslate2 {version}, {} phrases of test, one a call, one thread, greedy. All engines take {TURNS} turns, one \
         after another, and for each phrase the fastest counts. Ours is a release build and goes from text to text; \
         the peer's time is that of its calls alone, from pieces to pieces.\n\n{}",
        phrases.len(),
        table(&head, rows)
    ))
}

fn text(model: &Model<'_>, ids: &[u16]) -> Result<String> {
    let (mut text, mut detokenizer) = (String::new(), model.blob().tokenizer().detokenizer());
    ids.iter().try_for_each(|&id| detokenizer.push(id, &mut text))?;
    detokenizer.finish(&mut text)?;
    Ok(text)
}
