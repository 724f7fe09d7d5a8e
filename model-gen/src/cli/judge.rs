//! `model-gen judge`.

use super::around::AroundArgs;
use super::{LimitArgs, parse_blob, print, read_blob};
use crate::judge::{Judgement, judge};
use crate::run::Choices;
use crate::score::pairs::{MAX_REFERENCES, read_pairs};
use anyhow::Result;
use indicatif::ProgressBar;
use latimer::blob::glossary::Glossary;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `judge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob to run.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Lines of source, tab, target.
    #[arg(long, value_name = "TSV")]
    pairs: PathBuf,
    /// References that a source is scored against at most, of those that the pairs have.
    #[arg(long, value_name = "N", default_value_t = MAX_REFERENCES as u64, value_parser = clap::value_parser!(u64).range(1..))]
    max_refs: u64,
    /// Read all of the output matrix, not just the rows that the blob's shortlist has for a phrase.
    #[arg(long)]
    no_shortlist: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    around: AroundArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Translates, judges, prints.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let phrases = read_pairs(&args.pairs, usize::try_from(args.max_refs).unwrap_or(usize::MAX))?;
    let bar =
        if std::io::stderr().is_terminal() { ProgressBar::new(phrases.len() as u64) } else { ProgressBar::hidden() };
    let text = args.around.options();
    let shortlist = !args.no_shortlist && model.blob().shortlist().is_some();
    let choices = Choices { max_tokens: usize::MAX, shortlist, text, unknown: false, glossary: Glossary::EMPTY };
    let judgement = judge(&model, args.limits.of(&model), choices, &phrases, || bar.inc(1));
    bar.finish_and_clear();
    let judgement = judgement?;
    print(&if args.json { format!("{}\n", serde_json::to_string(&judgement)?) } else { text_of(&judgement) })?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(judgement: &Judgement) -> String {
    let line = |name: &str, value: String| format!("  {name:<24} {value}\n");
    let mut text = format!("{} phrases, {} runs of the model\n", judgement.phrases, judgement.parts);
    text += &line("chrf", format!("{:.2}", judgement.chrf));
    text += &line("bleu", format!("{:.2}", judgement.bleu));
    for (name, count) in &judgement.warnings {
        text += &line(&format!("warning_{name}"), count.to_string());
    }
    for (fifth, chrf) in judgement.chrf_by_confidence.iter().enumerate() {
        text += &line(&format!("chrf_of_fifth_{}", fifth + 1), format!("{chrf:.2}"));
    }
    if let Some(error) = judgement.calibration_error {
        text += &line("calibration_error", format!("{error:.4}"));
    }
    text
}
