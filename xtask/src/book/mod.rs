//! `cargo xtask book`: the documentation as a book to read.

pub mod links;
pub mod page;

use std::process::Command;

use anyhow::{Result, bail};

use crate::{paths, setup, shell};

/// Checks the pages and builds the book.
pub fn run() -> Result<()> {
    let problems = links::problems(&paths::root())?;
    if !problems.is_empty() {
        bail!("the documentation does not hold together:\n  {}", problems.join("\n  "));
    }
    setup::mdbook()?;
    let out = paths::target().join("book");
    let mut mdbook = Command::new("mdbook");
    shell::run(mdbook.arg("build").arg(paths::root().join("docs")).arg("--dest-dir").arg(&out))?;
    println!("{}", out.join("index.html").display());
    Ok(())
}
