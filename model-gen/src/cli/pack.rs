//! `model-gen pack`.

use super::{EngineArg, print, write_whole};
use crate::aligned::AlignedBytes;
use crate::evaluate::evaluate;
use crate::import::language::code_of;
use crate::pack::{CalibrationSet, Choice, Fit, InputBits, Options, Packed, Progress, Recipe, pack_watched};
use crate::score::pairs::{Phrase, read_pairs};
use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use latimer::{Limits, Model};
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `pack`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Hugging Face MarianMT directory (config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm,
    /// vocab.json), or Marian's .npz with its vocabularies beside it.
    #[arg(long, value_name = "DIR")]
    checkpoint: PathBuf,
    /// The blob to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Arithmetic of the packed model.
    #[arg(long, value_enum, default_value = "int8")]
    engine: EngineArg,
    /// How weights are rounded.
    #[arg(long, value_enum, default_value = "fast")]
    recipe: RecipeArg,
    /// Phrase pairs to calibrate with: lines of source, tab, target. Not those that you evaluate on.
    #[arg(long, value_name = "TSV")]
    calibrate: Option<PathBuf>,
    /// Pairs drawn from them at most.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    calibrate_pairs: u32,
    /// Draws the pairs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Narrow weights to 4 bits where that costs least, until the blob takes at most so many bytes. Needs --calibrate.
    #[arg(long, value_name = "BYTES")]
    fit_flash: Option<usize>,
    /// Write no blob where its chrF, on pairs of --calibrate that it has not learned from, is lower than the float
    /// model's by more than this.
    #[arg(long, value_name = "X", value_parser = super::threshold, requires = "calibrate")]
    max_chrf_drop: Option<f64>,
    /// Bits of activations, 8 to 16: one number, or five for qkv,out,fc1,fc2,logits [default: the recipe's].
    #[arg(long, value_name = "BITS", value_delimiter = ',')]
    input_bits: Vec<u8>,
    /// Lay 8-bit weights of linears with inputs of 8 bits (see --input-bits) in pairs: Arm cores with DSP instructions need a
    /// fifth fewer instructions to multiply one vector by them, others run them more slowly.
    #[arg(long)]
    dsp_pairs: bool,
    /// exp and inverse square root of the f16 engine from micromath: shorter code, coarser.
    #[arg(long)]
    micromath: bool,
    /// Target language of phrases that do not start with a code, in a model of several: `xxx` or `>>xxx<<`.
    #[arg(long, value_name = "CODE")]
    target: Option<String>,
    /// Metadata to record: licence, source, name, ...
    #[arg(long, value_name = "KEY=VALUE")]
    meta: Vec<String>,
    /// Version of the model, for updates in the field.
    #[arg(long, default_value_t = 1)]
    model_version: u32,
    /// Print a summary as JSON.
    #[arg(long)]
    json: bool,
}

/// [`Recipe`] as an argument.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum RecipeArg {
    /// Rounding to nearest: needs no calibration set.
    Fast,
    /// Scales for groups of columns, calibrated rounding, corrected biases. Needs --calibrate.
    Best,
}

impl From<RecipeArg> for Recipe {
    fn from(arg: RecipeArg) -> Self {
        match arg {
            RecipeArg::Fast => Recipe::Fast,
            RecipeArg::Best => Recipe::Best,
        }
    }
}

fn options(args: &Args) -> Result<Options> {
    let mut options = Options::new(args.engine.into()).with_recipe(args.recipe.into());
    if let Some(path) = &args.calibrate {
        let phrases = read_pairs(path, 1)?;
        options.calibration = Some(CalibrationSet { phrases, limit: args.calibrate_pairs as usize, seed: args.seed });
    }
    ensure!(args.input_bits.iter().all(|b| (8..=16).contains(b)), "--input-bits: each is 8 to 16");
    match args.input_bits[..] {
        [] => {}
        [all] => options.settings.bits = InputBits::all(all),
        [qkv, out, fc1, fc2, logits] => options.settings.bits = InputBits { qkv, out, fc1, fc2, logits },
        _ => anyhow::bail!("--input-bits: give one number, or five for qkv,out,fc1,fc2,logits"),
    }
    options.fit_flash = args.fit_flash;
    ensure!(
        !args.dsp_pairs || options.settings.bits.any(8),
        "--dsp-pairs: no linear has inputs of 8 bits; give --input-bits 8, or five numbers some of which are 8"
    );
    options.micromath = args.micromath;
    options.dsp_pairs = args.dsp_pairs;
    options.model_version = args.model_version;
    options.target = args.target.as_deref().map(|code| code_of(code).to_owned());
    for entry in &args.meta {
        let (key, value) = entry.split_once('=').with_context(|| format!("--meta {entry}: write KEY=VALUE"))?;
        options.meta.push((key.to_owned(), value.to_owned()));
    }
    Ok(options)
}

