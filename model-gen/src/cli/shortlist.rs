//! `model-gen shortlist`.

use super::{LimitArgs, parse_blob, print, read_blob, write_whole};
use crate::aligned::AlignedBytes;
use crate::pack::with_section;
use crate::score::pairs::read_pairs;
use crate::shortlist::{Figures, PASSES, Step, learn};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use latimer::blob::layout::SectionKind;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Arguments of `shortlist`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob that gets a shortlist, in place of an older one.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Lines of source, tab, target: phrases like those to be translated. The targets are not looked at: what is learned is
    /// what the blob itself makes of the sources.
    #[arg(long, value_name = "TSV")]
    pairs: PathBuf,
    /// Where the blob with the shortlist goes [default: in place of the blob].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How many times fewer multiply-accumulates the output matrix is to take, on average over all steps: the more, the more
    /// phrases are translated differently.
    #[arg(long, value_name = "X", default_value_t = 4.2, value_parser = factor)]
    factor: f64,
    /// Sources to learn from at most, spread evenly over the file. From few, little is known: more phrases change. The f16
    /// engine takes minutes for a hundred thousand.
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: LimitArgs,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 1.0 => Ok(value),
        _ => Err("give a number, 1 or more".to_owned()),
    }
}

/// Learns, writes, prints.
pub fn run(args: &Args) -> Result<ExitCode> {
    let start = Instant::now();
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let phrases = read_pairs(&args.pairs, 1)?;
    let most = args.limit.map_or(phrases.len(), |limit| phrases.len().min(limit.get()));
    // Files are often sorted by length.
    let spread = (0..most).map(|i| &phrases[i * phrases.len() / most]);
    let sources: Vec<&str> = spread.map(|phrase| phrase.source.as_str()).collect();
    // Passes take about as long as so many translations.
    let pass = sources.len() as u64 / 50 + 1;
    let progress = progress(sources.len() as u64 + pass * PASSES as u64);
    let done = |step| {
        progress.inc(match step {
            Step::Translated => 1,
            Step::Pass => pass,
        });
    };
    let learned = learn(&model, args.limits.of(&model), &sources, 1.0 / args.factor, &done);
    progress.finish_and_clear();
    let learned = learned.with_context(|| {
        format!("cannot learn a shortlist for {} from {}", args.blob.display(), args.pairs.display())
    })?;

    let out = with_section(&bytes, SectionKind::Shortlist, &learned.section)?;
    let checked = AlignedBytes::copy_of(&out);
    latimer::Model::from_bytes(&checked).context("the blob with the shortlist cannot be read")?;
    write_whole(args.out.as_ref().unwrap_or(&args.blob), &out)?;
    print(&text_of(&learned.figures, start))?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(figures: &Figures, start: Instant) -> String {
    let line = |name: &str, value: String| format!("  {name:<30} {value}\n");
    let held_out = if figures.learned == figures.held_out { "learned from" } else { "held out" };
    [
        "shortlist\n".to_owned(),
        line("bytes", figures.bytes.to_string()),
        line("blocks_always_read", format!("{} of {}", figures.always, figures.blocks)),
        line("listed_blocks", figures.entries.to_string()),
        line("phrases_learned_from", figures.learned.to_string()),
        line(&format!("phrases_{}", held_out.replace(' ', "_")), figures.held_out.to_string()),
        line("output_matrix_read", format!("{:.1} %", 100.0 * figures.share)),
        line("output_matrix_macs", format!("{:.2} times fewer", figures.factor())),
        line("phrases_translated_the_same", format!("{:.1} %", 100.0 * figures.same)),
        line("seconds", format!("{:.0}", start.elapsed().as_secs_f64())),
    ]
    .concat()
}

/// A bar on standard error where a person looks at it.
fn progress(steps: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {percent}%, {eta} left").expect("a valid template");
    ProgressBar::new(steps).with_style(style)
}
