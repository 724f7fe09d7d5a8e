//! `cargo xtask docs`: the parts of the documentation that are written from the code.

mod example;
mod format;
mod functions;
mod port;
mod speed;

use std::fs;

use anyhow::{Context, Result, bail};
use model_gen::cli::write_whole;

use crate::generated::replace;
use crate::paths;

/// Arguments of `docs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write nothing; fail where a file is out of step with the code.
    #[arg(long)]
    check: bool,
}

/// The parts of a document, by name.
type Parts = Vec<(&'static str, String)>;

/// Rewrites the generated parts and the example's blob, or checks that they are as they would be written.
pub fn run(args: &Args) -> Result<()> {
    let read = |file: &str| fs::read(paths::root().join(file)).with_context(|| format!("cannot read `{file}`"));
    let code = example::code(&String::from_utf8(read("src/lib.rs")?)?)?;
    let documents = [
        ("README.md", vec![("example", code)]),
        ("docs/blob-format.md", format::parts()),
        ("docs/numerics.md", functions::parts()),
        ("docs/book/port.md", port::parts()?),
    ];
    let mut files = vec![("src/example.blob", example::blob()?), (speed::FILE, speed::table()?.into_bytes())];
    for (file, parts) in documents {
        let text = rewrite(&String::from_utf8(read(file)?)?, parts).with_context(|| format!("`{file}`"))?;
        files.push((file, text.into_bytes()));
    }
    files.retain(|(file, new)| read(file).ok().as_ref() != Some(new));
    let stale: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
    if stale.is_empty() {
        println!("what is written from the code is up to date");
    } else if args.check {
        bail!("out of step with the code: {}; run `cargo xtask docs`", stale.join(", "));
    } else {
        files.iter().try_for_each(|(file, new)| write_whole(&paths::root().join(file), new))?;
        println!("rewritten: {}", stale.join(", "));
    }
    Ok(())
}

fn rewrite(text: &str, parts: Parts) -> Result<String> {
    parts
        .into_iter()
        .try_fold(text.to_owned(), |text, (name, part)| replace(&text, &format!("cargo xtask docs {name}"), &part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_up_to_date() {
        run(&Args { check: true }).unwrap();
    }
}
