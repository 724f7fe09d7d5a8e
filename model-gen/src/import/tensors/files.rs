//! The files that hold a checkpoint's weights: one, or several and the index that lists their tensors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensorError, SafeTensors};

use super::index::WeightMap;
use super::stored::{Element, Stored};
use super::torch;
use crate::import::error::{ImportError, read_file};

/// What a file's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Safetensors,
    Torch,
}

/// The names transformers saves under, in the order in which it looks for them.
const NAMES: [(&str, Format); 2] = [("model.safetensors", Format::Safetensors), ("pytorch_model.bin", Format::Torch)];

/// The files' bytes.
pub(super) struct Files {
    format: Format,
    /// The file of an unsharded checkpoint, the index of a sharded one.
    path: PathBuf,
    index: Option<WeightMap>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Files {
    /// Reads the files of the checkpoint in `dir`.
    pub(super) fn read(dir: &Path) -> Result<Self, ImportError> {
        let one = NAMES.iter().map(|&(name, format)| (dir.join(name), format, false));
        let sharded = NAMES.iter().map(|&(name, format)| (dir.join(format!("{name}.index.json")), format, true));
        let mut candidates: Vec<_> = one.chain(sharded).collect();
        // safetensors in shards come before a pickle in one.
        candidates.sort_by_key(|(_, format, _)| *format != Format::Safetensors);
        let Some((path, format, sharded)) = candidates.into_iter().find(|(path, ..)| path.exists()) else {
            let remedy = "the weights (this file or pytorch_model.bin, whole or in shards with their index) must lie \
                          beside config.json; copy or download them";
            return Err(ImportError::Missing { path: dir.join(NAMES[0].0), remedy: remedy.to_owned() });
        };
        let index = sharded.then(|| WeightMap::read(&path)).transpose()?;
        let names = match &index {
            None => vec![path.clone()],
            Some(index) => index.files().into_iter().map(|name| dir.join(name)).collect(),
        };
        let remedy = "the shards that the index names must lie beside it; copy or download them all";
        let read = |path: PathBuf| read_file(&path, remedy).map(|bytes| (path, bytes));
        let files = names.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { format, path, index, files })
    }

    /// The file to name where a tensor is at fault.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// All tensors by key.
    pub(super) fn tensors(&self) -> Result<BTreeMap<String, Stored<'_>>, ImportError> {
        let mut shards = Vec::with_capacity(self.files.len());
        for (path, bytes) in &self.files {
            let tensors = match self.format {
                Format::Safetensors => safetensors(path, bytes)?,
                Format::Torch => torch::tensors(path, bytes)?,
            };
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            shards.push((name, tensors));
        }
        match &self.index {
            Some(index) => index.gather(&self.path, shards),
            None => Ok(shards.into_iter().flat_map(|(_, tensors)| tensors).collect()),
        }
    }
}

fn safetensors<'a>(path: &Path, bytes: &'a [u8]) -> Result<BTreeMap<String, Stored<'a>>, ImportError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(path, &error))?;
    let own = |(key, view): (String, safetensors::tensor::TensorView<'a>)| {
        let element = match view.dtype() {
            Dtype::F16 => Element::F16,
            Dtype::BF16 => Element::BF16,
            Dtype::F32 => Element::F32,
            Dtype::F64 => Element::F64,
            other => Element::Other(format!("{other:?}")),
        };
        let stored = Stored::in_order(element, view.shape().to_vec(), view.data());
        Some((key, stored?))
    };
    // The file's own check has compared shapes with lengths.
    Ok(file.tensors().into_iter().filter_map(own).collect())
}

fn damaged(path: &Path, error: &SafeTensorError) -> ImportError {
    let reason = match error {
        SafeTensorError::HeaderTooSmall
        | SafeTensorError::InvalidHeaderLength
        | SafeTensorError::MetadataIncompleteBuffer => "the file ends before its tensors do".to_owned(),
        other => format!("not a safetensors file ({other})"),
    };
    ImportError::Damaged { path: path.to_owned(), reason, remedy: "copy or download it again".to_owned() }
}
