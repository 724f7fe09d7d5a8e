//! The model that comes with the project, packed when a firmware needs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use latimer::EngineKind;
use model_gen::pack::{Options, pack};

use crate::machines::Engine;
use crate::paths;

/// Its name, which is that of its folder under `models/`.
const NAME: &str = "en-es-nano";

/// The blob of the shipped model for `engine`, packed unless there is one younger than the model and this program.
pub fn shipped_blob(engine: Engine) -> Result<PathBuf> {
    // Tests ask for it at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let model = paths::root().join("models").join(NAME);
    let blob = paths::artifacts().join(format!("{NAME}-{}.blob", engine.name()));
    let packer = std::env::current_exe().and_then(|exe| exe.metadata()?.modified()).context("no time of the packer")?;
    let newest = newest(&model)?.max(packer);
    // A file of its own tells when: rewriting an equal blob would have every firmware linked again.
    let stamp = blob.with_extension("stamp");
    if blob.exists() && stamp.metadata().and_then(|file| file.modified()).is_ok_and(|packed| packed >= newest) {
        return Ok(blob);
    }
    let kind = match engine {
        Engine::Int8 => EngineKind::Int8,
        Engine::F16 => EngineKind::F16,
    };
    let mut options = Options::new(kind);
    options.meta.push(("licence".into(), "CC BY 2.0 FR".into()));
    options.meta.push(("source".into(), "trained on sentences from tatoeba.org".into()));
    let packed = pack(&model, &options).with_context(|| format!("cannot pack `{}`", model.display()))?;
    fs::create_dir_all(paths::artifacts())?;
    if fs::read(&blob).is_ok_and(|old| old == packed.bytes) {
        fs::write(stamp, [])?;
        return Ok(blob);
    }
    // Renamed into place, so that no half of a blob is ever linked.
    let unfinished = blob.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, &packed.bytes).with_context(|| format!("cannot write `{}`", unfinished.display()))?;
    fs::rename(&unfinished, &blob)?;
    fs::write(stamp, [])?;
    Ok(blob)
}

/// When a folder's files last changed.
fn newest(folder: &Path) -> Result<SystemTime> {
    let list = || -> std::io::Result<_> {
        let mut newest = SystemTime::UNIX_EPOCH;
        for entry in fs::read_dir(folder)? {
            newest = newest.max(fs::metadata(entry?.path())?.modified()?);
        }
        Ok(newest)
    };
    list().with_context(|| format!("cannot read the shipped model in `{}`", folder.display()))
}
