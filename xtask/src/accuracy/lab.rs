//! Packs a checkpoint and evaluates the blob against it, on the set to choose by and on the set to report.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::{Evaluation, evaluate};
use model_gen::pack::{CalibrationSet, Options, Packed, pack_watched};
use model_gen::score::pairs::{MAX_REFERENCES, Phrase, read_pairs};

/// Pairs drawn from the training set to calibrate with: `model-gen pack`'s default.
pub const CALIBRATION_PAIRS: usize = 2000;
/// The seed that draws them, likewise.
pub const SEED: u64 = 1;

/// The checkpoint and the phrases.
pub struct Lab {
    /// The float model.
    pub checkpoint: PathBuf,
    /// Phrases to choose by.
    pub dev: Vec<Phrase>,
    /// Phrases to report.
    pub test: Vec<Phrase>,
    calibration: Option<CalibrationSet>,
    /// What equal choices gave before, under another name.
    known: HashMap<String, Measured>,
}

/// One blob's evaluations.
#[derive(Clone, Debug)]
pub struct Measured {
    /// On the set to choose by.
    pub dev: Evaluation,
    /// On the set to report.
    pub test: Evaluation,
}

impl Lab {
    /// Reads dev.tsv, test.tsv and, where it is there, train.tsv of the folder; `limit` is for the first two.
    pub fn open(checkpoint: &Path, data: &Path, limit: Option<usize>) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<Phrase>> {
            let mut phrases = read_pairs(&data.join(name), MAX_REFERENCES)?;
            phrases.truncate(limit.unwrap_or(usize::MAX));
            Ok(phrases)
        };
        let train = data.join("train.tsv");
        let calibration = match train.is_file() {
            true => Some(CalibrationSet { phrases: read_pairs(&train, 1)?, limit: CALIBRATION_PAIRS, seed: SEED }),
            false => None,
        };
        let (dev, test) = (read("dev.tsv")?, read("test.tsv")?);
        Ok(Lab { checkpoint: checkpoint.to_owned(), dev, test, calibration, known: HashMap::new() })
    }

    /// Packs; `None` where that needs a training set and there is none.
    pub fn pack(&self, options: &Options) -> Result<Option<Packed>> {
        let mut options = options.clone();
        if options.engine == EngineKind::Int8 && options.settings.need_calibration() {
            let Some(calibration) = &self.calibration else { return Ok(None) };
            options.calibration = Some(calibration.clone());
        }
        let bar = bar();
        let packed = pack_watched(&self.checkpoint, &options, &|progress| {
            bar.set_message(progress.step);
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
        });
        bar.finish_and_clear();
        packed.with_context(|| format!("cannot pack `{}`", self.checkpoint.display())).map(Some)
    }

    /// Packs and evaluates; `None` where the packing needs a training set and there is none.
    pub fn measure(&mut self, options: &Options) -> Result<Option<Measured>> {
        let key = format!("{options:?}");
        if let Some(known) = self.known.get(&key) {
            return Ok(Some(known.clone()));
        }
        let Some(packed) = self.pack(options)? else { return Ok(None) };
        let bytes = AlignedBytes::copy_of(&packed.bytes);
        let model = Model::from_bytes(&bytes)?;
        let measured = Measured {
            dev: self.evaluate(&model, "choosing", &self.dev)?,
            test: self.evaluate(&model, "reporting", &self.test)?,
        };
        self.known.insert(key, measured.clone());
        Ok(Some(measured))
    }

    fn evaluate(&self, model: &Model<'_>, step: &'static str, phrases: &[Phrase]) -> Result<Evaluation> {
        let bar = bar();
        bar.set_message(step);
        bar.set_length(phrases.len() as u64);
        let evaluation = evaluate(model, &self.checkpoint, phrases, Limits::DEFAULT, || bar.inc(1));
        bar.finish_and_clear();
        evaluation
    }
}

/// How far a step is; nothing where nobody looks.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("  {msg} {wide_bar} {pos}/{len}, {eta} left").expect("a valid template");
    ProgressBar::new(0).with_style(style)
}
