//! `model-gen device`.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use indicatif::ProgressBar;
use latimer::Limits;
use serde_json::Value;

use super::translate::is_broken_pipe;
use super::{complain, parse_blob, read_blob, warn};
use crate::aligned::AlignedBytes;
use crate::device::host::Host;
use crate::device::link::ports;
use crate::device::verify::{Verdict, compare};
use crate::device::{About, Address, Answer, Device, Fault};
use crate::score::pairs::read_pairs;

/// Arguments of `device`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board's serial port, as `device ports` lists them, or tcp:HOST:PORT.
    #[arg(long, value_name = "PATH", global = true)]
    port: Option<Address>,
    /// Bits a second of a serial port.
    #[arg(long, value_name = "N", global = true, default_value_t = 115_200)]
    baud: u32,
    /// Seconds that the board may take for an answer.
    #[arg(long, value_name = "S", global = true, default_value = "30", value_parser = seconds)]
    timeout: Duration,
    #[command(subcommand)]
    action: Action,
}

/// What is to be done with the board.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Translate phrases on the board.
    Translate {
        /// Phrases; without any, one phrase a line from standard input.
        text: Vec<String>,
        /// The board's JSON lines.
        #[arg(long)]
        json: bool,
    },
    /// Tell which board and model it is.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell arena, stack and time of the last phrase.
    Stats {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let the board compare its engine with the golden vectors in its blob; fails where they differ.
    Selftest,
    /// Compare the board's ids, texts and checksums with the host's; fails where they differ, and names the first layer that does.
    ///
    /// `:max`, `:beam` and `:raw` go back to what they are when a board starts.
    Verify(VerifyArgs),
    /// List serial ports.
    Ports,
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    /// The blob that the board should have.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Lines of source, tab, target; the sources are compared.
    #[arg(long, value_name = "TSV")]
    pairs: PathBuf,
    /// Phrases at most, spread over all of the pairs.
    #[arg(long, value_name = "N")]
    phrases: Option<std::num::NonZeroUsize>,
    /// Compare even if the board has another model, to see where they part.
    #[arg(long)]
    any_model: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give a number of seconds from 0.01 to 86400".to_owned()),
    }
}

/// Does what is asked for with lines of `input`, and tells whether all went well; what is not an answer goes to standard error.
pub fn run(args: &Args, input: impl BufRead, out: &mut impl Write) -> Result<bool> {
    if let Action::Ports = args.action {
        let found = ports()?;
        found.iter().try_for_each(|port| writeln!(out, "{port}"))?;
        ensure!(!found.is_empty(), "there is no serial port: plug a board in");
        return Ok(true);
    }
    let port = args.port.as_ref().context("--port is missing: give one that `model-gen device ports` lists")?;
    let mut device = Device::open(port, args.baud, args.timeout)?;
    let done = match &args.action {
        Action::Translate { text, json } => translate(&mut device, text, *json, input, out)?,
        Action::Info { json } => tell(&device.info()?, *json, out)?,
        Action::Stats { json } => tell(&device.stats()?, *json, out)?,
        Action::Selftest => self_test(&mut device, out)?,
        Action::Verify(verify) => self::verify(&mut device, verify, out)?,
        Action::Ports => true,
    };
    out.flush()?;
    Ok(done)
}

