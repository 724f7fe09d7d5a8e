//! A random checkpoint as Marian itself would have saved it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use prost::Message;
use safetensors::SafeTensors;

use super::SplitMix64;
use super::pickle::zip;
use crate::import::spm::{NormalizerSpec, PieceType, SpmModel, SpmPiece, TrainerSpec};

/// Arrays by name: shape and little-endian f32 bytes.
type Arrays = BTreeMap<String, ([usize; 2], Vec<u8>)>;

/// Parts of transformers' names and of Marian's; the rest is made of these.
const PARTS: [(&str, &str); 10] = [
    ("self_attn.q_proj.", "self_?q"),
    ("self_attn.k_proj.", "self_?k"),
    ("self_attn.v_proj.", "self_?v"),
    ("self_attn.out_proj.", "self_?o"),
    ("encoder_attn.q_proj.", "context_?q"),
    ("encoder_attn.k_proj.", "context_?k"),
    ("encoder_attn.v_proj.", "context_?v"),
    ("encoder_attn.out_proj.", "context_?o"),
    ("fc1.", "ffn_?1"),
    ("fc2.", "ffn_?2"),
];
const NORMS: [(&str, &str); 3] = [
    ("self_attn_layer_norm.", "self_Wo_ln_"),
    ("encoder_attn_layer_norm.", "context_Wo_ln_"),
    ("final_layer_norm.", "ffn_ffn_ln_"),
];

/// Writes the weights of the checkpoint in `from` to `to/model.npz`, less the row of `<pad>`, with a SentencePiece model
/// for each vocabulary whose numbering is that of its ids. `options` go before the model's own, as `key: value` lines.
pub fn write_marian(from: &Path, to: &Path, options: &str) -> io::Result<()> {
    let config: serde_json::Value = serde_json::from_slice(&fs::read(from.join("config.json"))?)?;
    let bytes = fs::read(from.join("model.safetensors"))?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    let mut arrays = Arrays::new();
    for (key, view) in file.tensors() {
        let (name, array) = array(&key, view.shape(), view.data());
        arrays.insert(name, array);
    }
    let separate = config["share_encoder_decoder_embeddings"] == false;
    write_vocabulary(&from.join("vocab.json"), &to.join("vocab.spm"))?;
    if separate {
        write_vocabulary(&from.join("target_vocab.json"), &to.join("target.vocab.spm"))?;
        fs::rename(to.join("vocab.spm"), to.join("source.vocab.spm"))?;
        let vocabs = "vocabs:\n  - /home/someone/source.vocab.spm\n  - /home/someone/target.vocab.spm\n";
        fs::write(to.join("model.npz.decoder.yml"), vocabs)?;
    }
    fs::write(to.join("model.npz"), npz(&arrays, &format!("{options}{}", model_options(&config)))?)
}

