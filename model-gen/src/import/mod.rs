//! Reads a checkpoint into typed values, or says in words what is wrong with it: a directory as transformers saves a
//! MarianMT model, or Marian's own `.npz` with its vocabularies.
//!
//! Nothing past this module looks at the directory's files again: shapes agree with the config, every weight is finite
//! and every id is in its vocabulary once [`load_checkpoint`] and [`CheckpointDir::vocabularies`] have returned.

mod archive;
pub mod charsmap;
pub mod checkpoint;
pub mod config;
pub mod error;
pub mod language;
mod marian;
pub mod other_tokenizers;
pub mod positions;
pub mod spm;
pub mod tensors;
pub mod tokenizer;
pub mod vocab;

use std::path::{Path, PathBuf};

pub use checkpoint::Checkpoint;
pub use config::Config;
pub use error::ImportError;
use marian::Marian;
pub use vocab::Vocabularies;

/// A checkpoint directory: knows the file names, reads each file on demand.
#[derive(Clone, Debug)]
pub struct CheckpointDir {
    path: PathBuf,
    /// The model, if it is Marian's own.
    marian: Option<Marian>,
}

impl CheckpointDir {
    /// Names the directory; fails if there is none. Marian's own model is given by its `.npz`, or by a directory that
    /// holds one and no `config.json`.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        if path.is_dir() {
            let npz = if path.join("config.json").exists() { None } else { only_npz(path)? };
            let marian = npz.map(|npz| Marian::open(&npz)).transpose()?;
            return Ok(Self { path: path.to_owned(), marian });
        }
        if path.is_file() && path.extension().is_some_and(|extension| extension == "npz") {
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            return Ok(Self { path: dir.to_owned(), marian: Some(Marian::open(path)?) });
        }
        let remedy = if path.exists() {
            "give the directory that holds config.json and the weights, or Marian's .npz, not a file of another kind"
        } else {
            "check the path given for the checkpoint directory"
        };
        Err(ImportError::Missing { path: path.to_owned(), remedy: remedy.to_owned() })
    }

    /// `config.json`, checked for values this project can run.
    pub fn config(&self) -> Result<Config, ImportError> {
        match &self.marian {
            Some(marian) => marian.config(),
            None => Config::read(&self.file("config.json")),
        }
    }

    /// The weights, checked against the config.
    pub fn tensors(&self, config: Config) -> Result<Checkpoint, ImportError> {
        match &self.marian {
            Some(marian) => marian.tensors(config),
            None => tensors::read(&self.path, config),
        }
    }

    /// `vocab.json` (`target_vocab.json` too where the sides differ) and the languages of `tokenizer_config.json`.
    pub fn vocabularies(&self, config: &Config) -> Result<Vocabularies, ImportError> {
        match &self.marian {
            Some(marian) => marian.vocabularies(),
            None => Vocabularies::read(&self.path, config),
        }
    }

    /// The SentencePiece model of the source side.
    pub fn source_spm(&self) -> PathBuf {
        self.marian.as_ref().map_or_else(|| self.file("source.spm"), |marian| marian.spm()[0].to_owned())
    }

    /// The SentencePiece model of the target side.
    pub fn target_spm(&self) -> PathBuf {
        self.marian.as_ref().map_or_else(|| self.file("target.spm"), |marian| marian.spm()[1].to_owned())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// The directory's one `.npz`.
fn only_npz(dir: &Path) -> Result<Option<PathBuf>, ImportError> {
    let mut found = error::list_dir(dir)?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "npz"));
    if let [first, .., last] = found.as_slice() {
        let remedy = format!("there are several .npz files, {} among them; give the one to import", first.display());
        return Err(ImportError::Missing { path: last.with_file_name("model.npz"), remedy });
    }
    Ok(found.pop())
}

/// Config and weights of the checkpoint in `dir`.
pub fn load_checkpoint(dir: &Path) -> Result<Checkpoint, ImportError> {
    let dir = CheckpointDir::open(dir)?;
    dir.tensors(dir.config()?)
}

#[cfg(test)]
mod tests;
