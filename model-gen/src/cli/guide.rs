//! `model-gen guide`.

use super::{LimitArgs, parse_blob, print, read_blob, write_whole};
use crate::guide::{Calibration, Learned, learn};
use crate::score::pairs::{MAX_REFERENCES, read_pairs};
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use latimer::blob::guide::StandInKind;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `guide`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob that gets a guide, in place of an older one.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Lines of source, tab, target that the model was trained on: for words that it carries over, lengths, and a word alignment.
    #[arg(long, value_name = "TSV")]
    train: PathBuf,
    /// Lines of source, tab, target that it was not trained on: for confidence, and to judge heads of attention.
    #[arg(long, value_name = "TSV")]
    pairs: PathBuf,
    /// Where the blob with the guide goes [default: in place of the blob].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Learns, writes, prints.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let train = read_pairs(&args.train, MAX_REFERENCES)?;
    let dev = read_pairs(&args.pairs, MAX_REFERENCES)?;
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let watch = |step: &'static str| {
        bar.set_message(step);
        bar.inc(1);
    };
    let learned = learn(&bytes, &train, &dev, args.limits.of(&model), &watch);
    bar.finish_and_clear();
    let (blob, learned) = learned.with_context(|| format!("cannot learn a guide for {}", args.blob.display()))?;
    write_whole(args.out.as_ref().unwrap_or(&args.blob), &blob)?;
    print(&text_of(&learned))?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(learned: &Learned) -> String {
    let line = |name: &str, value: String| format!("  {name:<26} {value}\n");
    let mut text = "guide\n".to_owned();
    text += &line("bytes", learned.section_bytes.to_string());
    for head in &learned.heads {
        text +=
            &line("block_head", format!("{} {}: {:.2} nats a token in the lexicon", head.block, head.head, head.score));
    }
    let (slope, more) = learned.lengths;
    text += &line("most_target_tokens", format!("{slope} a source token and {more}"));
    for kind in [StandInKind::Name, StandInKind::Number] {
        let words = learned.stand_ins.iter().filter(|word| word.kind == kind);
        let words: Vec<String> = words.map(|word| format!("{} {:.0} %", word.text, 100.0 * word.share)).collect();
        text += &line(&format!("stand_ins_{}", format!("{kind:?}").to_lowercase()), words.join(", "));
    }
    let calibration = |name: &str, line_of: &Calibration| {
        let Calibration { samples, error, knots } = line_of;
        line(name, format!("{samples} samples, {} knots, expected calibration error {error:.3}", knots.len()))
    };
    text + &calibration("confidence_in_phrases", &learned.phrase) + &calibration("confidence_in_tokens", &learned.token)
}
