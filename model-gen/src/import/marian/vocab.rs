//! The vocabularies beside a `.npz`: SentencePiece models, whose own numbering gives the ids, or `.yml` vocabularies of
//! the pieces of `source.spm` and `target.spm`, as the OPUS-MT project publishes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::import::error::{ImportError, list_dir, read_file, read_text};
use crate::import::spm::{SpmModel, SpmPiece};
use crate::import::vocab::Vocab;

use super::yaml;

const SUPPORTED: &str = "one .spm for both sides, the two that `vocabs` of the .decoder.yml beside the model names, or \
                         source.spm and target.spm with one vocab.yml; copy them beside the model";

/// Where pieces and ids of both sides come from.
#[derive(Clone, Debug)]
pub(super) struct VocabFiles {
    /// SentencePiece models of source and target.
    spm: [PathBuf; 2],
    /// Files whose entries are the ids, of source and target: `.yml`, or the models themselves.
    ids: [PathBuf; 2],
}

/// What is read of `model.npz.decoder.yml`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DecoderOptions {
    vocabs: Vec<String>,
}

impl VocabFiles {
    /// Finds the files beside `npz`: those that Marian's options name, else the only ones there.
    pub(super) fn find(npz: &Path) -> Result<Self, ImportError> {
        let dir = npz.parent().unwrap_or(Path::new(""));
        let pieces = || Ok::<_, ImportError>([there(dir.join("source.spm"))?, there(dir.join("target.spm"))?]);
        if let [source, .., target] = named_vocabs(npz)?.as_slice() {
            let ids = [there(source.clone())?, there(target.clone())?];
            if ids.iter().all(|path| is(path, "spm")) {
                return Ok(Self { spm: ids.clone(), ids });
            }
            if ids.iter().all(|path| is(path, "yml") || is(path, "yaml")) {
                return Ok(Self { spm: pieces()?, ids });
            }
            let [source, target] = ids;
            return Err(ImportError::Damaged {
                path: if is(&source, "spm") { target } else { source },
                reason: "a kind of vocabulary that is not supported".to_owned(),
                remedy: format!("supported are {SUPPORTED}"),
            });
        }
        let files = list_dir(dir)?;
        let spm: Vec<_> = files.iter().filter(|path| is(path, "spm")).collect();
        let yml: Vec<_> = files.iter().filter(|path| path.to_string_lossy().ends_with("vocab.yml")).collect();
        match (spm.as_slice(), yml.as_slice()) {
            (&[joint], []) => Ok(Self { spm: [joint.clone(), joint.clone()], ids: [joint.clone(), joint.clone()] }),
            (_, &[joint]) => Ok(Self { spm: pieces()?, ids: [joint.clone(), joint.clone()] }),
            _ => Err(missing(dir.join("vocab.spm"))),
        }
    }

    pub(super) fn spm(&self) -> [&Path; 2] {
        [&self.spm[0], &self.spm[1]]
    }

    /// The vocabularies. Ids past a file's own get a piece for the start token: on the target side always, on the
    /// source's where both have one embedding.
    pub(super) fn read(&self, shared_embeddings: bool) -> Result<(Arc<Vocab>, Arc<Vocab>), ImportError> {
        let [source, target] = &self.ids;
        let one = source == target;
        if shared_embeddings && !one {
            let problem = format!(
                "vocabs: found {} for the target, wanted the same file as for the source, as the model has one embedding for both",
                target.display()
            );
            return Err(ImportError::Problems {
                path: source.clone(),
                summary: "does not fit the model's options:",
                problems: vec![problem],
            });
        }
        let target = Arc::new(vocab(target, true)?);
        // A vocabulary read twice is two, as the embeddings are: ids past the source's own are the target's only.
        let source = if shared_embeddings { Arc::clone(&target) } else { Arc::new(vocab(source, false)?) };
        Ok((source, target))
    }
}

fn missing(path: PathBuf) -> ImportError {
    ImportError::Missing { path, remedy: format!("the vocabularies must be {SUPPORTED}") }
}

fn there(path: PathBuf) -> Result<PathBuf, ImportError> {
    if path.exists() { Ok(path) } else { Err(missing(path)) }
}

fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The files that `vocabs` names, where Marian's translation or training options lie beside the model. They are looked
/// for beside the model by their names: paths are those of the machine that trained.
fn named_vocabs(npz: &Path) -> Result<Vec<PathBuf>, ImportError> {
    for path in
        [npz.with_added_extension("decoder.yml"), npz.with_file_name("decoder.yml"), npz.with_added_extension("yml")]
    {
        if !path.exists() {
            continue;
        }
        let options: DecoderOptions = read_yaml(&path)?;
        let names = options.vocabs.iter().filter_map(|vocab| vocab.rsplit(['/', '\\']).next());
        let files: Vec<_> =
            names.filter(|name| !name.is_empty() && *name != "..").map(|name| npz.with_file_name(name)).collect();
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Ok(Vec::new())
}

fn read_yaml<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, ImportError> {
    let text = read_text(path, SUPPORTED)?;
    yaml::from_str(&text).map_err(|error| ImportError::Damaged {
        path: path.to_owned(),
        reason: format!("not the YAML that was expected ({error})"),
        remedy: "copy the file again".to_owned(),
    })
}

/// Pieces by id, and one more for the start token if it has a row.
fn vocab(path: &Path, start: bool) -> Result<Vocab, ImportError> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let damaged = |reason| ImportError::Damaged {
        path: path.to_owned(),
        reason,
        remedy: "copy it from the model's training again".to_owned(),
    };
    let pieces =
        if is(path, "spm") { spm_pieces(&name, &read_file(path, SUPPORTED)?) } else { pieces_by_id(read_yaml(path)?) };
    let mut pieces = pieces.map_err(damaged)?;
    if start {
        // Never matched and never written, so that any text will do that no piece has.
        let mut piece = "<pad>".to_owned();
        while pieces.contains(&piece) {
            piece.push('>');
        }
        pieces.push(piece);
    }
    Vocab::from_pieces(&name, pieces).ok_or_else(|| damaged("a piece stands there twice".to_owned()))
}

fn spm_pieces(name: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let model = SpmModel::parse(name, bytes).map_err(|error| format!("{error:#}"))?;
    let text =
        |piece: &SpmPiece| String::from_utf8(piece.piece().to_vec()).map_err(|_| "a piece is not UTF-8".to_owned());
    model.pieces.iter().map(text).collect()
}

fn pieces_by_id(ids: BTreeMap<String, u64>) -> Result<Vec<String>, String> {
    let count = ids.len();
    let by_id: BTreeMap<u64, String> = ids.into_iter().map(|(piece, id)| (id, piece)).collect();
    if !by_id.keys().copied().eq(0..count as u64) {
        return Err(format!("its {count} pieces do not have the ids from 0 on, each one"));
    }
    Ok(by_id.into_values().collect())
}
