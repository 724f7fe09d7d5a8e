//! `cargo xtask board`: boots a board and talks to it, or flashes one.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use model_gen::cli::{parse_blob, read_blob};

use crate::firmware::{self, Firmware, Models};
use crate::hardware::{self, HARDWARE, Hardware};
use crate::machines::{self, Engine, Machine};
use crate::qemu::{self, Board};
use crate::shipped::shipped_blob;
use crate::{setup, shell};

/// Arguments of `cargo xtask board`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board; without it, the boards are listed.
    name: Option<String>,
    /// Phrases to translate; without them, lines of standard input, among them commands such as `:help`.
    text: Vec<String>,
    /// The blob to link, or several for `:model N` to choose from; the shipped model by default.
    #[arg(long)]
    blob: Vec<PathBuf>,
    /// Link no blob: the firmware finds those in the image of `--blob`, which is loaded into the board's flash (see
    /// `model-gen image`), in so many bytes of arena.
    #[arg(long, value_name = "ARENA")]
    apart: Option<usize>,
    /// The engine to build, for which the blob must be.
    #[arg(long, default_value = "int8")]
    engine: Engine,
    /// Keep sessions on a heap, where the board has one.
    #[arg(long, conflicts_with = "beam")]
    heap: bool,
    /// Leave room for a beam search by four hypotheses, which `:beam N` turns on.
    #[arg(long)]
    beam: bool,
    /// Answer in JSON, as `model-gen translate --json` does.
    #[arg(long)]
    json: bool,
    /// Put the serial line behind this TCP port of the host, for `model-gen device --port tcp:127.0.0.1:PORT`, and boot when the
    /// first connects.
    #[arg(long, value_name = "PORT", conflicts_with_all = ["text", "json"])]
    listen: Option<u16>,
    /// Build with `defmt` and write its frames to this file; `defmt-print -e FIRMWARE < FILE` shows them.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Flash the firmware, and the image if it lies apart, to a board of silicon; else the commands are printed.
    #[arg(long)]
    flash: bool,
}

/// Builds, boots, talks.
pub fn run(args: &Args) -> Result<()> {
    let Some(name) = &args.name else {
        for machine in machines::all() {
            println!("{:<16} {} ({})", machine.name, machine.about, machine.target);
        }
        for board in HARDWARE {
            println!("{:<16} {} ({})", board.name, board.about, board.target);
        }
        return Ok(());
    };
    if let Some(hardware) = hardware::find(name) {
        return flash(hardware, args);
    }
    let machine = machines::find(name)?;
    if !machine.has_models() && args.text.is_empty() && args.blob.is_empty() {
        return run_kernels(machine);
    }
    let (elf, image) = build_for(Firmware::new(machine, None, args.engine)?, args)?;
    setup::qemu(machine)?;
    let mut qemu = match args.listen {
        Some(port) => qemu::listening(machine, &elf, port),
        None => qemu::command(machine, &elf),
    };
    if let Some(image) = &image {
        qemu::with_model(&mut qemu, &elf, image)?;
    }
    if let Some(log) = &args.log {
        eprintln!("firmware: {}", elf.display());
        qemu.stderr(File::create(log).with_context(|| format!("cannot write `{}`", log.display()))?);
    }
    if args.listen.is_some() {
        // Ends with `:exit`, or from here.
        return shell::run(&mut qemu);
    }
    let mut board = Board::start(&mut qemu)?;
    eprintln!("{}", board.greeting);
    if args.json {
        board.ask(":json")?;
    }
    if args.text.is_empty() {
        talk(board)
    } else {
        for text in &args.text {
            println!("{}", board.ask(text)?);
        }
        end(board)
    }
}

/// Builds a board's firmware as the arguments want it; the image of models too, if they lie apart.
fn build_for(firmware: Firmware, args: &Args) -> Result<(PathBuf, Option<PathBuf>)> {
    let image = match (args.apart, &args.blob[..]) {
        (None, blobs) => {
            blobs.iter().try_for_each(|blob| check_blob(blob, args.engine))?;
            None
        }
        (Some(_), []) => Some(shipped_blob(args.engine)?),
        (Some(_), [image]) => Some(image.clone()),
        (Some(_), _) => bail!("`--apart` takes one image: put the blobs into it with `model-gen image`"),
    };
    eprintln!("building the firmware of {}", firmware.board);
    let defmt = args.log.is_some();
    let extra: &[_] = match (args.heap, args.beam) {
        (true, _) => &["alloc"],
        (_, true) => &["beam"],
        _ => &[],
    };
    let mut firmware = Firmware { defmt, extra, ..firmware };
    if let Some(arena) = args.apart {
        firmware = firmware.with_models(Models::Apart { arena })?;
    } else if !args.blob.is_empty() {
        firmware = firmware.with_models(Models::Linked(args.blob.clone()))?;
    }
    Ok((firmware.build()?, image))
}

/// Builds the firmware of a board of silicon and says how to flash it, or does.
fn flash(hardware: &'static Hardware, args: &Args) -> Result<()> {
    if !args.text.is_empty() || args.json || args.log.is_some() {
        bail!("{} is no emulator: flash it, and talk to it over its console", hardware.name);
    }
    let (elf, image) = build_for(Firmware::for_hardware(hardware, None, args.engine)?, args)?;
    hardware.flash(&elf, image.as_deref(), args.flash)
}

/// Boots a firmware that asks for nothing and shows what it says.
fn run_kernels(machine: &'static Machine) -> Result<()> {
    eprintln!("building the firmware of {}", machine.name);
    let elf = firmware::build_kernels(machine, &[])?;
    setup::qemu(machine)?;
    shell::run(&mut qemu::command(machine, &elf))
}

/// Says in words what the firmware's build would say as a compile error.
fn check_blob(path: &Path, engine: Engine) -> Result<()> {
    let bytes = read_blob(path)?;
    let packed_for = parse_blob(path, &bytes)?.blob().engine().name();
    if packed_for != engine.name() {
        bail!("{}: packed for the {packed_for} engine; say `--engine {packed_for}`", path.display());
    }
    Ok(())
}

/// Forwards lines of standard input until it ends or asks for `:exit`.
fn talk(mut board: Board) -> Result<()> {
    let prompt = || {
        if io::stdin().is_terminal() {
            eprint!("> ");
            let _ = io::stderr().flush();
        }
    };
    prompt();
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        // A CR inside would end a line early and leave an answer nobody reads.
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        for part in line.split(|&byte| byte == b'\r') {
            if part.trim_ascii() == b":exit" {
                return end(board);
            }
            let mut line = board.ask_bytes(part)?;
            while let Some(next) = board.more(&line) {
                println!("{line}");
                line = next?;
            }
            println!("{line}");
        }
        prompt();
    }
    end(board)
}

fn end(board: Board) -> Result<()> {
    let status = board.exit()?;
    if !status.success() {
        bail!("the firmware ended with {status}");
    }
    Ok(())
}

/// Builds a firmware and prints where it lies.
pub fn build(name: &str, blob: Option<PathBuf>, engine: Engine) -> Result<()> {
    if let Some(hardware) = hardware::find(name) {
        println!("{}", Firmware::for_hardware(hardware, blob.as_deref(), engine)?.build()?.display());
        return Ok(());
    }
    let machine = machines::find(name)?;
    let elf = match blob {
        None if !machine.has_models() => firmware::build_kernels(machine, &[])?,
        blob => Firmware::new(machine, blob.as_deref(), engine)?.build()?,
    };
    println!("{}", elf.display());
    Ok(())
}
