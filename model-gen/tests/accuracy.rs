//! Both engines on the shared model: against the golden outputs of transformers, in scores, bytes and text.

mod common;

use common::{ENGINES, Worst, packed, shared, teacher_forced};
use latimer::blob::layout::SectionKind;
use latimer::text::{EncodeWork, Node, Tokenizer};
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::run::{Translation, translate_all};
use model_gen::score::pairs::{MAX_REFERENCES, read_pairs};
use model_gen::score::{corpus_bleu, corpus_chrf};
use safetensors::SafeTensors;
use serde::Deserialize;
use std::sync::LazyLock;

/// Relative L2 distance of the f16 engine from float32, at every layer.
const F16_BOUND: f64 = 5e-3;
/// The same for the int8 engine; measured: 0.7 % after the embeddings to 3.0 % in the logits.
const INT8_BOUND: f64 = 0.04;

static INT8: LazyLock<Option<AlignedBytes>> = LazyLock::new(|| blob(EngineKind::Int8));
static F16: LazyLock<Option<AlignedBytes>> = LazyLock::new(|| blob(EngineKind::F16));

fn blob(engine: EngineKind) -> Option<AlignedBytes> {
    Some(packed(&shared("models/en-es-nano")?, engine))
}

/// The packed model, or `None` after a line that says why.
fn model(engine: EngineKind) -> Option<Model<'static>> {
    let bytes = match engine {
        EngineKind::Int8 => INT8.as_ref(),
        EngineKind::F16 => F16.as_ref(),
    };
    if bytes.is_none() {
        println!("skipped: no shared model");
    }
    Some(Model::from_bytes(bytes?).unwrap())
}

#[derive(Deserialize)]
struct Golden {
    source: String,
    ids: Vec<u16>,
    greedy_ids: Vec<u16>,
    greedy: String,
}

