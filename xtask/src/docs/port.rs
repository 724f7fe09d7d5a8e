//! The example of the chapter on ports: the files of a board's crate and its row in the table, as they are in the tree.

use std::fs;

use anyhow::{Context, Result};

use super::Parts;
use crate::paths;

/// The board that the chapter makes step by step.
const BOARD: &str = "qemu-an521";

/// Every generated part.
pub fn parts() -> Result<Parts> {
    let part =
        |language, file: &str| Ok::<_, anyhow::Error>(block(language, &read(&format!("boards/{BOARD}/{file}"))?));
    Ok(vec![
        ("config.toml", part("toml", ".cargo/config.toml")?),
        ("Cargo.toml", part("toml", "Cargo.toml")?),
        ("memory.x", part("text", "memory.x")?),
        ("main.rs", part("rust,ignore", "src/main.rs")?),
        ("machine", block("rust,ignore", &entry(&read("xtask/src/machines.rs")?, BOARD)?)),
    ])
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(paths::root().join(file)).with_context(|| format!("cannot read `{file}`"))
}

fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```", text.trim())
}

/// The board's row in the source of the table, moved to the left margin.
fn entry(source: &str, board: &str) -> Result<String> {
    let mut rows = source.split_inclusive("\n    },\n").filter_map(|row| Some(row.rsplit_once("    Machine {\n")?.1));
    let name = format!("name: \"{board}\",");
    let row = rows.find(|row| row.contains(&name)).with_context(|| format!("no `{board}` in the table"))?;
    let lines = row.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    Ok(format!("Machine {{\n{}", lines.collect::<Vec<_>>().join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_of_the_table() {
        let source = "&[\n    Machine {\n        name: \"a\",\n    },\n    Machine {\n        name: \"b\",\n        c: 1,\n    },\n];\n";
        assert_eq!(entry(source, "b").unwrap(), "Machine {\n    name: \"b\",\n    c: 1,\n},");
        assert!(entry(source, "c").is_err());
    }
}
