//! The same weights in the other files that checkpoints come in.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

use super::pickle::{TorchTensor, archive, state_dict};

/// How a checkpoint's weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `model-0000i-of-0000n.safetensors` and their index.
    SafetensorsShards(usize),
    /// `pytorch_model.bin`.
    Torch,
    /// `pytorch_model-0000i-of-0000n.bin` and their index.
    TorchShards(usize),
}

/// Replaces `model.safetensors` (F32) in `dir`. Torch's matrices are stored transposed, every second with elements
/// before its own, so that strides and offsets matter.
pub fn rewrite_weights(dir: &Path, container: Container) -> io::Result<()> {
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut tensors = file.tensors();
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (shards, stem, extension) = match container {
        Container::SafetensorsShards(shards) => (Some(shards), "model", "safetensors"),
        Container::Torch => (None, "pytorch_model", "bin"),
        Container::TorchShards(shards) => (Some(shards), "pytorch_model", "bin"),
    };
    let serialize = |tensors: &[(String, TensorView<'_>)]| match extension {
        "bin" => torch(tensors),
        _ => safetensors::serialize(tensors.iter().map(|(key, view)| (key, view)), None).map_err(io::Error::other),
    };
    if let Some(shards) = shards {
        let mut weight_map = BTreeMap::new();
        for (i, tensors) in tensors.chunks(tensors.len().div_ceil(shards)).enumerate() {
            let name = format!("{stem}-{:05}-of-{shards:05}.{extension}", i + 1);
            weight_map.extend(tensors.iter().map(|(key, _)| (key.clone(), name.clone())));
            fs::write(dir.join(name), serialize(tensors)?)?;
        }
        let index = serde_json::json!({"metadata": {"total_size": bytes.len()}, "weight_map": weight_map});
        fs::write(dir.join(format!("{stem}.{extension}.index.json")), index.to_string())?;
    } else {
        fs::write(dir.join(format!("{stem}.{extension}")), serialize(&tensors)?)?;
    }
    fs::remove_file(path)
}

fn torch(tensors: &[(String, TensorView<'_>)]) -> io::Result<Vec<u8>> {
    let tensors: Vec<_> = tensors.iter().enumerate().map(|(i, (key, view))| transposed(key, view, i % 2 * 3)).collect();
    archive(&state_dict(&tensors), &tensors)
}

/// The tensor with the first dimension fastest, after `offset` elements that are not its own.
fn transposed(key: &str, view: &TensorView<'_>, offset: usize) -> TorchTensor {
    let shape = view.shape().to_vec();
    let rows = shape[0];
    let cols = shape.iter().skip(1).product::<usize>();
    let (elements, _) = view.data().as_chunks::<4>();
    let mut bytes = vec![0xff; offset * 4];
    bytes.extend((0..cols).flat_map(|col| (0..rows).flat_map(move |row| elements[row * cols + col])));
    let strides = shape.iter().enumerate().map(|(i, _)| if i == 0 { 1 } else { rows }).collect();
    TorchTensor { key: key.to_owned(), storage: "FloatStorage".to_owned(), shape, strides, offset, bytes }
}