/// A `.npz` of the arrays and Marian's options.
fn npz(arrays: &Arrays, options: &str) -> io::Result<Vec<u8>> {
    let options = [options.as_bytes(), b"\0"].concat();
    let options = ("special:model.yml.npy".to_owned(), npy("<i1", &format!("{},", options.len()), &options));
    let arrays = arrays
        .iter()
        .map(|(name, ([rows, cols], data))| (format!("{name}.npy"), npy("<f4", &format!("{rows}, {cols}"), data)));
    zip([options].into_iter().chain(arrays))
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while !(header.len() + 11).is_multiple_of(16) {
        header.push(' ');
    }
    header.push('\n');
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A tensor by Marian's name, in Marian's shape.
fn array(key: &str, shape: &[usize], data: &[u8]) -> (String, ([usize; 2], Vec<u8>)) {
    let whole = |name: &str, drop_pad: bool| {
        let (rows, cols) = (shape[0] - usize::from(drop_pad), shape[1]);
        (name.to_owned(), ([rows, cols], data[..rows * cols * 4].to_vec()))
    };
    match key {
        "model.shared.weight" => return whole("Wemb", true),
        "model.encoder.embed_tokens.weight" => return whole("encoder_Wemb", true),
        "model.decoder.embed_tokens.weight" => return whole("decoder_Wemb", true),
        "lm_head.weight" => return whole("decoder_ff_logit_out_Wt", true),
        "final_logits_bias" => {
            let cols = shape[1] - 1;
            return ("decoder_ff_logit_out_b".to_owned(), ([1, cols], data[..cols * 4].to_vec()));
        }
        _ => {}
    }
    let (side, rest) = if let Some(rest) = key.strip_prefix("model.encoder.layers.") {
        ("encoder", rest)
    } else {
        ("decoder", key.strip_prefix("model.decoder.layers.").unwrap_or(key))
    };
    let (layer, part) = rest.split_once('.').expect("a layer's tensor");
    let layer: usize = layer.parse().expect("a layer's number");
    let prefix = format!("{side}_l{}_", layer + 1);
    let vector = ([1, shape.iter().product()], data.to_vec());
    for (theirs, ours) in NORMS {
        if let Some(kind) = part.strip_prefix(theirs) {
            return (format!("{prefix}{ours}{}", if kind == "weight" { "scale" } else { "bias" }), vector);
        }
    }
    let found = PARTS.iter().find_map(|(theirs, ours)| Some((part.strip_prefix(theirs)?, *ours)));
    let (kind, ours) = found.expect("every tensor of a layer has a name of Marian's");
    if kind == "bias" {
        return (format!("{prefix}{}", ours.replace('?', "b")), vector);
    }
    let (rows, cols) = (shape[0], shape[1]);
    let (elements, _) = data.as_chunks::<4>();
    let transposed = (0..cols).flat_map(|col| (0..rows).flat_map(move |row| elements[row * cols + col])).collect();
    (format!("{prefix}{}", ours.replace('?', "W")), ([cols, rows], transposed))
}

fn model_options(config: &serde_json::Value) -> String {
    let value = |key: &str| config[key].to_string();
    let activation = config["activation_function"].as_str().unwrap_or_default();
    let (tied, shared) = (config["tie_word_embeddings"] == true, config["share_encoder_decoder_embeddings"] == true);
    format!(
        "bert-train-type-embeddings: true\ndec-cell: gru\ndec-depth: {}\ndim-emb: {}\ndim-rnn: 1024\ndim-vocabs:\n  - {}\n  - {}\n\
         enc-depth: {}\nlayer-normalization: false\nlemma-dim-emb: 0\noutput-omit-bias: false\nright-left: false\n\
         tied-embeddings: {}\ntied-embeddings-all: {}\ntied-embeddings-src: {}\ntransformer-decoder-autoreg: self-attention\n\
         transformer-dim-ffn: {}\ntransformer-ffn-activation: {activation}\ntransformer-ffn-depth: 2\ntransformer-heads: {}\n\
         transformer-no-projection: false\ntransformer-pool: false\ntransformer-postprocess: dan\n\
         transformer-postprocess-emb: d\ntransformer-postprocess-top: \"\"\ntransformer-preprocess: \"\"\n\
         transformer-tied-layers:\n  []\ntransformer-train-position-embeddings: false\ntype: transformer\nulr: false\n\
         version: v1.10.0 6f6d4846 2021-02-06 15:35:16 -0800\n",
        value("decoder_layers"),
        value("d_model"),
        value("vocab_size"),
        value("decoder_vocab_size"),
        value("encoder_layers"),
        tied && !shared,
        tied && shared,
        !tied && shared,
        value("encoder_ffn_dim"),
        value("encoder_attention_heads"),
    )
}

/// A SentencePiece model of the vocabulary's pieces in the order of their ids, `<pad>` excepted.
fn write_vocabulary(json: &Path, spm: &Path) -> io::Result<()> {
    let ids: BTreeMap<String, u32> = serde_json::from_slice(&fs::read(json)?)?;
    let mut pieces: Vec<(u32, String)> = ids.into_iter().map(|(piece, id)| (id, piece)).collect();
    pieces.sort();
    let mut random = SplitMix64::new(5);
    let pieces = pieces.into_iter().map(|(_, text)| text).filter(|text| text != "<pad>").map(|text| {
        let kind = match text.as_str() {
            "</s>" => PieceType::Control,
            "<unk>" => PieceType::Unknown,
            _ => PieceType::Normal,
        };
        let score = -5.0 + 3.0 * random.signed();
        SpmPiece { piece: Some(text.into_bytes()), score: Some(score), r#type: Some(kind as i32) }
    });
    let model = SpmModel {
        pieces: pieces.collect(),
        trainer_spec: Some(TrainerSpec::default()),
        normalizer_spec: Some(NormalizerSpec::default()),
        ..SpmModel::default()
    };
    fs::write(spm, model.encode_to_vec())
}
