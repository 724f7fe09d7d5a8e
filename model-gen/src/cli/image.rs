//! `model-gen image`.

use super::{parse_blob, print, read_blob, write_whole};
use crate::boards::{Board, Format, image};
use anyhow::{Context, Result, bail, ensure};
use latimer::EngineKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `image`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The board; `model-gen boards` lists them.
    #[arg(long, value_name = "NAME")]
    board: String,
    /// The blob; several are flashed one after the other, and `:model N` chooses.
    #[arg(long, value_name = "FILE", required = true)]
    blob: Vec<PathBuf>,
    /// The image; its ending, `.uf2`, `.hex` or `.bin`, chooses the format.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Writes models as an image for a board's flash, apart from the firmware.
pub fn run(args: &Args) -> Result<ExitCode> {
    let board = Board::find(&args.board)?;
    let format = format_of(board, &args.out)?;
    let mut blobs = Vec::new();
    let mut engines: Vec<(EngineKind, &Path)> = Vec::new();
    for path in &args.blob {
        let same = path.canonicalize().ok().zip(args.out.canonicalize().ok()).is_some_and(|(blob, out)| blob == out);
        ensure!(!same, "--out {}: is a blob that is read; give another name", args.out.display());
        let bytes = read_blob(path)?;
        let model = parse_blob(path, &bytes)?;
        engines.push((model.blob().engine(), path));
        let len = model.blob().len();
        blobs.push((bytes, len));
    }
    if let Some((engine, path)) = engines.iter().find(|(engine, _)| *engine != engines[0].0) {
        let first = engines[0].0.name();
        bail!("{}: packed for the {} engine, the first for {first}: a firmware has one", path.display(), engine.name());
    }
    let parts: Vec<&[u8]> = blobs.iter().map(|(bytes, len)| &bytes[..*len]).collect();
    let flash = image::lay_out(board, &parts);
    let found = latimer::blob::find(&crate::aligned::AlignedBytes::copy_of(&flash)).count();
    ensure!(found == blobs.len(), "a firmware would find {found} models in this image of {}", blobs.len());
    let file = image::write(board, format, &flash)?;
    write_whole(&args.out, &file)?;
    let out = args.out.display().to_string();
    print(&format!(
        "{out}: {} bytes of models for {:#x}, {} of {}\n{}\n",
        flash.len(),
        board.model_address,
        file.len(),
        format.extension(),
        if format == board.format {
            board.flash_command(&out)
        } else {
            "flash it with a tool that takes this format".to_owned()
        },
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The format that the ending of `out` names.
fn format_of(board: &Board, out: &Path) -> Result<Format> {
    let extension = out.extension().and_then(|extension| extension.to_str());
    let advice = || {
        format!(
            "--out {}: end it with .uf2, .hex or .bin; this board's own is .{}",
            out.display(),
            board.format.extension()
        )
    };
    match extension.with_context(advice)? {
        "bin" => Ok(Format::Bin),
        "hex" => Ok(Format::Hex),
        "uf2" => match board.format {
            Format::Uf2 { .. } => Ok(board.format),
            _ => bail!("--out {}: {} takes no UF2; give .{}", out.display(), board.name, board.format.extension()),
        },
        _ => bail!(advice()),
    }
}
