//! The vocabularies beside a `.npz`: SentencePiece models, whose own numbering gives the ids, or `.yml` vocabularies of
//! the pieces of `source.spm` and `target.spm`, as the OPUS-MT project publishes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::import::error::{ImportError, read_file, read_text};
use crate::import::spm::SpmModel;
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
    /// Finds the files beside `npz`.
    pub(super) fn find(npz: &Path) -> Result<Self, ImportError> {
        let missing = |path: &Path, what: &str| ImportError::Missing {
            path: path.to_owned(),
            remedy: format!("{what}{SUPPORTED}"),
        };
        let dir = npz.parent().unwrap_or(Path::new(""));
        let named = named_vocabs(npz)?;
        let is = |path: &Path, extension: &str| path.extension().is_some_and(|found| found == extension);
        let beside = |path: &PathBuf| {
            if path.exists() { Ok(path.clone()) } else { Err(missing(path, "the vocabularies must be ")) }
        };
        let of_pieces = || Ok([beside(&dir.join("source.spm"))?, beside(&dir.join("target.spm"))?]);
        if let [source, .., target] = named.as_slice() {
            let ids = [source, target].map(|path| beside(path));
            let [source, target] = ids;
            let ids = [source?, target?];
            return match ids.iter().all(|path| is(path, "spm")) {
                true => Ok(Self { spm: ids.clone(), ids }),
                false if ids.iter().all(|path| is(path, "yml") || is(path, "yaml")) => {
                    Ok(Self { spm: of_pieces()?, ids })
                }
                false => Err(missing(&ids[0], "as a vocabulary of a kind that is supported: ")),
            };
        }
        let files: Vec<PathBuf> = list(dir)?;
        let spm: Vec<&PathBuf> = files.iter().filter(|path| is(path, "spm")).collect();
        let yml: Vec<&PathBuf> = files.iter().filter(|path| path.to_string_lossy().ends_with("vocab.yml")).collect();
        match (spm.as_slice(), yml.as_slice()) {
            ([one], []) => Ok(Self { spm: [0; 2].map(|_| (*one).clone()), ids: [0; 2].map(|_| (*one).clone()) }),
            (_, [one]) => Ok(Self { spm: of_pieces()?, ids: [0; 2].map(|_| (*one).clone()) }),
            _ => Err(missing(&dir.join("vocab.spm"), "the vocabularies must be ")),
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

fn list(dir: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let unreadable = |source| ImportError::Unreadable { path: dir.to_owned(), source };
    let entries = std::fs::read_dir(dir).map_err(unreadable)?;
    let mut files =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    files.sort();
    Ok(files)
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
    let damaged = |reason: String, remedy: &str| ImportError::Damaged {
        path: path.to_owned(),
        reason,
        remedy: remedy.to_owned(),
    };
    let again = "copy the file again";
    let mut pieces = if path.extension().is_some_and(|extension| extension == "spm") {
        let model = SpmModel::parse(&name, &read_file(path, SUPPORTED)?)
            .map_err(|error| damaged(format!("{error:#}"), again))?;
        let text = |piece: &crate::import::spm::SpmPiece| String::from_utf8(piece.piece().to_vec()).ok();
        model
            .pieces
            .iter()
            .map(text)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| damaged("a piece is not UTF-8".to_owned(), again))?
    } else {
        let ids: BTreeMap<String, u64> = read_yaml(path)?;
        let by_id: BTreeMap<u64, String> = ids.iter().map(|(piece, &id)| (id, piece.clone())).collect();
        if by_id.len() != ids.len() || by_id.keys().copied().ne(0..ids.len() as u64) {
            return Err(damaged(
                format!(
                    "its {} pieces do not have the ids from 0 to {}, each one",
                    ids.len(),
                    ids.len().saturating_sub(1)
                ),
                again,
            ));
        }
        by_id.into_values().collect()
    };
    if start {
        // Never matched and never written, so that any text will do that no piece has.
        let mut piece = "<pad>".to_owned();
        while pieces.contains(&piece) {
            piece.push('>');
        }
        pieces.push(piece);
    }
    Vocab::from_pieces(&name, pieces).ok_or_else(|| damaged("a piece stands there twice".to_owned(), again))
}
