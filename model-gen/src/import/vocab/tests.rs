use super::*;
use crate::import::CheckpointDir;
use crate::testing::{RandomSpec, write_random_checkpoint};

fn parse(text: &str, size: usize) -> Result<Vocab, String> {
    Vocab::parse(Path::new("vocab.json"), text, size, "vocab_size").map_err(|error| error.to_string())
}

#[test]
fn order_of_ids_not_of_lines() {
    let vocab = parse(r#"{"b": 1, "▁": 2, "</s>": 0}"#, 3).unwrap();
    assert_eq!(vocab.pieces(), ["</s>", "b", "▁"]);
    assert_eq!((vocab.id("▁"), vocab.id("x")), (Some(2), None));
}

#[test]
fn every_fault_is_named() {
    let error = parse(r#"{"a": 0, "a": 1, "b": 1, "c": 9}"#, 5).unwrap_err();
    for part in [
        "vocab.json: not a vocabulary",
        "found 4 pieces, wanted 5 (vocab_size of config.json)",
        "piece \"a\": found twice (again with id 1)",
        "piece \"b\": found id 1, which \"a\" has too",
        "piece \"c\": found id 9, wanted one below the number of pieces",
        "id 2: found no piece",
    ] {
        assert!(error.contains(part), "{part:?} not in {error}");
    }
}

#[test]
fn faults_of_the_json_name_the_line() {
    let error = parse("{\"a\": 0,\n \"b\": -1}", 2).unwrap_err();
    assert!(error.starts_with("vocab.json:2:") && error.contains("-1"), "{error}");
    assert!(parse("[1]", 1).unwrap_err().contains("an object from pieces to ids"));
}

#[test]
fn a_thousand_faults_are_summed_up() {
    let text = (0..1000).map(|i| format!("\"p{i}\": 5000")).collect::<Vec<_>>().join(",");
    let error = parse(&format!("{{{text}}}"), 1000).unwrap_err();
    assert!(error.ends_with("... and 1980 more") && error.lines().count() == 22, "{error}");
}

fn edited(dir: &Path, file: &str, change: impl FnOnce(&mut serde_json::Value)) {
    let path = dir.join(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn one_vocabulary_or_one_a_side() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    write_random_checkpoint(dir, &RandomSpec::default()).unwrap();
    let checkpoint = CheckpointDir::open(dir).unwrap();
    let read = || checkpoint.vocabularies(&checkpoint.config().unwrap()).map_err(|error| error.to_string());

    let both = read().unwrap();
    assert!(Arc::ptr_eq(&both.source, &both.target));
    assert_eq!((both.source_lang.as_deref(), both.target_lang.as_deref()), (Some("eng"), Some("spa")));

    edited(dir, "tokenizer_config.json", |config| config["separate_vocabs"] = true.into());
    assert!(read().unwrap_err().contains("target_vocab.json: not found"));
    std::fs::write(dir.join("target_vocab.json"), r#"{"</s>": 0, "a": 1, "<pad>": 2}"#).unwrap();
    assert!(read().unwrap_err().contains("found 3 pieces, wanted 77 (decoder_vocab_size of config.json)"));
    edited(dir, "config.json", |config| {
        config["decoder_vocab_size"] = 3.into();
        config["share_encoder_decoder_embeddings"] = false.into();
        config["pad_token_id"] = 2.into();
        config["decoder_start_token_id"] = 2.into();
    });
    let each = read().unwrap();
    assert_eq!((each.source.pieces().len(), each.target.pieces().len()), (77, 3));

    std::fs::remove_file(dir.join("tokenizer_config.json")).unwrap();
    let error = read().unwrap_err();
    assert!(error.contains("separate_vocabs") && error.contains("77 and 3 ids"), "{error}");
}

#[test]
fn tokenizer_config_may_be_absent_but_not_broken() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    let checkpoint = CheckpointDir::open(dir.path()).unwrap();
    let path = dir.path().join("tokenizer_config.json");
    std::fs::write(&path, "{\"source_lang\": 1}").unwrap();
    let config = checkpoint.config().unwrap();
    let error = checkpoint.vocabularies(&config).unwrap_err().to_string();
    assert!(error.contains("tokenizer_config.json:1:"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(checkpoint.vocabularies(&config).unwrap().source_lang, None);
}
