use std::fs;
use std::path::Path;
use std::sync::Arc;

use half::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use tempfile::TempDir;

use crate::import::positions::Frequencies;
use crate::import::{Checkpoint, load_checkpoint};
use crate::testing::{RandomSpec, write_random_checkpoint};

mod containers;

type Tensor = (String, Dtype, Vec<usize>, Vec<u8>);

fn checkpoint_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    dir
}

/// Rewrites the tensors of the checkpoint in `dir`.
fn edit(dir: &Path, change: impl FnOnce(&mut Vec<Tensor>)) {
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let own = |(key, view): (String, TensorView)| (key, view.dtype(), view.shape().to_vec(), view.data().to_vec());
    let mut tensors: Vec<Tensor> = file.tensors().into_iter().map(own).collect();
    change(&mut tensors);
    let views =
        tensors.iter().map(|(key, dtype, shape, data)| (key, TensorView::new(*dtype, shape.clone(), data).unwrap()));
    fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Rewrites one value of `config.json`.
fn configure(dir: &Path, key: &str, value: serde_json::Value) {
    let path = dir.join("config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config[key] = value;
    fs::write(&path, config.to_string()).unwrap();
}

fn get<'t>(tensors: &'t mut [Tensor], key: &str) -> &'t mut Tensor {
    tensors.iter_mut().find(|tensor| tensor.0 == key).unwrap()
}

fn load(dir: &TempDir) -> Checkpoint {
    load_checkpoint(dir.path()).unwrap()
}

fn error(dir: &TempDir) -> String {
    load_checkpoint(dir.path()).unwrap_err().to_string()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn shapes_and_tying() {
    let checkpoint = load(&checkpoint_dir());
    assert_eq!((checkpoint.encoder.len(), checkpoint.decoder.len()), (2, 3));
    let fc1 = &checkpoint.decoder[2].fc1;
    assert_eq!((fc1.weight.rows, fc1.weight.cols, fc1.weight.data.len(), fc1.bias.len()), (50, 36, 1800, 50));
    assert!(checkpoint.embeddings_are_shared() && checkpoint.output_is_tied());
    assert_eq!(checkpoint.final_logits_bias.len(), 77);
}

#[test]
fn all_mismatches_come_together() {
    let dir = checkpoint_dir();
    edit(dir.path(), |tensors| {
        tensors.retain(|tensor| tensor.0 != "model.encoder.layers.1.fc2.bias");
        get(tensors, "model.encoder.layers.0.fc1.weight").2 = vec![36, 50];
        let ints = get(tensors, "model.decoder.layers.0.fc1.bias");
        ints.1 = Dtype::I32;
        let nan = &mut get(tensors, "model.decoder.layers.2.encoder_attn.k_proj.weight").3;
        nan[20..24].copy_from_slice(&f32::NAN.to_le_bytes());
        tensors.push(("model.extra".to_owned(), Dtype::F32, vec![1], vec![0; 4]));
    });
    let error = error(&dir);
    for part in [
        "model.safetensors: tensors that do not fit config.json:",
        "model.encoder.layers.1.fc2.bias: found nothing, wanted shape [36]",
        "model.encoder.layers.0.fc1.weight: found shape [36, 50], wanted [50, 36]",
        "model.decoder.layers.0.fc1.bias: found I32 values, wanted F32, F16, BF16 or F64",
        "model.decoder.layers.2.encoder_attn.k_proj.weight: found NaN at index 5, wanted finite values",
        "model.extra: found shape [1], wanted no such tensor",
    ] {
        assert!(error.contains(part), "{part:?} not in {error}");
    }
    assert_eq!(error.lines().count(), 6, "{error}");
}

#[test]
fn half_precision_is_widened() {
    let dir = checkpoint_dir();
    let before = load(&dir);
    edit(dir.path(), |tensors| {
        for (i, (_, dtype, _, data)) in tensors.iter_mut().enumerate() {
            let values = data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b));
            (*dtype, *data) = if i % 2 == 0 {
                (Dtype::F16, values.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect())
            } else {
                (Dtype::BF16, values.flat_map(|x| bf16::from_f32(x).to_le_bytes()).collect())
            };
        }
    });
    let after = load(&dir);
    let pairs = before.output.data.iter().zip(&after.output.data);
    assert!(pairs.clone().all(|(a, b)| (a - b).abs() <= a.abs() / 200.0) && pairs.clone().any(|(a, b)| a != b));
}