/// [`run`] with standard input and output; a reader that has gone is no error.
pub fn run_std(args: &Args) -> Result<ExitCode> {
    match run(args, std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) if !is_broken_pipe(&error) => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn translate(
    device: &mut Device,
    text: &[String],
    json: bool,
    input: impl BufRead,
    out: &mut impl Write,
) -> Result<bool> {
    let (mut count, mut failed) = (0, 0);
    let mut one = |phrase: &str| -> Result<()> {
        count += 1;
        let answer = match device.translate(phrase) {
            Ok(answer) => answer,
            Err(error) => {
                let Fault::Refused(words) = &error.fault else { return Err(error.into()) };
                complain(&format!("phrase {count}: {words}"));
                failed += 1;
                // So that lines keep their places.
                let line = if json { serde_json::json!({ "error": words }).to_string() } else { String::new() };
                return Ok(writeln!(out, "{line}")?);
            }
        };
        let line = if json { &answer.line } else { answer.value["target"].as_str().unwrap_or_default() };
        let warnings: Vec<&str> =
            answer.value["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !json && !warnings.is_empty() {
            warn(&format!("phrase {count}: {}", warnings.join(", ")));
        }
        // Somebody may be waiting for it.
        Ok(writeln!(out, "{line}").and_then(|()| out.flush())?)
    };
    if text.is_empty() {
        for line in input.lines() {
            let line = line.context("standard input cannot be read as UTF-8")?;
            one(line.strip_suffix('\r').unwrap_or(&line))?;
        }
    } else {
        text.iter().try_for_each(|phrase| one(phrase))?;
    }
    if failed > 0 {
        complain(&format!("{failed} of {count} phrases could not be translated"));
    }
    Ok(failed == 0)
}

/// Each field on a line of its own, or the line as it came.
fn tell(answer: &Answer, json: bool, out: &mut impl Write) -> Result<bool> {
    if json {
        writeln!(out, "{}", answer.line)?;
        return Ok(true);
    }
    for (name, value) in answer.value.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::String(text) => writeln!(out, "{name:<24} {text}")?,
            Value::Number(crc) if name.ends_with("_crc") => {
                writeln!(out, "{name:<24} {:08x}", crc.as_u64().unwrap_or_default())?;
            }
            other => writeln!(out, "{name:<24} {other}")?,
        }
    }
    Ok(true)
}

fn self_test(device: &mut Device, out: &mut impl Write) -> Result<bool> {
    match device.self_test() {
        Ok(vectors) => writeln!(out, "self-test passed: {vectors} vectors")?,
        Err(error) if matches!(error.fault, Fault::Refused(_)) => bail!("self-test failed: {error}"),
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

fn verify(device: &mut Device, args: &VerifyArgs, out: &mut impl Write) -> Result<bool> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let all = read_pairs(&args.pairs, 1)?;
    let header = model.blob().container().header();
    let wanted = |about: &About| {
        let bytes = about.blob == u64::from(header.total_len) && about.model_version == header.model_version;
        bytes && about.blob_crc == header.header_crc
    };
    let before = device.about()?.number;
    let about = find_model(device, before, wanted)?;
    if !wanted(&about) && !args.any_model {
        bail!(another(&about, &args.blob, model.blob().meta("name"), header));
    }
    let limits = Limits { source_tokens: about.source_tokens, target_tokens: about.target_tokens, ..Limits::DEFAULT };
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits)?);
    let mut host = Host::new(&model, &mut arena, limits)?;
    let count = args.phrases.map_or(all.len(), |count| all.len().min(count.get()));
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
    let mut equal = 0;
    for number in 0..count {
        let phrase = &all[number * all.len() / count].source;
        match compare(device, &mut host, phrase)? {
            Verdict::Equal => equal += 1,
            Verdict::Differs(what) => bar.suspend(|| writeln!(out, "{phrase:?}: {what}"))?,
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    writeln!(out, "{equal} of {count} phrases equal")?;
    if about.number != before {
        device.open_model(before)?;
    }
    Ok(equal == count)
}

/// Opens the model that is wanted anew, so that all is as when a board starts; the one that is on where none is.
fn find_model(device: &mut Device, before: usize, wanted: impl Fn(&About) -> bool) -> Result<About> {
    device.whole_text()?;
    let about = device.open_model(before)?;
    if wanted(&about) {
        return Ok(about);
    }
    for number in (1..=about.models).filter(|&number| number != before) {
        let other = device.open_model(number)?;
        if wanted(&other) {
            return Ok(other);
        }
    }
    Ok(device.open_model(before)?)
}

fn another(about: &About, path: &Path, name: Option<&str>, header: &latimer::blob::layout::Header) -> anyhow::Error {
    let About { board, model, blob, model_version, blob_crc, .. } = about;
    anyhow!(
        "{board} has {model}, {blob} bytes, version {model_version}, checksum {blob_crc:08x}; {} is {}, {} bytes, version {}, \
         checksum {:08x}: flash it or give the blob that is on the board; --any-model compares them nonetheless",
        path.display(),
        name.unwrap_or("unnamed"),
        header.total_len,
        header.model_version,
        header.header_crc,
    )
}
