//! `model-gen extras`.

use super::{parse_blob, print, read_blob, write_whole};
use crate::pack::extras_of;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `extras`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A blob with a guide, a shortlist or a glossary.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// The file to write: `extras.bin` in a checkpoint's directory is packed with it.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Writes the file.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    parse_blob(&args.blob, &bytes)?;
    let extras = extras_of(&bytes)?.with_context(|| {
        let path = args.blob.display();
        format!("{path}: has none; `model-gen guide`, `shortlist` and `glossary` add to a blob")
    })?;
    write_whole(&args.out, &extras)?;
    print(&format!("{}: {} bytes\n", args.out.display(), extras.len()))?;
    Ok(ExitCode::SUCCESS)
}
