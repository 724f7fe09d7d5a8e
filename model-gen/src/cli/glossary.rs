//! `model-gen glossary`.

use super::{parse_blob, print, read_blob, spare, write_whole};
use crate::align::ALL_PASSES;
use crate::aligned::AlignedBytes;
use crate::glossary::{Entries, Learned, learn};
use crate::pack::with_section;
use crate::score::pairs::{MAX_REFERENCES, read_pairs};
use anyhow::{Context, Result, ensure};
use clap::ArgGroup;
use indicatif::ProgressBar;
use latimer::Model;
use latimer::blob::glossary::GlossaryKind;
use latimer::blob::layout::SectionKind;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `glossary`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("from").required(true).args(["tsv", "learn"])))]
#[command(group(ArgGroup::new("to").required(true).multiple(true).args(["blob", "packed", "write"])))]
pub struct Args {
    /// Lines of source, tab, target, and tab, `term` for words that are to be forced inside of sentences; other lines are whole
    /// phrases. Lines that start with # are comments.
    #[arg(long, value_name = "TSV")]
    tsv: Option<PathBuf>,
    /// Learn translations of single words instead, from lines of source, tab, target.
    #[arg(long, value_name = "TSV")]
    learn: Option<PathBuf>,
    /// How many of the commonest source words are learned.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=50_000))]
    words: u16,
    /// Share of a word's links that its translation must have to be taken, 0 to 1.
    #[arg(long, value_name = "X", default_value_t = 0.3, value_parser = share)]
    least: f64,
    /// First lines of the file that is written, each as a comment: where the pairs are from, their licence.
    #[arg(long, value_name = "TEXT", requires = "write")]
    comment: Vec<String>,
    /// Write what was learned as lines, to be looked at and edited.
    #[arg(long, value_name = "FILE", conflicts_with = "tsv")]
    write: Option<PathBuf>,
    /// The blob that gets the glossary, in place of an older one.
    #[arg(long, value_name = "FILE")]
    blob: Option<PathBuf>,
    /// Where the blob with the glossary goes [default: in place of the blob].
    #[arg(long, value_name = "FILE", requires = "blob")]
    out: Option<PathBuf>,
    /// Write the packed glossary to a file of its own, for flash beside the blob.
    #[arg(long, value_name = "FILE")]
    packed: Option<PathBuf>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("give a number from 0 to 1".to_owned()),
    }
}

/// Reads or learns, writes, prints.
pub fn run(args: &Args) -> Result<ExitCode> {
    let read = [args.tsv.as_deref(), args.learn.as_deref()];
    spare(&read, ("--write", args.write.as_deref()))?;
    spare(&read, ("--out", args.out.as_deref()))?;
    spare(&[&read[..], &[args.blob.as_deref()]].concat(), ("--packed", args.packed.as_deref()))?;
    let mut text = "glossary\n".to_owned();
    let line = |name: &str, value: String| format!("  {name:<26} {value}\n");
    let entries = match (&args.tsv, &args.learn) {
        (Some(path), _) => Entries::read_tsv(path)?,
        (None, Some(path)) => {
            let learned = learned(path, args)?;
            text += &line("words_with_an_entry", format!("{} of {}", learned.words.len(), learned.of));
            if let Some(path) = &args.write {
                let comments: Vec<&str> = args.comment.iter().map(String::as_str).collect();
                write_whole(path, learned.tsv(&comments).as_bytes())?;
            }
            learned.entries()?
        }
        (None, None) => anyhow::bail!("give --tsv or --learn"),
    };
    let section = entries.packed()?;
    if let Some(path) = &args.packed {
        write_whole(path, &section)?;
    }
    if let Some(path) = &args.blob {
        let bytes = read_blob(path)?;
        parse_blob(path, &bytes)?;
        let out = with_section(&bytes, SectionKind::Glossary, &section)?;
        Model::from_bytes(&AlignedBytes::copy_of(&out)).context("the blob with the glossary cannot be read")?;
        write_whole(args.out.as_ref().unwrap_or(path), &out)?;
    }
    text += &line("phrases", entries.count(GlossaryKind::Phrase).to_string());
    text += &line("terms", entries.count(GlossaryKind::Term).to_string());
    text += &line("bytes", section.len().to_string());
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn learned(path: &Path, args: &Args) -> Result<Learned> {
    let phrases = read_pairs(path, MAX_REFERENCES)?;
    let bar =
        if std::io::stderr().is_terminal() { ProgressBar::new(2 * ALL_PASSES as u64) } else { ProgressBar::hidden() };
    let learned = learn(&phrases, args.words.into(), args.least, || bar.inc(1));
    bar.finish_and_clear();
    let none = "gives no word a translation: give more pairs, or a smaller --least";
    ensure!(!learned.words.is_empty(), "{}: {none}", path.display());
    Ok(learned)
}
