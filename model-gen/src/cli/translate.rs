//! `model-gen translate`.

use super::around::AroundArgs;
use super::{LimitArgs, complain, parse_blob, read_blob, warn};
use crate::import::language::{code_of, unknown};
use crate::run::{Choices, Translation, translate_all};
use anyhow::{Context, Result, anyhow};
use indicatif::ProgressBar;
use latimer::blob::glossary::Glossary;
use latimer::report::{ErrorReport, Report};
use latimer::{Error, Limits, Model};
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lines translated together: enough to keep the processor busy, few enough that a pipe sees answers soon.
const BATCH: usize = 256;
/// Bytes of a JSON line beside texts and ids: keys, checksum, punctuation.
const JSON_FRAME: usize = 256;
/// Bytes that one byte of text (`\u0000`) or one id with its comma takes at most.
const JSON_EACH: usize = 6;

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
    /// Target language of phrases that do not start with a code, in a model of several: `xxx` or `>>xxx<<`.
    #[arg(long, value_name = "CODE")]
    target: Option<String>,
    /// Target tokens at most, end of sentence included.
    #[arg(long, value_name = "N")]
    max_tokens: Option<std::num::NonZeroUsize>,
    /// Read all of the output matrix, not just the rows that the blob's shortlist has for a phrase.
    #[arg(long)]
    no_shortlist: bool,
    /// Phrases and terms that come before those of the blob: lines of source, tab, target, or what `model-gen glossary` packed.
    #[arg(long, value_name = "FILE", conflicts_with = "raw")]
    glossary: Option<PathBuf>,
    #[command(flatten)]
    around: AroundArgs,
    /// With --json, tell which bytes of the source each piece of the target comes from.
    #[arg(long, requires = "json", conflicts_with = "raw")]
    alignment: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Translates arguments, or standard input line by line.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let mut model = parse_blob(&args.blob, &bytes)?;
    if let Some(code) = args.target.as_deref().map(code_of) {
        let (tokenizer, name) = (*model.blob().tokenizer(), args.blob.display().to_string());
        model.set_target(Some(code)).map_err(|_| anyhow!(unknown(code, &name, tokenizer.languages())))?;
    }
    let limits = args.limits.of(&model);
    model.arena_len(limits).with_context(|| {
        let most = model.blob().spec().most_positions();
        let latimer::Limits { source_tokens, target_tokens, text_bytes, .. } = limits;
        format!("limits of {source_tokens}/{target_tokens} tokens and {text_bytes} bytes: this model takes up to {most} tokens")
    })?;
    let packed = args.glossary.as_deref().map(crate::glossary::load).transpose()?;
    let glossary = packed.as_deref().map(Glossary::parse).transpose()?.unwrap_or(Glossary::EMPTY);
    let mut job = Job { args, model, glossary, limits, line: 0, failed: 0 };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let progress = if std::io::stderr().is_terminal() && args.text.is_empty() {
        ProgressBar::new_spinner().with_message("phrases")
    } else {
        ProgressBar::hidden()
    };
    if args.text.is_empty() {
        let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
        loop {
            let batch = read_batch(&mut input).context("standard input cannot be read")?;
            if batch.is_empty() || job.translate(&batch, &progress, &mut out)?.is_break() {
                break;
            }
        }
    } else {
        let phrases: Vec<Vec<u8>> = args.text.iter().map(|text| text.clone().into_bytes()).collect();
        let _ = job.translate(&phrases, &progress, &mut out)?;
    }
    progress.finish_and_clear();
    if job.failed > 0 {
        complain(&format!("{} of {} phrases could not be translated", job.failed, job.line));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines without their ends, at most [`BATCH`] of them; fewer where the reader has no more at hand, so that a program
/// that writes a phrase and waits for its answer gets it.
fn read_batch(input: &mut BufReader<impl Read>) -> std::io::Result<Vec<Vec<u8>>> {
    let mut batch = Vec::new();
    while batch.is_empty() || batch.len() < BATCH && input.buffer().contains(&b'\n') {
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
    glossary: Glossary<'a>,
    limits: Limits,
    line: usize,
    failed: usize,
}

impl Job<'_> {
    /// Writes the answers in order; `Break` where the reader has gone, since nobody is left to tell.
    fn translate(
        &mut self,
        phrases: &[Vec<u8>],
        progress: &ProgressBar,
        out: &mut impl Write,
    ) -> Result<ControlFlow<()>> {
        let max_tokens = self.args.max_tokens.map_or(usize::MAX, Into::into);
        let text = self.args.around.options();
        let shortlist = !self.args.no_shortlist && self.model.blob().shortlist().is_some();
        let choices = Choices { max_tokens, shortlist, text, unknown: false, glossary: self.glossary };
        let translations = translate_all(&self.model, self.limits, choices, phrases, || progress.inc(1))?;
        let write = || -> Result<()> {
            for (phrase, translation) in phrases.iter().zip(translations) {
                self.line += 1;
                writeln!(out, "{}", self.line(phrase, translation)?)?;
            }
            Ok(out.flush()?)
        };
        match write() {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) if is_broken_pipe(&error) => Ok(ControlFlow::Break(())),
            Err(error) => Err(error.context("the answers cannot be written")),
        }
    }

    /// The answer to one phrase. A failed one gives an empty line, or an error object, so that lines keep their places.
    fn line(&mut self, phrase: &[u8], translation: Result<Translation, Error>) -> Result<String> {
        let source = String::from_utf8_lossy(phrase);
        match translation {
            Ok(t) if self.args.json => {
                let report = Report {
                    source_ids: &t.source_ids,
                    target_ids: &t.target_ids,
                    logits_crc: t.logits_crc,
                    alignment_crc: t.alignment_crc,
                    ..Report::of(&source, &t.target, &t.outcome)
                };
                let each = source.len() + t.target.len() + t.source_ids.len() + t.target_ids.len();
                let line = written(each, |room| report.write(room))?;
                Ok(if self.args.alignment { with_alignment(&line, &t) } else { line })
            }
            Ok(t) => {
                if !t.outcome.warnings.is_empty() {
                    warn(&format!("phrase {}: {}", self.line, t.outcome.warnings));
                }
                Ok(t.target)
            }
            Err(error) => {
                self.failed += 1;
                complain(&format!("phrase {}: {error}", self.line));
                if !self.args.json {
                    return Ok(String::new());
                }
                let words = error.to_string();
                written(words.len(), |room| ErrorReport { error: &words }.write(room))
            }
        }
    }
}

/// The JSON line with one more field.
fn with_alignment(line: &str, translation: &Translation) -> String {
    let tokens: Vec<serde_json::Value> = translation
        .alignment
        .iter()
        .map(|a| {
            serde_json::json!({
                "target": [a.target.start, a.target.end], "source": [a.source.start, a.source.end], "nats_q7": a.nats,
                "confidence": a.confidence.map(|q15| (f64::from(q15) / 327.68).round())
            })
        })
        .collect();
    format!("{},\"alignment\":{}}}", line.strip_suffix('}').unwrap_or(line), serde_json::Value::from(tokens))
}

/// What `write` puts into room enough for `each` bytes and ids.
fn written(each: usize, write: impl FnOnce(&mut [u8]) -> Result<usize, Error>) -> Result<String> {
    let mut room = vec![0; JSON_FRAME + JSON_EACH * each];
    let len = write(&mut room)?;
    room.truncate(len);
    Ok(String::from_utf8(room)?)
}

/// Whether the reader of standard output has gone.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
