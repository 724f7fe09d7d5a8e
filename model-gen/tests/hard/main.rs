//! Hard inputs through the model that comes with the project: what users get keeps what it must.

mod check;
mod kept;
mod mixtures;
mod numbers;
mod rows;
mod streams;
mod table;
mod words;

use check::Said;
use latimer::{EngineKind, Limits, Model, TextOptions, Translator};
use model_gen::aligned::AlignedBytes;
use model_gen::pack::{Options, pack};
use rayon::prelude::*;
use std::path::Path;
use std::sync::OnceLock;

/// The shipped model, packed once.
fn blob() -> &'static [u8] {
    static BLOB: OnceLock<AlignedBytes> = OnceLock::new();
    BLOB.get_or_init(|| {
        let checkpoint = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-es-nano"));
        AlignedBytes::copy_of(&pack(checkpoint, &Options::new(EngineKind::Int8)).unwrap().bytes)
    })
}

/// What `with` makes of each input, with a translator that it shares with others.
fn each<I: Sync, R: Send>(limits: Limits, inputs: &[I], with: impl Fn(&mut Translator, &I) -> R + Sync) -> Vec<R> {
    let model = Model::from_bytes(blob()).unwrap();
    let len = model.arena_len(limits).unwrap();
    let run = |arena: &mut AlignedBytes, input: &I| with(&mut model.translator(arena, limits).unwrap(), input);
    inputs.par_iter().map_init(|| AlignedBytes::zeroed(len), run).collect()
}

/// A text's translation.
fn say(translator: &mut Translator, text: &[u8], options: TextOptions) -> Said {
    let mut target = String::new();
    let outcome = translator.translate_text(text, options, &mut (), &mut target).unwrap();
    Said { text: target, warnings: outcome.warnings }
}

/// Fails with all that is wrong.
fn none_wrong(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
