//! Language codes. The expected values are those of Hugging Face's `MarianTokenizer` (transformers 5.24, SentencePiece
//! 0.2.1), except where a language has been chosen, which is this project's own.

use super::*;
use latimer::{BlobError, Error};

const MORE: [&str; 4] = [">>spa<<", ">>fra<<", ">>", ">>a<<b"];

fn made(language: Option<u16>) -> Made {
    let model = model(&[("▁", -1.0, Normal), ("a", -1.0, Normal), (">", -3.0, Normal), ("<", -3.0, Normal)]);
    let ids = SpecialIds { language, ..IDS };
    Made { sections: tokenizer_sections(&model, &model, &vocab(&model, &MORE), None, ids).unwrap() }
}

#[test]
fn a_code_at_the_start_is_one_piece() {
    let made = made(None);
    for (text, wanted) in [
        (">>fra<<a", &[">>fra<<", "▁", "a"][..]),
        (">>fra<< a", &[">>fra<<", "▁", "a"]),
        (">>fra<<", &[">>fra<<"]),
        (">>xyz<<a", &["<unk>", "▁", "a"]),
        (">><<a", &["<unk>", "▁", "a"]),
        (">>a<<b<<", &["<unk>", "▁", "<unk>", "<", "<"]),
        (">>fra<<>>spa<<a", &[">>fra<<", "▁", ">", ">", "<unk>", "a", "<", "<", "a"]),
        (">>a", &["▁", ">", ">", "a"]),
        ("> >a<<", &["▁", ">", "▁", ">", "a", "<", "<"]),
        ("a>>fra<<", &["▁", "a", ">", ">", "<unk>", "a", "<", "<"]),
        (" >>fra<<", &["▁", ">", ">", "<unk>", "a", "<", "<"]),
    ] {
        assert_eq!(made.pieces(text), wanted, "{text}");
    }
}

#[test]
fn a_model_without_codes_takes_them_as_text() {
    let pieces = [("▁", -1.0, Normal), ("a", -1.0, Normal), (">", -3.0, Normal), ("<", -3.0, Normal)];
    let made = Made::new(&model(&pieces), &[]);
    assert_eq!(made.pieces(">>a<<a"), ["▁", ">", ">", "a", "<", "<", "a"]);
    assert_eq!(made.tokenizer().languages().count(), 0);
    assert_eq!(made.tokenizer().set_language(Some("a")), Err(Error::UnknownLanguage));
}

#[test]
fn a_chosen_language_goes_before_texts_without_a_code() {
    let made = made(None);
    let mut tokenizer = made.tokenizer();
    let spanish = tokenizer.source().id(b">>spa<<").unwrap();
    assert_eq!(tokenizer.languages().collect::<Vec<_>>(), ["spa", "fra"]);
    assert_eq!((tokenizer.language(), tokenizer.set_language(Some("deu"))), (None, Err(Error::UnknownLanguage)));
    tokenizer.set_language(Some("spa")).unwrap();
    assert_eq!(tokenizer.language(), Some("spa"));
    let ids = |tokenizer: &Tokenizer, text: &str| {
        let work = EncodeWork { text: &mut [0; 99], nodes: &mut [Node::default(); 99] };
        let mut ids = [0; 99];
        let count = tokenizer.encode(text.as_bytes(), work, &mut ids).unwrap();
        ids[..count].to_vec()
    };
    let plain = ids(&made.tokenizer(), "a");
    assert_eq!(ids(&tokenizer, "a"), [&[spanish][..], &plain].concat());
    assert_eq!(ids(&tokenizer, ">>fra<<a"), ids(&made.tokenizer(), ">>fra<<a"));
    assert_eq!(ids(&tokenizer, ">>xyz<<a"), ids(&made.tokenizer(), ">>xyz<<a"));

    // The same, chosen when packed.
    let packed = self::made(Some(spanish));
    assert_eq!(packed.tokenizer().language(), Some("spa"));
    assert_eq!(ids(&packed.tokenizer(), "a"), ids(&tokenizer, "a"));
    tokenizer = packed.tokenizer();
    tokenizer.set_language(None).unwrap();
    assert_eq!(ids(&tokenizer, "a"), plain);
}

#[test]
fn a_default_that_is_no_id_is_refused() {
    let made = made(Some(999));
    let error = Tokenizer::parse(&made.sections.tokenizer, &made.sections.source_vocab, None).unwrap_err();
    assert_eq!(error, BlobError::Malformed { section: 4, index: 0 });
}
