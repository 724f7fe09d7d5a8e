//! `cargo xtask report`: the shipped model evaluated in both engines, its report checked in a real browser, and the
//! picture of it in the documentation.

mod browser;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use latimer::{Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::evaluate;
use model_gen::report::Folder;
use model_gen::score::pairs::{MAX_REFERENCES, Phrase, read_pairs};

use crate::machines::Engine;
use crate::paths;
use crate::shipped::shipped_blob;
use browser::Browser;

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lines of source, tab, target [default: ../shared/data/en-es/test.tsv].
    #[arg(long, value_name = "TSV")]
    pairs: Option<PathBuf>,
    /// Distinct sources at most.
    #[arg(long, value_name = "N", default_value_t = 300)]
    limit: usize,
}

/// The picture.
const PICTURE: &str = "docs/report.png";
/// Its width and height in pixels: all charts, down into the memory map.
const SIZE: [u32; 2] = [1120, 2240];
/// What the picture may weigh.
const MOST_BYTES: usize = 400_000;

/// Evaluates, checks and photographs.
pub fn run(args: &Args) -> Result<()> {
    let pairs = args.pairs.clone().unwrap_or_else(|| paths::root().join("../shared/data/en-es/test.tsv"));
    if !pairs.is_file() {
        println!("skipped: no `{}`; name a file with --pairs", pairs.display());
        return Ok(());
    }
    let browser = Browser::find()?;
    prove(&browser)?;

    let mut phrases = read_pairs(&pairs, MAX_REFERENCES)?;
    phrases.truncate(args.limit);
    let folder = paths::artifacts().join("report");
    // Evaluations of before are of no concern here.
    let _ = fs::remove_dir_all(&folder);
    let mut page = PathBuf::new();
    for engine in [Engine::F16, Engine::Int8] {
        println!("evaluating {} on {} phrases", engine.name(), phrases.len());
        page = report(engine, &phrases, &folder)?;
    }
    println!("{}", page.display());

    let faults = browser.faults(&page)?;
    ensure!(faults.is_empty(), "`{}` in the browser:\n{}", page.display(), faults.join("\n"));
    let picture = paths::root().join(PICTURE);
    // First into the target folder: an old picture is better than a bad one.
    let unfinished = folder.join("report.png");
    browser.photograph(&page, SIZE, &unfinished)?;
    let bytes = fs::read(&unfinished)?;
    ensure!(bytes.len() <= MOST_BYTES, "the picture has {} bytes, more than {MOST_BYTES}", bytes.len());
    fs::write(&picture, &bytes).with_context(|| format!("cannot write `{PICTURE}`"))?;
    println!("{PICTURE}: {} bytes; no error in the console, nothing asked of the network", bytes.len());
    Ok(())
}

fn report(engine: Engine, phrases: &[Phrase], folder: &Path) -> Result<PathBuf> {
    let path = shipped_blob(engine)?;
    let blob = AlignedBytes::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let model = Model::from_bytes(&blob)?;
    let evaluation = evaluate(&model, &paths::root().join("models/en-es-nano"), phrases, Limits::DEFAULT, || {})?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Folder::open(folder)?.write(&evaluation, &name)
}

/// A check that never fires proves nothing: it must find what these pages do.
fn prove(browser: &Browser) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.html");
    for (html, wanted) in [
        ("<img src=\"http://example.invalid/image.png\">", "http://example.invalid/image.png"),
        ("<link rel=stylesheet href=\"https://example.invalid/style.css\">", "https://example.invalid/style.css"),
        ("<script>throw new Error('faulty script')</script>", "faulty script"),
    ] {
        fs::write(&page, format!("<!DOCTYPE html><title>faulty</title>{html}"))?;
        let faults = browser.faults(&page)?;
        if !faults.iter().any(|fault| fault.contains(wanted)) {
            bail!("this browser does not tell of `{html}`, so nothing can be checked with it; found: {faults:?}");
        }
    }
    fs::write(&page, "<!DOCTYPE html><title>sound</title>")?;
    let faults = browser.faults(&page)?;
    ensure!(faults.is_empty(), "this browser finds fault with an empty page: {faults:?}");
    Ok(())
}
