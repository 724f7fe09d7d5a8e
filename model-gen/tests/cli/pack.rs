//! `model-gen pack`: what it refuses, and what it leaves behind when it does.

use super::*;

#[test]
fn pack_without_a_checkpoint() {
    let lab = Lab::new();
    for dir in [lab.file("nowhere"), lab.file("config.json")] {
        let out = lab.blob();
        let output = command(&["pack", "--checkpoint", str(&dir), "--out", str(&out)]).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(message.contains(str(&dir)) && message.contains("director"), "{message}");
        assert!(lab.left_behind().is_empty());
    }
}

#[test]
fn pack_with_a_file_missing_empty_or_a_pointer() {
    for name in FILES {
        let lab = Lab::new();
        let bytes = std::fs::read(lab.file(name)).unwrap();
        std::fs::remove_file(lab.file(name)).unwrap();
        lab.must_fail(&[name]);
        std::fs::write(lab.file(name), b"").unwrap();
        lab.must_fail(&[name, "empty"]);
        std::fs::write(lab.file(name), b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n").unwrap();
        lab.must_fail(&[name, "git lfs pull"]);
        std::fs::write(lab.file(name), bytes).unwrap();
        assert!(lab.pack(&[]).status.success());
    }
}

#[test]
fn pack_with_a_file_cut_short() {
    let lab = Lab::new();
    for name in FILES {
        let bytes = std::fs::read(lab.file(name)).unwrap();
        for len in [1, 7, 8, bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(lab.file(name), &bytes[..len]).unwrap();
            lab.must_fail(&[name]);
        }
        std::fs::write(lab.file(name), bytes).unwrap();
    }
}

#[test]
fn pack_with_broken_json_says_where() {
    let lab = Lab::new();
    for name in ["config.json", "vocab.json"] {
        let sound = std::fs::read_to_string(lab.file(name)).unwrap();
        std::fs::write(lab.file(name), sound.replacen(':', ";", 2)).unwrap();
        lab.must_fail(&[&format!("{name}:2:")]);
        std::fs::write(lab.file(name), "[1, 2]").unwrap();
        lab.must_fail(&[name]);
        std::fs::write(lab.file(name), sound).unwrap();
    }
}

#[test]
fn pack_reports_all_mismatches_together() {
    let lab = Lab::new();
    let mut config: Value = serde_json::from_slice(&std::fs::read(lab.file("config.json")).unwrap()).unwrap();
    config["encoder_ffn_dim"] = 51.into();
    config["decoder_layers"] = 4.into();
    std::fs::write(lab.file("config.json"), config.to_string()).unwrap();
    lab.must_fail(&[
        "model.encoder.layers.0.fc1.weight: found shape [50, 36], wanted [51, 36]",
        "model.encoder.layers.1.fc2.weight: found shape [36, 50], wanted [36, 51]",
        "model.decoder.layers.3.encoder_attn.q_proj.weight: found nothing, wanted shape [36, 36]",
    ]);
    for (key, value) in [("d_model", 35), ("encoder_attention_heads", 0), ("vocab_size", 0), ("eos_token_id", 70_000)] {
        let mut wrong = config.clone();
        wrong[key] = value.into();
        std::fs::write(lab.file("config.json"), wrong.to_string()).unwrap();
        lab.must_fail(&["config.json", key]);
    }
}

#[test]
fn pack_into_a_folder_that_is_not_there() {
    let lab = Lab::new();
    let out = lab.out.path().join("no/such/model.blob");
    let output = command(&["pack", "--checkpoint", str(lab.checkpoint.path()), "--out", str(&out)]).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains(str(&out)) && message.contains("folder"), "{message}");
    assert!(lab.left_behind().is_empty());
}

#[test]
fn pack_twice_gives_the_same_bytes() {
    for engine in ["int8", "f16"] {
        let lab = Lab::new();
        let mut packed = Vec::new();
        for _ in 0..2 {
            let output = lab.pack(&["--engine", engine, "--json"]);
            let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
            packed.push(std::fs::read(lab.blob()).unwrap());
            assert_eq!(summary["engine"], engine);
            assert_eq!(summary["bytes"], packed[0].len());
            assert_eq!(lab.left_behind(), ["model.blob"]);
        }
        assert_eq!(packed[0], packed[1]);
        assert!(Model::from_bytes(&AlignedBytes::copy_of(&packed[0])).is_ok());
    }
}

#[test]
fn pack_refuses_a_sentencepiece_model_cut_between_records() {
    let lab = Lab::new();
    let whole = SpmModel::parse("source.spm", &std::fs::read(lab.file("source.spm")).unwrap()).unwrap();
    let cuts = [
        (SpmModel { trainer_spec: None, normalizer_spec: None, ..whole.clone() }, "trainer_spec"),
        (SpmModel { normalizer_spec: None, ..whole.clone() }, "normalizer_spec"),
    ];
    for (cut, field) in cuts {
        for name in ["source.spm", "target.spm"] {
            let file = lab.file(name);
            let before = std::fs::read(&file).unwrap();
            std::fs::write(&file, cut.encode_to_vec()).unwrap();
            let output = lab.pack(&[]);
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{message}");
            assert!(message.contains(&format!("{name} has no {field}")), "{message}");
            assert!(!lab.blob().exists());
            std::fs::write(&file, before).unwrap();
        }
    }
}

#[test]
fn pack_spares_the_checkpoint() {
    let lab = Lab::new();
    let weights = lab.file("model.safetensors");
    let before = std::fs::read(&weights).unwrap();
    let output =
        command(&["pack", "--checkpoint", str(lab.checkpoint.path()), "--out", str(&weights)]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is a file of the checkpoint"));
    assert_eq!(std::fs::read(&weights).unwrap(), before);
}
