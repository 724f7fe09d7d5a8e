//! The example of the crate's documentation: its code in the README, and the small blob that lets it compile and run.

use std::fs;

use anyhow::{Context, Result};
use latimer::EngineKind;
use model_gen::pack::{Options, pack};
use model_gen::testing::{RandomSpec, write_random_checkpoint};

/// A model of random weights: its translations mean nothing, and it is small enough to lie beside the code.
pub fn blob() -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    // The folder's name becomes the model's.
    let checkpoint = folder.path().join("example");
    fs::create_dir(&checkpoint)?;
    let spec = RandomSpec {
        d_model: 8,
        heads: 2,
        ffn: 8,
        vocab: 16,
        encoder_layers: 1,
        decoder_layers: 1,
        activation: "relu",
        seed: 1,
        ..RandomSpec::default()
    };
    write_random_checkpoint(&checkpoint, &spec)?;
    Ok(pack(&checkpoint, &Options::new(EngineKind::Int8))?.bytes)
}

/// The first code block of a crate's documentation as a reader sees it: without hidden lines.
pub fn code(source: &str) -> Result<String> {
    let mut lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.find(|line| line.trim_start().starts_with("```")).context("the documentation has no code")?;
    let block = lines.take_while(|line| line.trim() != "```").map(|line| line.strip_prefix(' ').unwrap_or(line));
    let shown: Vec<&str> = block.filter(|line| !line.starts_with("# ")).collect();
    Ok(format!("```rust\n{}\n```", shown.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_is_not_hidden() {
        let source = "//! Text.\n//!\n//! ```\n//! let a = 1;\n//!\n//! # hidden();\n//! b();\n//! ```\n//! more\n";
        assert_eq!(code(source).unwrap(), "```rust\nlet a = 1;\n\nb();\n```");
        assert!(code("//! none\nfn main() {}").is_err());
    }

    #[test]
    fn the_blob_is_the_same_every_time_and_translates() {
        let blob = blob().unwrap();
        assert_eq!(blob, super::blob().unwrap());
        let blob = model_gen::aligned::AlignedBytes::copy_of(&blob);
        assert_eq!(latimer::Model::from_bytes(&blob).unwrap().meta("name"), Some("example"));
    }
}
