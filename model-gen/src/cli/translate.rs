//! `model-gen translate`.

use super::{LimitArgs, parse_blob, read_blob};
use crate::run::{Translation, translate_all};
use anyhow::{Context, Result};
use indicatif::ProgressBar;
use latimer::report::{ErrorReport, Report};
use latimer::{Error, Limits, Model};
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Lines translated together: enough to keep the processor busy, few enough that a pipe sees answers soon.
const BATCH: usize = 256;
/// Room for one JSON line: every byte of both texts escaped, and the ids.
const JSON_ROOM: usize = 1 << 20;

/// Arguments of `translate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob to run.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Phrases; without any, one phrase a line from standard input.
    text: Vec<String>,
    /// One JSON line a phrase: source, ids, target, checksum of the logits.
    #[arg(long)]
    json: bool,
    /// Target tokens at most, end of sentence included.
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Translates arguments, or standard input line by line.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let limits = args.limits.of(&model);
    model.arena_len(limits).with_context(|| {
        format!(
            "limits {}/{}: the model has {} positions",
            limits.source_tokens,
            limits.target_tokens,
            positions(&model)
        )
    })?;
    let mut job = Job { args, model, limits, line: 0, failed: 0 };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let progress = if std::io::stderr().is_terminal() && args.text.is_empty() {
        ProgressBar::new_spinner().with_message("phrases")
    } else {
        ProgressBar::hidden()
    };
    if args.text.is_empty() {
        let mut input = std::io::stdin().lock();
        loop {
            let batch = read_batch(&mut input).context("standard input cannot be read")?;
            if batch.is_empty() {
                break;
            }
            job.translate(&batch, &progress, &mut out)?;
        }
    } else {
        let phrases: Vec<Vec<u8>> = args.text.iter().map(|text| text.clone().into_bytes()).collect();
        job.translate(&phrases, &progress, &mut out)?;
    }
    progress.finish_and_clear();
    if job.failed > 0 {
        eprintln!("error: {} of {} phrases could not be translated", job.failed, job.line);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn positions(model: &Model<'_>) -> u16 {
    model.blob().spec().header().max_positions
}

/// Lines without their ends, at most [`BATCH`] of them; fewer where the reader has no more at hand.
fn read_batch(input: &mut impl BufRead) -> std::io::Result<Vec<Vec<u8>>> {
    let mut batch = Vec::new();
    while batch.len() < BATCH {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        batch.push(line);
    }
    Ok(batch)
}

struct Job<'a> {
    args: &'a Args,
    model: Model<'a>,
    limits: Limits,
    line: usize,
    failed: usize,
}

impl Job<'_> {
    fn translate(&mut self, phrases: &[Vec<u8>], progress: &ProgressBar, out: &mut impl Write) -> Result<()> {
        let max_tokens = self.args.max_tokens.unwrap_or(usize::MAX);
        let translations = translate_all(&self.model, self.limits, max_tokens, phrases, || progress.inc(1))?;
        for (phrase, translation) in phrases.iter().zip(translations) {
            self.line += 1;
            let line = self.line(phrase, translation)?;
            match writeln!(out, "{line}") {
                // The reader has gone: nobody is left to tell.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                other => other.context("standard output cannot be written")?,
            }
        }
        out.flush().or_else(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error).context("standard output cannot be written"),
        })
    }

    /// The answer to one phrase. A failed one gives an empty line, or an error object, so that lines keep their places.
    fn line(&mut self, phrase: &[u8], translation: Result<Translation, Error>) -> Result<String> {
        let source = String::from_utf8_lossy(phrase);
        let mut room = vec![0; if self.args.json { JSON_ROOM } else { 0 }];
        match translation {
            Ok(t) if self.args.json => {
                let report = Report {
                    source: &source,
                    source_ids: &t.source_ids,
                    target_ids: &t.target_ids,
                    target: &t.target,
                    logits_crc: t.logits_crc,
                    truncated: t.truncated,
                };
                let len = report.write(&mut room).with_context(|| format!("phrase {}", self.line))?;
                room.truncate(len);
                Ok(String::from_utf8(room)?)
            }
            Ok(t) => Ok(t.target),
            Err(error) => {
                self.failed += 1;
                eprintln!("error: phrase {}: {error}", self.line);
                if !self.args.json {
                    return Ok(String::new());
                }
                let len = ErrorReport { error: &error.to_string() }.write(&mut room)?;
                room.truncate(len);
                Ok(String::from_utf8(room)?)
            }
        }
    }
}