#[test]
fn absent_logits_bias_is_zero() {
    let dir = checkpoint_dir();
    edit(dir.path(), |tensors| tensors.retain(|tensor| tensor.0 != "final_logits_bias"));
    assert_eq!(load(&dir).final_logits_bias, [0.0; 77]);
}

#[test]
fn untied_and_separate_matrices() {
    let dir = checkpoint_dir();
    for key in ["tie_word_embeddings", "share_encoder_decoder_embeddings"] {
        configure(dir.path(), key, false.into());
    }
    let missing = error(&dir);
    for key in ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"] {
        assert!(missing.contains(&format!("{key}: found nothing, wanted shape [77, 36]")), "{missing}");
    }
    assert!(missing.contains("model.shared.weight: found shape [77, 36], wanted no such tensor"), "{missing}");
    edit(dir.path(), |tensors| {
        let shared = get(tensors, "model.shared.weight").clone();
        tensors.retain(|tensor| tensor.0 != shared.0);
        for (key, first) in [
            ("model.encoder.embed_tokens.weight", 1.0f32),
            ("model.decoder.embed_tokens.weight", 2.0),
            ("lm_head.weight", 3.0),
        ] {
            let mut tensor = shared.clone();
            tensor.0 = key.to_owned();
            tensor.3[..4].copy_from_slice(&first.to_le_bytes());
            tensors.push(tensor);
        }
    });
    let checkpoint = load(&dir);
    let firsts = [&checkpoint.source_embedding, &checkpoint.target_embedding, &checkpoint.output].map(|m| m.data[0]);
    assert_eq!(firsts, [1.0, 2.0, 3.0]);
    assert!(!checkpoint.embeddings_are_shared() && !checkpoint.output_is_tied());
}

#[test]
fn copies_of_a_tied_matrix_must_be_equal() {
    let dir = checkpoint_dir();
    let copy_as = |key: &str, first: Option<f32>| {
        edit(dir.path(), |tensors| {
            let mut tensor = get(tensors, "model.shared.weight").clone();
            tensor.0 = key.to_owned();
            if let Some(first) = first {
                tensor.3[..4].copy_from_slice(&first.to_le_bytes());
            }
            tensors.push(tensor);
        });
    };
    copy_as("lm_head.weight", None);
    let checkpoint = load(&dir);
    assert!(Arc::ptr_eq(&checkpoint.output, &checkpoint.source_embedding));
    copy_as("model.decoder.embed_tokens.weight", Some(9.0));
    let error = error(&dir);
    assert!(error.contains("model.decoder.embed_tokens.weight: found values other than those of model.shared.weight"));
}

#[test]
fn stored_positions_must_be_the_sinusoids() {
    let dir = checkpoint_dir();
    let key = "model.encoder.embed_positions.weight";
    let mut table: Vec<f32> = (0..64).flat_map(|position| Frequencies::Paper.sinusoid(position, 36)).collect();
    let data = bytes(&table);
    edit(dir.path(), |tensors| tensors.push((key.to_owned(), Dtype::F32, vec![64, 36], data)));
    load(&dir);
    table[36 * 3 + 5] += 0.01;
    edit(dir.path(), |tensors| get(tensors, key).3 = bytes(&table));
    let error = error(&dir);
    assert!(error.contains(&format!("{key}: found")) && error.contains("at position 3, element 5"), "{error}");
}

#[test]
fn missing_and_cut_files_say_what_to_do() {
    let dir = checkpoint_dir();
    let path = dir.path().join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for length in [1, 7, 8, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = error(&dir);
        assert!(error.contains("model.safetensors: the file ends before its tensors do: copy"), "{length}: {error}");
    }
    fs::write(&path, [b'x'; 100]).unwrap();
    assert!(error(&dir).contains("not a safetensors file"));
    fs::write(&path, "").unwrap();
    assert!(error(&dir).contains("model.safetensors: the file is empty: copy"));
    fs::write(&path, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n").unwrap();
    assert!(error(&dir).contains("Git LFS pointer"));
    fs::remove_file(&path).unwrap();
    assert!(error(&dir).contains("model.safetensors: not found: the weights (this file or pytorch_model.bin"));
    fs::remove_file(dir.path().join("config.json")).unwrap();
    assert!(error(&dir).contains("config.json: not found"));
    let file = dir.path().join("vocab.json");
    assert!(load_checkpoint(&file).unwrap_err().to_string().contains("not a file"));
}
