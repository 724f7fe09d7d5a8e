//! What leaves the program: files whole or not at all, and text that does not panic where nobody reads it.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// The temporary file being written, for the signal handler to remove.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn set_unfinished(path: Option<PathBuf>) -> Option<PathBuf> {
    std::mem::replace(&mut *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner), path)
}

/// An interrupt removes what is half-written before it ends the program.
fn clean_up_when_interrupted() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler = || {
            if let Some(path) = set_unfinished(None) {
                let _ = fs::remove_file(path);
            }
            std::process::exit(130);
        };
        // Where no handler can be set, an interrupt may leave the temporary file: no reason not to write.
        let _ = ctrlc::set_handler(handler);
    });
}

/// Writes a file whole or not at all: a temporary one beside it takes its name at the end. A link is followed; a pipe or
/// a device is written to as it is.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let what = || format!("{}: cannot be written", path.display());
    match fs::metadata(path) {
        Ok(target) if target.is_dir() => bail!("{}: is a folder; give the name of a file", path.display()),
        Ok(target) if !target.is_file() => {
            return fs::OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|mut f| f.write_all(bytes))
                .with_context(what);
        }
        _ => {}
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        bail!("{}: cannot be written: there is no folder {}", path.display(), parent.display());
    }
    clean_up_when_interrupted();
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        set_unfinished(Some(file.path().to_owned()));
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        #[cfg(unix)]
        {
            // A temporary file is private; the result is as readable as any file the user makes.
            use std::os::unix::fs::PermissionsExt;
            file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    let result = write().with_context(what);
    set_unfinished(None);
    result
}

/// Prints text on standard output; a reader that has gone is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("standard output cannot be written"),
        _ => Ok(()),
    }
}

/// Says what went wrong on standard error, as far as anybody hears it.
pub fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "error: {what}");
}

/// Says what is to be known on standard error, as far as anybody hears it.
pub fn warn(what: &str) {
    let _ = writeln!(io::stderr(), "warning: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_files_follows_links_and_writes_to_devices() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        write_whole(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&file, &link).unwrap();
            write_whole(&link, b"through the link").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&file).unwrap(), b"through the link");
            write_whole(Path::new("/dev/null"), b"gone").unwrap();
            assert!(!fs::metadata("/dev/null").unwrap().is_file());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
        }
        let error = write_whole(folder.path(), b"x").unwrap_err().to_string();
        assert!(error.ends_with("is a folder; give the name of a file"), "{error}");
        let error = write_whole(&folder.path().join("no/file"), b"x").unwrap_err().to_string();
        assert!(error.contains("there is no folder"), "{error}");
    }
}
