use std::path::Path;

use serde_json::{Value, json};

use super::*;

fn sample() -> Value {
    json!({
        "model_type": "marian", "activation_function": "swish", "d_model": 36, "vocab_size": 77,
        "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 50, "decoder_ffn_dim": 51, "pad_token_id": 76, "decoder_start_token_id": 76,
    })
}

fn parse(value: &Value) -> Result<Config, String> {
    let text = serde_json::to_string_pretty(value).unwrap();
    Config::parse(Path::new("config.json"), &text).map_err(|error| error.to_string())
}

#[test]
fn absent_keys_take_the_library_defaults() {
    let config = parse(&sample()).unwrap();
    assert_eq!(config.activation_function, Activation::Silu);
    assert_eq!(config.eos_token_id, 0);
    assert_eq!((config.decoder_vocab_size, config.max_position_embeddings), (77, 1024));
    assert!(!config.scale_embedding && config.tie_word_embeddings && config.share_encoder_decoder_embeddings);
    assert_eq!((config.encoder_attention_heads, config.decoder_attention_heads), (3, 4));
    assert_eq!((config.encoder_ffn_dim, config.decoder_ffn_dim), (50, 51));
}

#[test]
fn all_problems_come_at_once_with_their_lines() {
    let mut value = sample();
    value["activation_function"] = json!("gelu_new");
    value["add_final_layer_norm"] = json!(true);
    value["static_position_embeddings"] = json!(false);
    value["d_model"] = json!("wide");
    value.as_object_mut().unwrap().remove("pad_token_id");
    let error = parse(&value).unwrap_err();
    for part in [
        "config.json: values that cannot be imported:",
        "line 3: activation_function: found \"gelu_new\", wanted \"relu\", \"swish\", \"silu\" or \"gelu\"",
        "add_final_layer_norm: found true, wanted false",
        "static_position_embeddings: found false, wanted true",
        "line 4: d_model: found \"wide\", wanted a whole number from 1 to 65536",
        "pad_token_id: absent",
    ] {
        assert!(error.contains(part), "{part:?} not in {error}");
    }
}

#[test]
fn other_architectures_are_refused_alone() {
    for model_type in ["m2m_100", "t5", "bart"] {
        let error = parse(&json!({"model_type": model_type, "activation_function": "tanh"})).unwrap_err();
        let wanted = format!(
            "config.json: values that cannot be imported:\n  line 2: model_type: found {model_type:?}, wanted \"marian\": \
             transformers' MarianMT and Marian's own .npz can be imported, no other architecture"
        );
        assert_eq!(error, wanted);
    }
    assert!(parse(&json!({})).unwrap_err().contains("model_type: absent, wanted \"marian\""));
}

#[test]
fn values_must_agree_with_each_other() {
    for (key, bad, words) in [
        ("encoder_attention_heads", 5, "a divisor of d_model (36)"),
        ("decoder_vocab_size", 78, "vocab_size (77), as share_encoder_decoder_embeddings is true"),
        ("decoder_start_token_id", 77, "an id below decoder_vocab_size (77)"),
        ("pad_token_id", 0, "an id other than eos_token_id's"),
        ("encoder_layers", 0, "a whole number from 1 to 256"),
    ] {
        let mut value = sample();
        value[key] = json!(bad);
        let error = parse(&value).unwrap_err();
        assert!(error.contains(key) && error.contains(words), "{error}");
    }
}

#[test]
fn broken_json_names_file_and_line() {
    let error = Config::parse(Path::new("config.json"), "{\n  \"d_model\": 1,,\n}").unwrap_err().to_string();
    assert!(error.starts_with("config.json:2:"), "{error}");
    let error = Config::parse(Path::new("config.json"), "{\n  \"d_mod").unwrap_err().to_string();
    assert!(error.starts_with("config.json:2:") && error.contains("cut short"), "{error}");
    let error = Config::parse(Path::new("config.json"), "[]").unwrap_err().to_string();
    assert!(error.contains("expected a map"), "{error}");
}
