//! `vocab.json`: which id each piece goes by. Ids come from here, by the piece's text, never from the SentencePiece
//! model's own numbering.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};

use super::config::Config;
use super::error::{ImportError, read_text};

/// A damaged file could hold any number of faults; this many are enough to see what happened.
const MAX_PROBLEMS: usize = 20;

/// Pieces by id, and ids by piece: a bijection onto `0..len`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocab {
    name: String,
    pieces: Vec<String>,
    ids: BTreeMap<String, u32>,
}

impl Vocab {
    /// Reads the file; `size` is what `size_key` of `config.json` says.
    pub fn read(path: &Path, size: usize, size_key: &str) -> Result<Self, ImportError> {
        let remedy = "a MarianMT checkpoint directory has one; save the tokenizer with `save_pretrained`";
        Self::parse(path, &read_text(path, remedy)?, size, size_key)
    }

    fn parse(path: &Path, text: &str, size: usize, size_key: &str) -> Result<Self, ImportError> {
        let Entries(entries) = serde_json::from_str(text).map_err(|error| ImportError::json(path, &error))?;
        let mut problems = Vec::new();
        if entries.len() != size {
            problems.push(format!("found {} pieces, wanted {size} ({size_key} of config.json)", entries.len()));
        }
        let mut by_id: Vec<Option<String>> = vec![None; entries.len()];
        let mut ids = BTreeMap::new();
        for (piece, id) in entries {
            let slot = usize::try_from(id).ok().and_then(|id| by_id.get_mut(id));
            match slot {
                None => problems.push(format!("piece {piece:?}: found id {id}, wanted one below the number of pieces")),
                Some(Some(other)) => problems.push(format!("piece {piece:?}: found id {id}, which {other:?} has too")),
                Some(free) => *free = Some(piece.clone()),
            }
            if ids.insert(piece.clone(), id as u32).is_some() {
                problems.push(format!("piece {piece:?}: found twice (again with id {id})"));
            }
        }
        let free = by_id.iter().enumerate().filter(|(_, piece)| piece.is_none());
        problems.extend(free.map(|(id, _)| format!("id {id}: found no piece")));
        if problems.len() > MAX_PROBLEMS {
            let more = problems.len() - MAX_PROBLEMS;
            problems.truncate(MAX_PROBLEMS);
            problems.push(format!("... and {more} more"));
        }
        ImportError::collect(path, "not a vocabulary with one piece an id:", problems)?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { name, pieces: by_id.into_iter().flatten().collect(), ids })
    }

    /// A vocabulary of pieces in the order of their ids, `None` where one stands twice; `name` is for errors.
    pub fn from_pieces(name: &str, pieces: Vec<String>) -> Option<Self> {
        let ids: BTreeMap<String, u32> = pieces.iter().cloned().zip(0..).collect();
        (ids.len() == pieces.len()).then(|| Self { name: name.to_owned(), pieces, ids })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pieces in the order of their ids.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The target languages it has a code for: each `xxx` of a piece `>>xxx<<`, with its id.
    pub fn language_codes(&self) -> impl Iterator<Item = (&str, u32)> {
        // The order of `ids` is that of the texts.
        self.ids.iter().filter_map(|(piece, id)| Some((piece.strip_prefix(">>")?.strip_suffix("<<")?, *id)))
    }

    /// The id the piece goes by.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.ids.get(piece).copied()
    }
}

/// The vocabularies of both sides, and the languages where the tokenizer's config names them.
#[derive(Clone, Debug)]
pub struct Vocabularies {
    /// Source pieces.
    pub source: Arc<Vocab>,
    /// Target pieces; the same allocation as `source` unless the sides have separate vocabularies.
    pub target: Arc<Vocab>,
    /// `source_lang` of `tokenizer_config.json`.
    pub source_lang: Option<String>,
    /// `target_lang` of `tokenizer_config.json`.
    pub target_lang: Option<String>,
}

/// What is read of `tokenizer_config.json`; the file may be absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenizerConfig {
    source_lang: Option<String>,
    target_lang: Option<String>,
    separate_vocabs: Option<bool>,
}

impl Vocabularies {
    /// Reads the vocabularies of the checkpoint in `dir`.
    pub fn read(dir: &Path, config: &Config) -> Result<Self, ImportError> {
        let tokenizer = TokenizerConfig::read(&dir.join("tokenizer_config.json"))?;
        let source = Arc::new(Vocab::read(&dir.join("vocab.json"), config.vocab_size, "vocab_size")?);
        let target = if tokenizer.separate_vocabs == Some(true) {
            let path = dir.join("target_vocab.json");
            Arc::new(Vocab::read(&path, config.decoder_vocab_size, "decoder_vocab_size")?)
        } else if config.decoder_vocab_size == config.vocab_size {
            Arc::clone(&source)
        } else {
            let found = format!("one vocabulary for {} and {} ids", config.vocab_size, config.decoder_vocab_size);
            let problem = format!("separate_vocabs: found {found}, wanted true, as decoder_vocab_size differs");
            let path = dir.join("tokenizer_config.json");
            return Err(ImportError::Problems { path, summary: "does not fit config.json:", problems: vec![problem] });
        };
        Ok(Self { source, target, source_lang: tokenizer.source_lang, target_lang: tokenizer.target_lang })
    }
}

impl TokenizerConfig {
    fn read(path: &Path) -> Result<Self, ImportError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = read_text(path, "")?;
        serde_json::from_str(&text).map_err(|error| ImportError::json(path, &error))
    }
}

/// A JSON object's entries as written: a map type would silently keep one of two entries with the same key.
struct Entries(Vec<(String, u64)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsWritten;
        impl<'de> Visitor<'de> for AsWritten {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object from pieces to ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(AsWritten)
    }
}

#[cfg(test)]
mod tests;
