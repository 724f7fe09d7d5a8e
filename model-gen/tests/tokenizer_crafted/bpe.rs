//! BPE models. The expected values are what SentencePiece 0.2.1's C++ gave; 0.2.3 treats unused pieces otherwise.

use super::*;
use latimer::blob::tokenizer::Algorithm;

fn bpe(pieces: &[(&str, f32, PieceType)]) -> SpmModel {
    let mut model = model(pieces);
    model.trainer_spec.as_mut().unwrap().model_type = Some(2);
    model
}

fn check(made: &Made, cases: &[(&str, &[&str])]) {
    for (text, wanted) in cases {
        assert_eq!(made.pieces(text), *wanted, "{text}");
    }
}

#[test]
fn the_highest_score_merges_first_and_the_leftmost_of_equals() {
    let single = ["a", "b", "c", "▁"].map(|text| (text, -9.0, Normal));
    let merged = [("ab", -2.0), ("bc", -1.0), ("abc", -3.0), ("aa", -2.0), ("aaa", -2.0), ("▁a", -5.0)];
    let merged = merged.map(|(text, score)| (text, score, Normal));
    let zeros = [("bb", 0.0, Normal), ("bbb", -0.0, Normal)];
    let made = Made::new(&bpe(&[&single[..], &merged, &zeros].concat()), &["xy"]);
    assert_eq!(made.tokenizer().algorithm(), Algorithm::Bpe);
    check(
        &made,
        &[
            ("", &[]),
            ("abc", &["▁", "abc"]),
            ("aaaa", &["▁", "aaa", "a"]),
            ("aaaaa", &["▁", "aaa", "aa"]),
            ("aab", &["▁", "aa", "b"]),
            ("aabc", &["▁", "aa", "bc"]),
            // Zeros of both signs are equal.
            ("bbbb", &["▁", "bbb", "b"]),
            ("bbbbb", &["▁", "bbb", "bb"]),
            ("a abc", &["▁a", "▁", "abc"]),
            ("xyabz", &["▁", "xy", "ab", "<unk>"]),
            ("cabcab", &["▁", "c", "abc", "ab"]),
        ],
    );
}

#[test]
fn unused_pieces_fall_apart_again() {
    let made = Made::new(
        &without_dummy_prefix(bpe(&[
            ("a", -9.0, Normal),
            ("b", -9.0, Normal),
            ("c", -9.0, Normal),
            ("d", -9.0, Normal),
            ("e", -9.0, Unused),
            ("▁", -9.0, Normal),
            ("x", -9.0, Normal),
            ("ab", -2.0, Normal),
            ("bc", -1.0, Normal),
            ("cx", -0.5, Normal),
            ("abc", -3.0, Unused),
            ("abcd", -4.0, Unused),
        ])),
        &[],
    );
    check(
        &made,
        &[
            ("abc", &["a", "bc"]),
            ("abcx", &["ab", "cx"]),
            ("abc abcx", &["a", "bc", "▁", "ab", "cx"]),
            ("abcd abcx", &["a", "bc", "d", "▁", "ab", "cx"]),
            ("abcxabcd", &["ab", "cx", "a", "bc", "d"]),
            // A character is kept.
            ("aee", &["a", "e", "e"]),
        ],
    );
}

#[test]
fn user_defined_pieces_take_no_part_in_merges() {
    let made = Made::new(
        &without_dummy_prefix(bpe(&[
            ("a", -9.0, Normal),
            ("b", -9.0, Normal),
            ("ab", -1.0, Normal),
            ("bab", -2.0, Normal),
            ("ba", 0.0, UserDefined),
            ("x", 0.0, UserDefined),
            ("aba", -1.0, Normal),
            ("axb", -1.0, Normal),
            ("▁", -9.0, Normal),
        ])),
        &[],
    );
    check(
        &made,
        &[
            ("ab", &["ab"]),
            ("aba", &["a", "ba"]),
            ("abab", &["a", "ba", "b"]),
            ("bab", &["ba", "b"]),
            ("axb", &["a", "x", "b"]),
            ("xab", &["x", "ab"]),
            ("ab x ab", &["ab", "▁", "x", "▁", "ab"]),
            ("baab", &["ba", "ab"]),
        ],
    );
}

#[test]
fn bytes_stand_in_for_unknown_characters() {
    let pieces = [("a", -9.0, Normal), ("é", -9.0, Normal), ("aé", -1.0, Normal), ("▁", -9.0, Normal)];
    let made = Made::new(&with_byte_fallback(bpe(&pieces)), &[]);
    check(
        &made,
        &[
            ("aé", &["▁", "aé"]),
            ("aèé", &["▁", "a", "<0xC3>", "<0xA8>", "é"]),
            ("日a", &["▁", "<0xE6>", "<0x97>", "<0xA5>", "a"]),
            ("a日本", &["▁", "a", "<0xE6>", "<0x97>", "<0xA5>", "<0xE6>", "<0x9C>", "<0xAC>"]),
        ],
    );
    assert_eq!(made.decode(&["▁", "a", "<0xC3>", "<0xA8>", "é"]), "aèé");
}

#[test]
fn runs_of_unknown_characters_are_one_string() {
    let made = Made::new(&bpe(&[("a", -9.0, Normal), ("▁", -9.0, Normal), ("▁a", -1.0, Normal)]), &["xy"]);
    check(
        &made,
        &[("xy a xyz", &["▁", "xy", "▁a", "▁", "<unk>"]), ("x", &["▁", "<unk>"]), ("axya", &["▁a", "xy", "a"])],
    );
}

#[test]
fn models_that_are_neither_unigram_nor_bpe_are_refused() {
    let words = |model: &SpmModel| {
        let good = super::model(&[("a", -1.0, Normal)]);
        tokenizer_sections(&good, model, &vocab(&good, &[]), None, IDS).unwrap_err().to_string()
    };
    let mut other = bpe(&[("a", -1.0, Normal)]);
    for (number, name) in [(3, "Word"), (4, "Char")] {
        other.trainer_spec.as_mut().unwrap().model_type = Some(number);
        let wanted =
            format!("target.spm: trainer_spec.model_type is {name}; only Unigram and Bpe models are supported");
        assert_eq!(words(&other), wanted);
    }
    let both = bpe(&[("</s>", -1.0, Normal)]);
    assert!(words(&both).contains("once as a special piece"));
}
