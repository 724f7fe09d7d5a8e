//! Ids of a target text, for teacher forcing. A blob can only turn target ids into text, since that is all a device
//! needs; here `target.spm` and the target vocabulary become a tokenizer of their own.

use crate::aligned::AlignedBytes;
use crate::import::error::read_file;
use crate::import::spm::SpmModel;
use crate::import::tokenizer::{SpecialIds, tokenizer_sections};
use crate::import::vocab::Vocab;
use crate::import::{CheckpointDir, Config, Vocabularies};
use anyhow::{Context, Result};
use latimer::text::{EncodeWork, Node, Tokenizer};
use std::path::Path;

/// More bytes than SentencePiece's NFKC charsmap makes of one: U+FDFA, three bytes, becomes 15 letters of two and three
/// spaces of three.
const MAX_GROWTH: usize = 18;

/// Sections of a tokenizer whose source side is the checkpoint's target side.
pub(crate) struct SideTokenizer {
    tokenizer: AlignedBytes,
    vocab: AlignedBytes,
    eos_id: u16,
}

impl SideTokenizer {
    /// Of the target side.
    pub fn target(dir: &CheckpointDir, config: &Config, vocabularies: &Vocabularies) -> Result<Self> {
        Self::of(&dir.target_spm(), "target.spm", config, &vocabularies.target)
    }

    /// The same for the source side, without a blob.
    pub fn source(dir: &CheckpointDir, config: &Config, vocabularies: &Vocabularies) -> Result<Self> {
        Self::of(&dir.source_spm(), "source.spm", config, &vocabularies.source)
    }

    fn of(path: &Path, name: &str, config: &Config, vocab: &Vocab) -> Result<Self> {
        let bytes = read_file(path, "copy the whole checkpoint directory")?;
        let spm = SpmModel::parse(name, &bytes)?;
        let unk = vocab.id("<unk>").with_context(|| format!("{}: no piece \"<unk>\"", vocab.name()))?;
        // The blob fits the checkpoint, so these do fit 16 bits.
        let ids = SpecialIds {
            eos: u16::try_from(config.eos_token_id)?,
            pad: u16::try_from(config.pad_token_id)?,
            unk: u16::try_from(unk)?,
            language: None,
        };
        let sections = tokenizer_sections(&spm, &spm, vocab, None, ids)?;
        let (tokenizer, vocab) =
            (AlignedBytes::copy_of(&sections.tokenizer), AlignedBytes::copy_of(&sections.source_vocab));
        Tokenizer::parse(&tokenizer, &vocab, None).context("target.spm: the tokenizer made from it cannot be read")?;
        Ok(Self { tokenizer, vocab, eos_id: ids.eos })
    }

    /// Ids of `text`, end of sentence included.
    pub fn encode(&self, text: &str) -> Result<Vec<u16>> {
        let tokenizer = Tokenizer::parse(&self.tokenizer, &self.vocab, None)?;
        let room = MAX_GROWTH * text.len() + 8;
        let (mut normalized, mut nodes, mut ids) = (vec![0; room], vec![Node::default(); room], vec![0; room]);
        let work = EncodeWork { text: &mut normalized, nodes: &mut nodes };
        let count = tokenizer.encode(text.as_bytes(), work, &mut ids).context("its first reference")?;
        ids.truncate(count);
        ids.push(self.eos_id);
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RandomSpec, write_random_checkpoint};

    #[test]
    fn ids_are_those_of_the_target_vocabulary() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        write_random_checkpoint(other.path(), &RandomSpec { seed: 77, ..RandomSpec::default() }).unwrap();
        // The target side of the other checkpoint.
        for (from, to) in [("target.spm", "target.spm"), ("vocab.json", "target_vocab.json")] {
            std::fs::copy(other.path().join(from), dir.path().join(to)).unwrap();
        }
        std::fs::write(dir.path().join("tokenizer_config.json"), r#"{"separate_vocabs": true}"#).unwrap();
        let dir = CheckpointDir::open(dir.path()).unwrap();
        let config = dir.config().unwrap();
        let vocabularies = dir.vocabularies(&config).unwrap();
        assert_ne!(vocabularies.source.pieces(), vocabularies.target.pieces());
        let tokenizer = SideTokenizer::target(&dir, &config, &vocabularies).unwrap();

        let words =
            vocabularies.target.pieces().iter().filter(|piece| piece.starts_with('\u{2581}') && piece.len() > 3);
        let text: String = words.map(|piece| piece.replace('\u{2581}', " ")).collect();
        let ids = tokenizer.encode(&text).unwrap();
        assert_eq!(ids.last(), Some(&0));
        let pieces: String = ids.iter().map(|id| vocabularies.target.pieces()[usize::from(*id)].as_str()).collect();
        assert_eq!(pieces, text.replace(' ', "\u{2581}") + "</s>");
        assert!(text.len() > 20, "{text}");
    }
}
