//! What can be wrong with a checkpoint directory, each with the file and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a checkpoint could not be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A file or directory is not there.
    #[error("{}: not found: {remedy}", path.display())]
    Missing {
        /// What was looked for.
        path: PathBuf,
        /// What to do about it.
        remedy: String,
    },
    /// The operating system would not give the file's bytes.
    #[error("{}: cannot be read; look at its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file's bytes are not what its name promises: cut short, damaged, or of another kind.
    #[error("{}: {reason}: {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The file is not JSON, or not the JSON expected.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says, and what to do about it.
        message: String,
    },
    /// Everything in the file that does not fit, found in one pass.
    #[error("{}: {summary}{}", path.display(), Bullets(problems))]
    Problems {
        /// The file.
        path: PathBuf,
        /// What the problems have in common.
        summary: &'static str,
        /// One line each, naming the key, what was found and what was wanted.
        problems: Vec<String>,
    },
}

impl ImportError {
    /// A JSON error at the place the parser names.
    pub(crate) fn json(path: &Path, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = text.strip_suffix(&place).unwrap_or(&text);
        let remedy =
            if error.is_eof() { "the file is cut short, copy or download it again" } else { "correct the file" };
        Self::Json {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
            message: format!("{reason}: {remedy}"),
        }
    }

    /// `Ok` when nothing was found, else all of it.
    pub(crate) fn collect(path: &Path, summary: &'static str, problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self::Problems { path: path.to_owned(), summary, problems }) }
    }
}

struct Bullets<'a>(&'a [String]);

impl fmt::Display for Bullets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// The whole file; `remedy` says what to do when it is not there.
pub(crate) fn read_file(path: &Path, remedy: &str) -> Result<Vec<u8>, ImportError> {
    let bytes = std::fs::read(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            ImportError::Missing { path: path.to_owned(), remedy: remedy.to_owned() }
        } else {
            ImportError::Unreadable { path: path.to_owned(), source }
        }
    })?;
    let damaged = |reason: &str, remedy: &str| {
        Err(ImportError::Damaged { path: path.to_owned(), reason: reason.to_owned(), remedy: remedy.to_owned() })
    };
    if bytes.is_empty() {
        return damaged("the file is empty", "copy or download it again");
    }
    // A clone without LFS leaves this text where the weights should be; any parser's own message would mislead.
    if bytes.starts_with(b"version https://git-lfs") {
        return damaged(
            "the file is a Git LFS pointer, not the content",
            "run `git lfs pull` in the checkpoint's clone",
        );
    }
    Ok(bytes)
}

/// The whole file as text.
pub(crate) fn read_text(path: &Path, remedy: &str) -> Result<String, ImportError> {
    String::from_utf8(read_file(path, remedy)?).map_err(|error| ImportError::Damaged {
        path: path.to_owned(),
        reason: format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
        remedy: "save the file as UTF-8".to_owned(),
    })
}

/// The directory's entries in the order of their names.
pub(crate) fn list_dir(dir: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let unreadable = |source| ImportError::Unreadable { path: dir.to_owned(), source };
    let entries = std::fs::read_dir(dir).map_err(unreadable)?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}