fn golden() -> Vec<Golden> {
    let text = std::fs::read_to_string(shared("golden/en-es-nano/test.jsonl").unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// transformers' `max_length` of 64 counts the start token.
fn translate_golden(model: &Model, golden: &[Golden]) -> Vec<Translation> {
    let sources: Vec<&str> = golden.iter().map(|g| g.source.as_str()).collect();
    let translations = translate_all(model, Limits::DEFAULT, 63, &sources, || {}).unwrap();
    let translations: Vec<Translation> = translations.into_iter().map(Result::unwrap).collect();
    for (translation, golden) in translations.iter().zip(golden) {
        assert_eq!(translation.source_ids, golden.ids, "{}", golden.source);
    }
    translations
}

#[test]
fn f16_greedy_equals_float32() {
    let Some(model) = model(EngineKind::F16) else { return };
    let golden = golden();
    let translations = translate_golden(&model, &golden);
    let mut equal = 0;
    for (translation, golden) in translations.iter().zip(&golden) {
        if translation.target_ids == golden.greedy_ids {
            equal += 1;
            assert_eq!(translation.target, golden.greedy, "{}", golden.source);
        }
    }
    println!("f16: {equal} of {} phrases have the ids of float32", golden.len());
    assert!(equal * 100 >= golden.len() * 99);
}

fn hidden(engine: EngineKind, bound: f64) {
    let Some(model) = model(engine) else { return };
    let bytes = std::fs::read(shared("golden/en-es-nano/hidden.safetensors").unwrap()).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let words = |key: &str| file.tensor(key).unwrap().data().as_chunks().0.iter().map(|b| u32::from_le_bytes(*b));
    let ids = |key: &str| words(key).map(|id| u16::try_from(id).unwrap()).collect::<Vec<_>>();
    let floats = |key: &str| words(key).map(f32::from_bits).collect::<Vec<_>>();
    let mut worst = Worst::default();
    let count = (0..).take_while(|n| file.tensor(&format!("{n}.input_ids")).is_ok()).count();
    for n in 0..count {
        let (source, decoder) = (ids(&format!("{n}.input_ids")), ids(&format!("{n}.decoder_input_ids")));
        let found = teacher_forced(&model, Limits::DEFAULT, &source, &decoder);
        assert_eq!(found.hidden.len(), model.blob().spec().block_count() + 2);
        for (stage, values) in &found.hidden {
            worst.note(stage, values, &floats(&format!("{n}.{stage}")));
        }
        worst.note("logits", &found.logits, &floats(&format!("{n}.logits")));
    }
    assert_eq!(count, 12);
    worst.hold(engine.name(), bound);
}

#[test]
fn f16_hidden_states_and_logits() {
    hidden(EngineKind::F16, F16_BOUND);
}

#[test]
fn int8_hidden_states_and_logits() {
    hidden(EngineKind::Int8, INT8_BOUND);
}

#[test]
fn int8_scores_as_float32_does() {
    let Some(model) = model(EngineKind::Int8) else { return };
    let golden = golden();
    let phrases = read_pairs(&shared("data/en-es/test.tsv").unwrap(), MAX_REFERENCES).unwrap();
    assert!(phrases.iter().map(|p| &p.source).eq(golden.iter().map(|g| &g.source)));
    let references: Vec<Vec<String>> = phrases.into_iter().map(|p| p.references).collect();
    let translations = translate_golden(&model, &golden);
    let score =
        |texts: &[&str]| (corpus_bleu(texts, &references).unwrap().score, corpus_chrf(texts, &references).unwrap());
    let float = score(&golden.iter().map(|g| g.greedy.as_str()).collect::<Vec<_>>());
    let int8 = score(&translations.iter().map(|t| t.target.as_str()).collect::<Vec<_>>());
    let equal = translations.iter().zip(&golden).filter(|(t, g)| t.target_ids == g.greedy_ids).count();
    println!(
        "int8: BLEU {:.2} chrF {:.2}, float32: BLEU {:.2} chrF {:.2}; {equal} of {} phrases have equal ids",
        int8.0,
        int8.1,
        float.0,
        float.1,
        golden.len()
    );
    // What the golden README states, so that the scores are known to be sacrebleu's.
    assert!((float.0 - 41.45).abs() < 0.01 && (float.1 - 60.49).abs() < 0.01, "{float:?}");
    assert!(int8.0 >= float.0 - 0.6 && int8.1 >= float.1 - 0.5, "{int8:?}");
}

#[test]
fn blob_and_arena_stay_small() {
    for (engine, most) in ENGINES.into_iter().zip([64 << 10, 160 << 10]) {
        let Some(model) = model(engine) else { return };
        let arena = model.arena_len(Limits::DEFAULT).unwrap();
        assert!(arena <= most, "{}: arena {arena}", engine.name());
        let section = |kind| model.blob().container().section(kind).map_or(0, <[u8]>::len);
        let tokenizer =
            section(SectionKind::Tokenizer) + section(SectionKind::SourceVocab) + section(SectionKind::TargetVocab);
        let elements: usize = model.blob().tensors().filter(|t| t.cols() > 1).map(|t| t.rows() * t.cols()).sum();
        let matrices = elements * if engine == EngineKind::F16 { 2 } else { 1 };
        let total = model.blob().len();
        let over = (total as f64 / (matrices + tokenizer) as f64 - 1.0) * 100.0;
        println!(
            "{}: blob {total} bytes, matrices {matrices}, tokenizer {tokenizer}: {over:.2} % over; arena {arena} bytes",
            engine.name()
        );
        assert!(total * 100 <= (matrices + tokenizer) * 105);
    }
}

/// Ids, and the normalized text.
fn encode(tokenizer: &Tokenizer, text: &str) -> (Vec<u16>, String) {
    let room = 18 * text.len() + 8;
    let (mut normalized, mut nodes, mut ids) = (vec![0; room], vec![Node::default(); room], vec![0; room]);
    let len = tokenizer.normalize(text.as_bytes(), &mut normalized).unwrap();
    let work = EncodeWork { text: &mut vec![0; room], nodes: &mut nodes };
    let count = tokenizer.encode(text.as_bytes(), work, &mut ids).unwrap();
    ids.truncate(count);
    (ids, String::from_utf8(normalized[..len].to_vec()).unwrap())
}

fn decode(tokenizer: &Tokenizer, ids: &[u16]) -> String {
    let (mut text, mut detokenizer) = (String::new(), tokenizer.detokenizer());
    ids.iter().for_each(|id| detokenizer.push(*id, &mut text).unwrap());
    detokenizer.finish(&mut text).unwrap();
    text
}

/// Where every piece is known, decoding gives back the normalized text, and that encodes to the same ids.
#[test]
fn every_phrase_of_the_data_survives_the_tokenizer() {
    let Some(model) = model(EngineKind::Int8) else { return };
    let tokenizer = model.blob().tokenizer();
    let unk = model.blob().spec().header().unk_id;
    for pair in ["en-es", "en-fr", "en-de"] {
        let (mut known, mut unknown) = (0, 0);
        for split in ["dev", "test"] {
            let text = std::fs::read_to_string(shared(&format!("data/{pair}/{split}.tsv")).unwrap()).unwrap();
            for phrase in text.lines().flat_map(|line| line.split('\t')) {
                let (ids, normalized) = encode(tokenizer, phrase);
                let decoded = decode(tokenizer, &ids);
                if ids.contains(&unk) {
                    unknown += 1;
                    continue;
                }
                known += 1;
                assert_eq!(decoded, normalized.replace('\u{2581}', " ").trim_start(), "{phrase}");
                assert_eq!(encode(tokenizer, &decoded).0, ids, "{phrase}");
            }
        }
        println!("{pair}: {known} phrases of known pieces, {unknown} with unknown ones");
        // The model knows English and Spanish; German and French letters are foreign to it.
        assert!(known > if pair == "en-es" { 100 * unknown } else { unknown }, "{pair}");
    }
}
