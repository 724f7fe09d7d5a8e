//! Reads a Hugging Face MarianMT checkpoint directory into typed values, or says in words what is wrong with it.
//!
//! Nothing past this module looks at the directory's files again: shapes agree with the config, every weight is finite
//! and every id is in its vocabulary once [`load_checkpoint`] and [`CheckpointDir::vocabularies`] have returned.

mod archive;
pub mod checkpoint;
pub mod config;
pub mod error;
pub mod positions;
pub mod spm;
pub mod tensors;
pub mod tokenizer;
pub mod vocab;

use std::path::{Path, PathBuf};

pub use checkpoint::Checkpoint;
pub use config::Config;
pub use error::ImportError;
pub use vocab::Vocabularies;

/// A checkpoint directory: knows the file names, reads each file on demand.
#[derive(Clone, Debug)]
pub struct CheckpointDir {
    path: PathBuf,
}

impl CheckpointDir {
    /// Names the directory; fails if there is none.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        if path.is_dir() {
            return Ok(Self { path: path.to_owned() });
        }
        let remedy = if path.exists() {
            "give the directory that holds config.json and model.safetensors, not a file"
        } else {
            "check the path given for the checkpoint directory"
        };
        Err(ImportError::Missing { path: path.to_owned(), remedy: remedy.to_owned() })
    }

    /// `config.json`, checked for values this project can run.
    pub fn config(&self) -> Result<Config, ImportError> {
        Config::read(&self.file("config.json"))
    }

    /// The weights, checked against the config.
    pub fn tensors(&self, config: Config) -> Result<Checkpoint, ImportError> {
        tensors::read(&self.path, config)
    }

    /// `vocab.json` (`target_vocab.json` too where the sides differ) and the languages of `tokenizer_config.json`.
    pub fn vocabularies(&self, config: &Config) -> Result<Vocabularies, ImportError> {
        Vocabularies::read(&self.path, config)
    }

    /// The SentencePiece model of the source side.
    pub fn source_spm(&self) -> PathBuf {
        self.file("source.spm")
    }

    /// The SentencePiece model of the target side.
    pub fn target_spm(&self) -> PathBuf {
        self.file("target.spm")
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Config and weights of the checkpoint in `dir`.
pub fn load_checkpoint(dir: &Path) -> Result<Checkpoint, ImportError> {
    let dir = CheckpointDir::open(dir)?;
    dir.tensors(dir.config()?)
}
