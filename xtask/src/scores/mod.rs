//! `cargo xtask scores`: what the shipped model and its engines score, written into the documents that say so.

mod boards;
mod measure;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use latimer::EngineKind;
use model_gen::pack::Options;

use crate::generated::{replace, table};
use crate::paths;
use measure::{Outputs, Set, engine, float};

/// Arguments of `scores`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder with dev.tsv and test.tsv, `SOURCE<TAB>TARGET` lines [default: ../shared/data/en-es].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The trained float32 checkpoint that the shipped model was made from [default: ../shared/models/en-es-nano].
    #[arg(long, value_name = "DIR")]
    original: Option<PathBuf>,
    /// Count instructions on the emulated boards instead.
    #[arg(long)]
    boards: bool,
}

/// Where the figures go.
const CARD: &str = "models/en-es-nano/README.md";
const NUMERICS: &str = "docs/numerics.md";

/// Measures and writes.
pub fn run(args: &Args) -> Result<()> {
    let shipped = paths::root().join("models/en-es-nano");
    if args.boards {
        return write(NUMERICS, "cargo xtask scores --boards", &boards::instructions(&shipped)?);
    }
    let shared = paths::root().join("../shared");
    let data = args.data.clone().unwrap_or_else(|| shared.join("data/en-es"));
    let original = args.original.clone().unwrap_or_else(|| shared.join("models/en-es-nano"));
    for folder in [&data, &original] {
        if !folder.is_dir() {
            println!("skipped: no `{}`; name it with --data or --original", folder.display());
            return Ok(());
        }
    }
    let (dev, test) = (Set::read(&data.join("dev.tsv"))?, Set::read(&data.join("test.tsv"))?);
    write(CARD, "cargo xtask scores", &card(&shipped, &original, &dev, &test)?)
}

fn write(file: &str, command: &str, part: &str) -> Result<()> {
    println!("{file}:\n\n{part}");
    let path = paths::root().join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{file}`"))?;
    let text = replace(&text, command, part).with_context(|| format!("`{file}`"))?;
    fs::write(&path, text).with_context(|| format!("cannot write `{file}`"))
}

/// Scores on both sets, and how many phrases get the very ids that the original float model gives.
fn card(shipped: &Path, original: &Path, dev: &Set, test: &Set) -> Result<String> {
    let (base_dev, base_test) = (float(original, dev)?, float(original, test)?);
    let run = |dir: &Path, kind: Option<EngineKind>| -> Result<[Outputs; 2]> {
        let of = |set| match kind {
            Some(kind) => engine(dir, &Options::new(kind), set),
            None => float(dir, set),
        };
        Ok([of(dev)?, of(test)?])
    };
    let mut rows = vec![("trained checkpoint, float32".to_owned(), base_dev, base_test.clone())];
    for (name, dir, kind) in [
        ("this copy, f16 weights run in float32", shipped, None),
        ("f16 blob of this copy", shipped, Some(EngineKind::F16)),
        ("int8 blob of this copy", shipped, Some(EngineKind::Int8)),
        ("int8 blob of the trained checkpoint", original, Some(EngineKind::Int8)),
    ] {
        let [on_dev, on_test] = run(dir, kind)?;
        rows.push((name.to_owned(), on_dev, on_test));
    }
    let cells = rows.into_iter().map(|(name, on_dev, on_test)| -> [String; 7] {
        let ([dev_bleu, dev_chrf], [test_bleu, test_chrf]) = (on_dev.scores(), on_test.scores());
        [name, on_dev.bytes.to_string(), dev_bleu, dev_chrf, test_bleu, test_chrf, on_test.same_as(&base_test)]
    });
    let head = ["weights", "bytes", "dev BLEU", "dev chrF", "test BLEU", "test chrF", "test phrases as float32"];
    Ok(table(&head, cells))
}
