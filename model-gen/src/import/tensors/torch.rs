//! `pytorch_model.bin`: a zip archive of a pickle, which names the tensors, and one entry of bytes for each storage.

use std::collections::BTreeMap;
use std::path::Path;

use super::pickle::{self, Object, Pickle, Value};
use super::stored::{Element, Stored};
use crate::import::archive::{Archive, MAGIC};
use crate::import::error::ImportError;

/// Longest pickle read. That of a model of a thousand tensors is a hundred kilobytes.
const MAX_PICKLE: usize = 16 << 20;

const SAVE_AGAIN: &str = "load the model in transformers and save it with `save_pretrained`";

/// The tensors of the state dict by key.
pub(super) fn tensors<'a>(path: &Path, bytes: &'a [u8]) -> Result<BTreeMap<String, Stored<'a>>, ImportError> {
    let damaged = |reason: String, remedy: &str| ImportError::Damaged {
        path: path.to_owned(),
        reason,
        remedy: remedy.to_owned(),
    };
    if !bytes.starts_with(MAGIC) {
        let legacy = bytes.starts_with(&[0x80, 0x02, 0x8a]);
        let reason = if legacy { "a file of torch before 1.6, which is no zip archive" } else { "not a file of torch" };
        return Err(damaged(reason.to_owned(), SAVE_AGAIN));
    }
    let archive = Archive::read(bytes).map_err(|reason| damaged(reason, "copy or download it again"))?;
    state_dict(&archive).map_err(|reason| damaged(reason, SAVE_AGAIN))
}

fn state_dict<'a>(archive: &Archive<'a>) -> Result<BTreeMap<String, Stored<'a>>, String> {
    let pickles = archive.iter().filter_map(|(name, data)| Some((name.strip_suffix("data.pkl")?, data)));
    let pickles: Vec<_> = pickles.filter(|(folder, _)| folder.matches('/').count() <= 1).collect();
    let &[(folder, program)] = pickles.as_slice() else {
        return Err(format!("found {} entries data.pkl, wanted one", pickles.len()));
    };
    if program.len() > MAX_PICKLE {
        return Err(format!("data.pkl has {} bytes, more than the {MAX_PICKLE} that are read", program.len()));
    }
    if archive.get(&format!("{folder}byteorder")).is_some_and(|order| order != b"little") {
        return Err("the tensors are not little-endian".to_owned());
    }
    let pickle = pickle::read(program)?;
    let Value::Object(root) = pickle.result else { return Err("the pickle holds no state dict".to_owned()) };
    let Some(Object::Dict(entries)) = pickle.objects.get(root) else {
        return Err("the pickle holds no state dict".to_owned());
    };
    let mut tensors = BTreeMap::new();
    for (key, value) in entries {
        let Value::Text(key) = key else { return Err("the state dict has a key that is no text".to_owned()) };
        let tensor = tensor(&pickle, *value, |storage| archive.get(&format!("{folder}data/{storage}")));
        let tensor = tensor.ok_or_else(|| format!("{key}: not a tensor with its whole storage in the file"))?;
        tensors.insert((*key).to_owned(), tensor);
    }
    Ok(tensors)
}

/// What `_rebuild_tensor_v2(storage, offset, shape, strides, ...)` would build.
fn tensor<'a>(
    pickle: &Pickle<'_>,
    value: Value<'_>,
    storage_bytes: impl Fn(&str) -> Option<&'a [u8]>,
) -> Option<Stored<'a>> {
    let object = |value: &Value| match value {
        Value::Object(index) => pickle.objects.get(*index),
        _ => None,
    };
    let sizes = |value: &Value| match object(value) {
        Some(Object::Tuple(sizes)) => sizes.iter().map(whole).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let Some(Object::Tensor(arguments)) = object(&value) else { return None };
    let Some(Object::Tuple(arguments)) = object(arguments) else { return None };
    let [storage, offset, shape, strides, ..] = arguments.as_slice() else { return None };
    let Some(Object::Persistent(id)) = object(storage) else { return None };
    // Kind, class, key of the bytes, device, number of elements.
    let Some(Object::Tuple(id)) = object(id) else { return None };
    let [Value::Text("storage"), Value::StorageType(class), Value::Text(key), ..] = id.as_slice() else { return None };
    let element = match *class {
        "HalfStorage" => Element::F16,
        "BFloat16Storage" => Element::BF16,
        "FloatStorage" => Element::F32,
        "DoubleStorage" => Element::F64,
        other => Element::Other(other.to_owned()),
    };
    Stored::strided(element, sizes(shape)?, sizes(strides)?, whole(offset)?, storage_bytes(key)?)
}

fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::Int(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}
