//! The same weights from every file they come in, and what is said of files that are not whole.

use std::fs;
use std::path::Path;

use super::{checkpoint_dir, error, load};
use crate::import::{Checkpoint, load_checkpoint};
use crate::testing::pickle::{TorchTensor, archive, state_dict};
use crate::testing::{Container, RandomSpec, rewrite_weights, write_random_checkpoint};

const INDEX: &str = "model.safetensors.index.json";

fn weights(checkpoint: &Checkpoint) -> String {
    format!("{:?}", (&checkpoint.encoder, &checkpoint.decoder, &checkpoint.output, &checkpoint.final_logits_bias))
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} not in {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn every_container_holds_the_same_weights() {
    let wanted = weights(&load(&checkpoint_dir()));
    for container in [Container::SafetensorsShards(3), Container::Torch, Container::TorchShards(4)] {
        let dir = checkpoint_dir();
        rewrite_weights(dir.path(), container).unwrap();
        assert!(weights(&load(&dir)) == wanted, "{container:?}");
    }
}

#[test]
fn safetensors_come_before_a_pickle() {
    let dir = checkpoint_dir();
    fs::write(dir.path().join("pytorch_model.bin"), "x").unwrap();
    load(&dir);
    rewrite_weights(dir.path(), Container::SafetensorsShards(2)).unwrap();
    load(&dir);
    fs::remove_file(dir.path().join(INDEX)).unwrap();
    assert!(error(&dir).contains("pytorch_model.bin: not a file of torch: load the model in transformers"));
}

#[test]
fn shards_must_be_there_and_hold_what_the_index_says() {
    let sharded = || {
        let dir = checkpoint_dir();
        rewrite_weights(dir.path(), Container::SafetensorsShards(3)).unwrap();
        let index = dir.path().join(INDEX);
        (dir, index)
    };
    let (dir, _) = sharded();
    fs::remove_file(dir.path().join("model-00002-of-00003.safetensors")).unwrap();
    let missing = error(&dir);
    assert!(
        missing.contains("model-00002-of-00003.safetensors: not found: the shards that the index names"),
        "{missing}"
    );

    let (dir, index) = sharded();
    replace(&index, "final_logits_bias", "final_logits_bios");
    let wrong = error(&dir);
    assert!(wrong.contains(&format!("{INDEX}: shards that do not fit their index:")), "{wrong}");
    assert!(wrong.contains("final_logits_bios: found nothing in model-00001-of-00003.safetensors"), "{wrong}");
    assert!(wrong.contains("final_logits_bias: found in model-00001-of-00003.safetensors, but not in weight_map"));

    for name in ["../model-00001-of-00003.safetensors", "/etc/hostname", "..", "a\\\\b", "c:model", ""] {
        let (dir, index) = sharded();
        replace(&index, "model-00001-of-00003.safetensors", name);
        assert!(error(&dir).contains("wanted a file beside the index"), "{name}: {}", error(&dir));
    }

    let (dir, index) = sharded();
    fs::write(&index, "{\"weight_map\": {}}").unwrap();
    assert!(error(&dir).contains("weight_map: found no tensors"));
    fs::write(&index, "{}").unwrap();
    assert!(error(&dir).contains("missing field `weight_map`"));
}

fn bias(storage: &str, shape: &[usize], strides: &[usize], offset: usize) -> TorchTensor {
    TorchTensor {
        key: "final_logits_bias".to_owned(),
        storage: storage.to_owned(),
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        offset,
        bytes: vec![0; 77 * 4],
    }
}

#[test]
fn torch_tensors_must_lie_in_their_storage() {
    let dir = checkpoint_dir();
    fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    let path = dir.path().join("pytorch_model.bin");
    let say = |tensor: TorchTensor| {
        let tensors = [tensor];
        fs::write(&path, archive(&state_dict(&tensors), &tensors).unwrap()).unwrap();
        error(&dir)
    };
    // Whole, so that what is missing is all the rest.
    assert!(say(bias("FloatStorage", &[1, 77], &[77, 1], 0)).contains("pytorch_model.bin: tensors that do not fit"));
    for tensor in [
        bias("FloatStorage", &[1, 78], &[78, 1], 0),
        bias("FloatStorage", &[1, 77], &[77, 1], 1),
        bias("FloatStorage", &[1, 77], &[77, 2], 0),
        bias("FloatStorage", &[1 << 30, 1 << 30], &[0, 0], 0),
        bias("DoubleStorage", &[1, 77], &[77, 1], 0),
    ] {
        let error = say(tensor.clone());
        assert!(error.contains("final_logits_bias: not a tensor with its whole storage"), "{tensor:?}: {error}");
    }
    let error = say(bias("LongStorage", &[1, 77], &[77, 1], 0));
    assert!(error.contains("final_logits_bias: found LongStorage values, wanted F32, F16, BF16 or F64"), "{error}");
}

#[test]
fn files_that_are_no_state_dict_say_what_to_do() {
    let dir = checkpoint_dir();
    rewrite_weights(dir.path(), Container::Torch).unwrap();
    let path = dir.path().join("pytorch_model.bin");
    let whole = fs::read(&path).unwrap();
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        error(&dir)
    };
    let legacy = say(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.");
    assert!(legacy.contains("torch before 1.6, which is no zip archive: load the model in transformers and save"));
    for end in [5, 1000, whole.len() / 2, whole.len() - 1] {
        assert!(say(&whole[..end]).contains("pytorch_model.bin: not a whole zip archive"), "{end}");
    }
    let mut changed = whole.clone();
    let half = whole.len() / 2;
    changed[half] ^= 1;
    assert!(say(&changed).contains("is damaged: copy or download it again"));
    let hostile = say(&archive(b"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.", &[]).unwrap());
    assert!(hostile.contains("the pickle calls \"posix.system\", which is not run: load the model"), "{hostile}");
    assert!(say(&archive(b"\x80\x02K\x01.", &[]).unwrap()).contains("the pickle holds no state dict"));
    assert!(say(&archive(b"\x80\x02}K\x01K\x02s.", &[]).unwrap()).contains("a key that is no text"));
    assert!(say(&archive(b"\x80\x02}X\x01\x00\x00\x00aK\x02s.", &[]).unwrap()).contains("a: not a tensor"));
    let huge = vec![b'N'; (16 << 20) + 1];
    assert!(say(&archive(&huge, &[]).unwrap()).contains("data.pkl has 16777217 bytes, more than"));
}

/// A matrix saved as one and as its own copy: the blob should hold it once.
#[test]
fn an_untied_copy_of_the_embedding_is_tied() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec { tied_output: false, ..RandomSpec::default() }).unwrap();
    assert!(!load(&dir).output_is_tied());
    super::edit(dir.path(), |tensors| {
        let shared = super::get(tensors, "model.shared.weight").3.clone();
        super::get(tensors, "lm_head.weight").3 = shared;
    });
    let checkpoint = load_checkpoint(dir.path()).unwrap();
    assert!(checkpoint.output_is_tied() && checkpoint.embeddings_are_shared());
}
