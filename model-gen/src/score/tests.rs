use std::path::Path;

use super::pairs::{MAX_REFERENCES, read_pairs};
use super::*;

/// Hypotheses, references, then BLEU and chrF as sacrebleu 2.6.0 gives them.
type Case = (&'static [&'static str], &'static [&'static [&'static str]], f64, f64);

const AS_SACREBLEU: &[Case] = &[
    (&[""], &[&["the cat"]], 0.0, 0.0),
    (&["El gato está en la mesa ."], &[&["El gato está en la mesa ."]], 100.0, 100.0),
    (&["It costs 1,000.50 dollars, or 3-4 euros."], &[&["It costs 1,000.50 dollars, or 3 - 4 euros."]], 100.0, 100.0),
    (
        &["¿Dónde está el 日本語?"],
        &[&["¿Dónde estaba el 日本 語?", "¿Donde está?"]],
        12.368464772045972,
        64.477410085797,
    ),
    (
        &["the cat sat on mat", "a b c d"],
        &[&["the cat sat on the mat", "a cat on the mat"], &["a b d c"]],
        52.53819788848318,
        64.10406800119863,
    ),
    (&["Hola."], &[&["¡Hola!"]], 0.0, 43.997429305912604),
    (
        &["Tom &amp; Mary said &quot;hi&quot; <skipped>...,.. x.5 5.x -5- 5-x"],
        &[&["Tom & Mary said \"hi\" ... x.5 5. x - 5 - 5 - x"]],
        73.6115895048058,
        57.623288551034015,
    ),
    (
        &["", "the quick brown fox jumps"],
        &[&["nothing"], &["the quick brown dog jumps"]],
        34.98330125272253,
        58.42917211807123,
    ),
    (&["xx yy"], &[&["aa bb"]], 0.0, 0.0),
    (&["cafe\u{301} 😀\u{a0}ok"], &[&["café 😀 ok"]], 0.0, 31.05368866238431),
    (&["a"], &[&[""]], 0.0, 0.0),
    (&["a b c d e"], &[&["a b c d", "a b c d e f"]], 100.0, 91.3677130044843),
    (&["the the the the the"], &[&["the cat the dog", "the the"]], 21.3643503198117, 64.45076215823858),
];

#[test]
fn odd_corpora_as_sacrebleu() {
    for (hypotheses, references, bleu, chrf) in AS_SACREBLEU {
        let references: Vec<_> = references.iter().map(|list| list.to_vec()).collect();
        let found = corpus_bleu(hypotheses, &references).unwrap();
        assert!((found.score - bleu).abs() < 1e-9, "{hypotheses:?}: {found:?}, wanted {bleu}");
        let found = corpus_chrf(hypotheses, &references).unwrap();
        assert!((found - chrf).abs() < 1e-9, "{hypotheses:?}: {found}, wanted {chrf}");
    }
}

#[test]
fn counts_and_lengths() {
    let bleu = corpus_bleu(&["a b c d e"], &[vec!["a b c d", "a b c d e f"]]).unwrap();
    assert_eq!((bleu.counts, bleu.totals), ([5, 4, 3, 2], [5, 4, 3, 2]));
    // Both references are one token away: the shorter one counts.
    assert_eq!((bleu.hypothesis_len, bleu.reference_len, bleu.brevity_penalty()), (5, 4, 1.0));
    let bleu = corpus_bleu(&[""], &[vec!["the cat"]]).unwrap();
    assert_eq!((bleu.totals, bleu.brevity_penalty()), ([0; 4], 0.0));
}

#[test]
fn nothing_to_score_against_is_an_error() {
    let none: Vec<Vec<&str>> = vec![vec!["a"], vec![]];
    assert_eq!(corpus_bleu(&["a", "b"], &none), Err(ScoreError::NoReference { phrase: 1 }));
    assert_eq!(corpus_chrf(&["a"], &none), Err(ScoreError::Lengths { hypotheses: 1, references: 2 }));
}

/// The scores the shared golden outputs are published with.
#[test]
fn golden_outputs_of_the_test_set() {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    let golden = shared.join("golden/en-es-nano/test.jsonl");
    let data = shared.join("data/en-es/test.tsv");
    if !golden.exists() || !data.exists() {
        return println!("skipped: {} or {} is not there", golden.display(), data.display());
    }
    let text = std::fs::read_to_string(golden).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pairs = read_pairs(&data, MAX_REFERENCES).unwrap();
    assert!(pairs.iter().zip(&lines).all(|(pair, line)| line["source"] == pair.source) && pairs.len() == lines.len());
    let references: Vec<_> = pairs.into_iter().map(|pair| pair.references).collect();
    for (key, bleu, chrf) in
        [("greedy", 41.44580608701787, 60.48613467135288), ("beam4", 43.34125865926215, 61.92090814118513)]
    {
        let outputs: Vec<&str> = lines.iter().map(|line| line[key].as_str().unwrap()).collect();
        let found = (corpus_bleu(&outputs, &references).unwrap().score, corpus_chrf(&outputs, &references).unwrap());
        println!("{key}: BLEU {:.2}, chrF {:.2}", found.0, found.1);
        assert!((found.0 - bleu).abs() < 1e-9 && (found.1 - chrf).abs() < 1e-9, "{key}: {found:?}");
    }
}
