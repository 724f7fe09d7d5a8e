//! `cargo xtask docs`: the parts of the documentation that are written from the code.

mod format;
mod functions;

use std::fs;

use anyhow::{Context, Result, bail};

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

/// Rewrites the generated parts, or checks that they are as they would be written.
pub fn run(args: &Args) -> Result<()> {
    let documents = [("docs/blob-format.md", format::parts()), ("docs/numerics.md", functions::parts())];
    let mut stale = Vec::new();
    for (file, parts) in documents {
        let path = paths::root().join(file);
        let old = fs::read_to_string(&path).with_context(|| format!("cannot read `{file}`"))?;
        let new = rewrite(&old, parts).with_context(|| format!("`{file}`"))?;
        if new == old {
            continue;
        }
        stale.push(file);
        if !args.check {
            fs::write(&path, new).with_context(|| format!("cannot write `{file}`"))?;
        }
    }
    match (args.check, stale.is_empty()) {
        (_, true) => println!("the generated parts of the documentation are up to date"),
        (false, false) => println!("rewritten: {}", stale.join(", ")),
        (true, false) => bail!("out of step with the code: {}; run `cargo xtask docs`", stale.join(", ")),
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
