//! `model.safetensors.index.json` and `pytorch_model.bin.index.json`: which shard holds which tensor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::Deserialize;

use super::stored::Stored;
use crate::import::error::{ImportError, read_text};

const SUMMARY: &str = "shards that do not fit their index:";

/// Shards by key.
#[derive(Deserialize)]
pub(super) struct WeightMap {
    weight_map: BTreeMap<String, String>,
}

impl WeightMap {
    /// Reads the file; a shard must be a file beside it.
    pub(super) fn read(path: &Path) -> Result<Self, ImportError> {
        let index: Self =
            serde_json::from_str(&read_text(path, "")?).map_err(|error| ImportError::json(path, &error))?;
        let outside = index.files().into_iter().filter(|name| !is_plain(name));
        let mut problems: Vec<_> = outside
            .map(|name| format!("weight_map: found the shard {name:?}, wanted a file beside the index"))
            .collect();
        if index.weight_map.is_empty() {
            problems.push("weight_map: found no tensors".to_owned());
        }
        ImportError::collect(path, SUMMARY, problems).map(|()| index)
    }

    /// The shards' names, each once.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }

    /// The tensors that the index lists, each from its shard; `shards` are names and contents.
    pub(super) fn gather<'a>(
        &self,
        path: &Path,
        shards: Vec<(String, BTreeMap<String, Stored<'a>>)>,
    ) -> Result<BTreeMap<String, Stored<'a>>, ImportError> {
        let mut shards: BTreeMap<_, _> = shards.into_iter().collect();
        let (mut tensors, mut problems) = (BTreeMap::new(), Vec::new());
        for (key, shard) in &self.weight_map {
            match shards.get_mut(shard).and_then(|shard| shard.remove(key)) {
                Some(tensor) => drop(tensors.insert(key.clone(), tensor)),
                None => problems.push(format!("{key}: found nothing in {shard}, where weight_map puts it")),
            }
        }
        for (shard, rest) in shards {
            let unlisted = |key| format!("{key}: found in {shard}, but not in weight_map as there");
            problems.extend(rest.into_keys().map(unlisted));
        }
        ImportError::collect(path, SUMMARY, problems).map(|()| tensors)
    }
}

/// Whether the name leads nowhere else, on any system.
fn is_plain(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let one = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    one && !name.contains(['/', '\\', ':'])
}
