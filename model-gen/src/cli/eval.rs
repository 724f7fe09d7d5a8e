//! `model-gen eval`.

use super::{LimitArgs, complain, parse_blob, print, read_blob, write_whole};
use crate::evaluate::{How, Table, evaluate};
use crate::report::Folder;
use crate::score::pairs::{MAX_REFERENCES, read_pairs};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `eval`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob to judge.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// The checkpoint directory it was packed from: the float model.
    #[arg(long, value_name = "DIR")]
    checkpoint: PathBuf,
    /// Lines of source, tab, target; a source on several lines has several references.
    #[arg(long, value_name = "TSV")]
    pairs: PathBuf,
    /// Distinct sources at most, from the first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Write all figures as JSON; `-` is standard output, in place of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page to look at, report.html, into this folder, and all figures beside it as JSON named after the blob;
    /// the page compares the evaluations that lie there.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Exit with 1 where the blob's chrF is lower than the float model's by more than this.
    #[arg(long, value_name = "X", value_parser = super::threshold)]
    max_chrf_drop: Option<f64>,
    /// Let the blob translate by its shortlist; what is measured on given targets is measured on all logits.
    #[arg(long)]
    shortlist: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Evaluates, prints and judges.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    super::check_shortlist(args.shortlist, &args.blob, &model)?;
    let how = How { limits: args.limits.of(&model), shortlist: args.shortlist };
    let mut phrases = read_pairs(&args.pairs, MAX_REFERENCES)?;
    phrases.truncate(args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
    // Before the work: it would be a pity to have done it for nothing.
    let folder = args.report.as_deref().map(Folder::open).transpose()?;

    let progress = progress(phrases.len());
    let evaluation = evaluate(&model, &args.checkpoint, &phrases, how, || progress.inc(1));
    progress.finish_and_clear();
    let evaluation = evaluation
        .with_context(|| format!("cannot compare {} with {}", args.blob.display(), args.checkpoint.display()))?;

    if let Some(path) = &args.json {
        let mut json = serde_json::to_vec_pretty(&evaluation)?;
        json.push(b'\n');
        if path.as_os_str() == "-" {
            print(&String::from_utf8(json)?)?;
        } else {
            write_whole(path, &json)?;
        }
    }
    if let Some(folder) = folder {
        let name = args.blob.file_stem().unwrap_or_default().to_string_lossy();
        folder.write(&evaluation, &name)?;
    }
    if args.json.as_ref().is_none_or(|path| path.as_os_str() != "-") {
        print(&Table(&evaluation).to_string())?;
    }
    match args.max_chrf_drop {
        Some(most) if evaluation.chrf_drop() > most => {
            complain(&format!(
                "chrF drops by {:.3}, from {:.2} to {:.2}: more than the {most} that --max-chrf-drop allows",
                evaluation.chrf_drop(),
                evaluation.float.chrf,
                evaluation.quantized.chrf
            ));
            Ok(ExitCode::FAILURE)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// A bar on standard error where a person looks at it.
fn progress(phrases: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} phrases, {eta} left").expect("a valid template");
    ProgressBar::new(phrases as u64).with_style(style)
}
