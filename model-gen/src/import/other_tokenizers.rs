//! Tokenizers that are not SentencePiece models: named, instead of a file of ours being reported missing.

use super::CheckpointDir;
use super::error::ImportError;
use std::path::Path;

const SUPPORTED: &str =
    "only SentencePiece models (source.spm and target.spm, unigram or BPE) with vocab.json are supported";

/// Files by which other tokenizers are known, and what they are called.
const OTHERS: [(&str, &str); 9] = [
    ("source.bpe", BPE_CODES),
    ("target.bpe", BPE_CODES),
    ("source.bpe.codes", BPE_CODES),
    ("bpe.codes", BPE_CODES),
    ("bpecodes", BPE_CODES),
    ("codes.txt", BPE_CODES),
    ("merges.txt", "byte-level BPE merges"),
    ("vocab.txt", "a WordPiece vocabulary"),
    ("tokenizer.json", "a tokenizer of the tokenizers library"),
];

const BPE_CODES: &str = "BPE codes of subword-nmt (pieces that end in @@)";

/// Says what the checkpoint has in place of `source.spm`, if it is a tokenizer that this project knows by name.
pub fn refuse(dir: &CheckpointDir) -> Result<(), ImportError> {
    let spm = dir.source_spm();
    if spm.exists() {
        return Ok(());
    }
    let mut others = OTHERS.iter().map(|(name, what)| (dir.path().join(name), *what));
    let found = others.find(|(path, _)| path.exists());
    let found = found.or_else(|| {
        let vocab = dir.path().join("vocab.json");
        has_continuations(&vocab).then_some((vocab, "a vocabulary for BPE codes (pieces that end in @@)"))
    });
    match found {
        Some((path, what)) => Err(ImportError::Damaged { path, reason: what.to_owned(), remedy: SUPPORTED.to_owned() }),
        None => Ok(()),
    }
}

/// Whether a vocabulary marks pieces that a word goes on after, as subword-nmt does.
fn has_continuations(vocab: &Path) -> bool {
    std::fs::read_to_string(vocab).is_ok_and(|text| text.matches("@@\"").count() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RandomSpec, write_random_checkpoint};

    #[test]
    fn each_is_called_by_its_name() {
        let temporary = tempfile::tempdir().unwrap();
        write_random_checkpoint(temporary.path(), &RandomSpec::default()).unwrap();
        let dir = CheckpointDir::open(temporary.path()).unwrap();
        let words = || refuse(&dir).map_err(|error| error.to_string());
        std::fs::write(temporary.path().join("tokenizer.json"), "{}").unwrap();
        assert_eq!(words(), Ok(()), "beside source.spm it is of no matter");
        std::fs::remove_file(dir.source_spm()).unwrap();
        let error = words().unwrap_err();
        assert!(error.contains("tokenizer.json: a tokenizer of the tokenizers library: only SentencePiece"), "{error}");
        std::fs::write(temporary.path().join("source.bpe"), "#version: 0.2\n").unwrap();
        let error = words().unwrap_err();
        assert!(error.contains("source.bpe: BPE codes of subword-nmt") && error.contains("unigram or BPE"), "{error}");
        for name in ["tokenizer.json", "source.bpe"] {
            std::fs::remove_file(temporary.path().join(name)).unwrap();
        }
        assert_eq!(words(), Ok(()), "the missing file is reported by whoever reads it");
        std::fs::write(temporary.path().join("vocab.json"), r#"{"</s>": 0, "ab@@": 1, "c@@": 2}"#).unwrap();
        assert!(words().unwrap_err().contains("vocab.json: a vocabulary for BPE codes"));
    }
}
