//! The model that comes with the project, packed when a firmware needs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use latimer::EngineKind;
use model_gen::pack::{Options, pack};

use crate::machines::Engine;
use crate::paths;

/// Its name, which is that of its folder under `models/`.
pub const NAME: &str = "en-es-nano";

/// The blob of the shipped model for `engine`. It is packed every time, which takes a moment; an equal file is left
/// alone, so that no firmware is linked again.
pub fn shipped_blob(engine: Engine) -> Result<PathBuf> {
    // Tests ask for it at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let model = paths::root().join("models").join(NAME);
    let blob = paths::artifacts().join(format!("{NAME}-{}.blob", engine.name()));
    let kind = match engine {
        Engine::Int8 => EngineKind::Int8,
        Engine::F16 => EngineKind::F16,
    };
    let mut options = Options::new(kind);
    options.meta.push(("licence".into(), "CC BY 2.0 FR".into()));
    options.meta.push(("source".into(), "trained on sentences from tatoeba.org".into()));
    let packed = pack(&model, &options).with_context(|| format!("cannot pack `{}`", model.display()))?;
    if fs::read(&blob).is_ok_and(|old| old == packed.bytes) {
        return Ok(blob);
    }
    put(&blob, &packed.bytes)?;
    Ok(blob)
}

/// Writes a blob among the artifacts, renamed into place, so that no half of one is ever linked.
pub fn put(blob: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(paths::artifacts())?;
    let unfinished = blob.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&unfinished, bytes).with_context(|| format!("cannot write `{}`", unfinished.display()))?;
    Ok(fs::rename(&unfinished, blob)?)
}
