//! The tokenizer against SentencePiece's C++ and Hugging Face's Marian tokenizer, on the golden outputs.

use latimer::text::{EncodeWork, Node, Tokenizer};
use model_gen::import::spm::SpmModel;
use model_gen::import::tokenizer::{SpecialIds, TokenizerSections, tokenizer_sections};
use model_gen::import::vocab::Vocab;
use serde_json::Value;
use std::path::PathBuf;

const EOS: u16 = 0;

fn shared() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"))
}

/// The sections of en-es-nano, or a line that says why the test is skipped.
fn sections() -> Option<TokenizerSections> {
    let dir = shared().join("models/en-es-nano");
    let Ok(spm) = std::fs::read(dir.join("source.spm")) else {
        println!("skipped: no shared data at ../shared");
        return None;
    };
    let source = SpmModel::parse("source.spm", &spm).unwrap();
    let target = SpmModel::parse("target.spm", &std::fs::read(dir.join("target.spm")).unwrap()).unwrap();
    let vocab = Vocab::read(&dir.join("vocab.json"), 2001, "vocab_size").unwrap();
    Some(
        tokenizer_sections(&source, &target, &vocab, None, SpecialIds { eos: EOS, pad: 2000, unk: 1, language: None })
            .unwrap(),
    )
}

fn tokenizer(sections: &TokenizerSections) -> Tokenizer<'_> {
    Tokenizer::parse(&sections.tokenizer, &sections.source_vocab, sections.target_vocab.as_deref()).unwrap()
}

fn golden(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(shared().join("golden/en-es-nano").join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Normalized text and ids with the end of sentence.
fn encode(tokenizer: &Tokenizer, text: &str) -> (String, Vec<u16>) {
    let room = 18 * text.len() + 8;
    let (mut normalized, mut nodes, mut ids) = (vec![0; room], vec![Node::default(); room], vec![0; room]);
    let len = tokenizer.normalize(text.as_bytes(), &mut normalized).unwrap();
    let normalized = String::from_utf8(normalized[..len].to_vec()).unwrap();
    let work = EncodeWork { text: &mut vec![0; room], nodes: &mut nodes };
    let count = tokenizer.encode(text.as_bytes(), work, &mut ids).unwrap();
    ids.truncate(count);
    ids.push(EOS);
    (normalized, ids)
}

fn decode(tokenizer: &Tokenizer, ids: &[u16]) -> String {
    let (mut text, mut detokenizer) = (String::new(), tokenizer.detokenizer());
    for &id in ids {
        detokenizer.push(id, &mut text).unwrap();
    }
    detokenizer.finish(&mut text).unwrap();
    text
}

fn ids(value: &Value) -> Vec<u16> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u16).collect()
}

#[test]
fn equals_sentencepiece_on_every_golden_string() {
    let Some(sections) = sections() else { return };
    let tokenizer = tokenizer(&sections);
    let golden = golden("tokenizer.jsonl");
    assert_eq!(golden.len(), 393);
    for line in &golden {
        let (normalized, encoded) = encode(&tokenizer, line["text"].as_str().unwrap());
        assert_eq!(normalized, line["normalized"], "{line}");
        assert_eq!(encoded, ids(&line["ids"]), "{line}");
        // `decoded` is of the ids, so an unknown character shows as the unknown surface.
        assert_eq!(decode(&tokenizer, &encoded), line["decoded"], "{line}");
    }
}

#[test]
fn equals_hugging_face_on_the_test_set() {
    let Some(sections) = sections() else { return };
    let tokenizer = tokenizer(&sections);
    let golden = golden("test.jsonl");
    assert_eq!(golden.len(), 1552);
    for line in &golden {
        assert_eq!(encode(&tokenizer, line["source"].as_str().unwrap()).1, ids(&line["ids"]), "{line}");
        for (ids_of, text) in [("greedy_ids", "greedy"), ("beam4_ids", "beam4")] {
            assert_eq!(decode(&tokenizer, &ids(&line[ids_of])), line[text], "{line}");
        }
    }
}

#[test]
fn the_tables_stay_small() {
    let Some(sections) = sections() else { return };
    let tokenizer = tokenizer(&sections);
    let text: usize = (0..2001).map(|id| tokenizer.piece(id).unwrap().len()).sum();
    let bytes = sections.source_vocab.len();
    println!("vocabulary {bytes} bytes of which text {text}, tokenizer {} bytes", sections.tokenizer.len());
    assert_eq!(tokenizer.source().len(), 2001);
    // 13 bytes a piece, and beyond that the header and the index by first byte.
    assert_eq!(bytes, text + 13 * 2001 + 16 + 2 * 257 + 4);
}