/// Packs and writes the blob.
pub fn run(args: &Args) -> Result<ExitCode> {
    spare_the_checkpoint(args)?;
    let options = options(args)?;
    let bar = Bar::new();
    let packed = pack_watched(&args.checkpoint, &options, &|progress| bar.show(progress));
    bar.clear();
    let packed = packed.with_context(|| format!("cannot pack {}", args.checkpoint.display()))?;
    if let (Some(most), Some(set)) = (args.max_chrf_drop, &options.calibration) {
        judge(args, &packed, &set.held_out(JUDGED), most)?;
    }
    write_whole(&args.out, &packed.bytes)?;
    print(&report(args, &packed))?;
    Ok(ExitCode::SUCCESS)
}

/// Pairs that `--max-chrf-drop` is judged on.
const JUDGED: usize = 300;

/// Refuses a blob that loses more than allowed on `phrases`.
fn judge(args: &Args, packed: &Packed, phrases: &[Phrase], most: f64) -> Result<()> {
    ensure!(!phrases.is_empty(), "--max-chrf-drop: --calibrate-pairs leaves no pairs to judge on; lower it");
    let bytes = AlignedBytes::copy_of(&packed.bytes);
    let model = Model::from_bytes(&bytes)?;
    let drop = evaluate(&model, &args.checkpoint, phrases, limits_for(&model), || {})?.chrf_drop();
    ensure!(
        drop <= most,
        "chrF drops by {drop:.2} on {} pairs, more than the {most} that --max-chrf-drop allows: give --fit-flash more \
         bytes, or take --recipe best",
        phrases.len()
    );
    Ok(())
}

/// The usual limits, as far as the model goes.
fn limits_for(model: &Model) -> Limits {
    let most = model.blob().spec().most_positions();
    let usual = Limits::DEFAULT;
    Limits { source_tokens: usual.source_tokens.min(most), target_tokens: usual.target_tokens.min(most), ..usual }
}

/// What packing is at, on standard error where a person looks at it.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Bar(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{msg:<12} {wide_bar} {pos}/{len}").expect("a valid template");
        Bar(ProgressBar::new(0).with_style(style))
    }

    fn show(&self, progress: Progress) {
        self.0.set_message(progress.step);
        self.0.set_length(progress.total as u64);
        self.0.set_position(progress.done as u64);
    }

    fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn report(args: &Args, packed: &Packed) -> String {
    if args.json {
        let sections: serde_json::Map<_, _> =
            packed.sections.iter().map(|(kind, len)| (format!("{kind:?}"), json!(len))).collect();
        let engine = latimer::EngineKind::from(args.engine).name();
        let table = packed.fit.as_ref().map(fit_json);
        let summary = json!({ "fit": table, "out": args.out, "engine": engine, "bytes": packed.bytes.len(), "sections": sections });
        return format!("{summary}\n");
    }
    let sections = packed.sections.iter().map(|(kind, len)| format!("  {:<12} {len:>9}\n", format!("{kind:?}")));
    let fit = packed.fit.as_ref().map(|fit| format!("\n{fit}")).unwrap_or_default();
    format!("{}: {} bytes\n{}{fit}", args.out.display(), packed.bytes.len(), sections.collect::<String>())
}

fn fit_json(fit: &Fit) -> serde_json::Value {
    let choice = |choice: &Choice| {
        let candidates = choice.candidates.iter();
        let tried: Vec<_> =
            candidates.map(|c| json!({ "width": c.width.to_string(), "bytes": c.bytes, "cost": c.cost })).collect();
        json!({ "tensor": choice.name, "tried": tried, "taken": choice.chosen })
    };
    fit.choices.iter().map(choice).collect()
}

/// Refuses an output that is one of the checkpoint's own files.
fn spare_the_checkpoint(args: &Args) -> Result<()> {
    let same = |file: &std::fs::DirEntry| {
        let (file, out) = (file.path().canonicalize(), args.out.canonicalize());
        file.is_ok_and(|file| out.is_ok_and(|out| file == out))
    };
    // Beside a .npz lie the other files.
    let dir = if args.checkpoint.is_file() { args.checkpoint.parent() } else { Some(args.checkpoint.as_path()) };
    let dir = dir.filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    ensure!(
        args.out.extension().is_some_and(|kind| kind == "blob") || !files.any(|file| same(&file)),
        "{}: is a file of the checkpoint; give another name to --out",
        args.out.display()
    );
    Ok(())
}
