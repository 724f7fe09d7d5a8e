//! The tokenizer on models made to hit one rule each. The expected values are what SentencePiece 0.2.1's C++ gave.

mod bpe;
mod language;

use latimer::text::{EncodeWork, Node, Tokenizer};
use model_gen::import::spm::{NormalizerSpec, PieceType, PieceType::*, SpmModel, SpmPiece, TrainerSpec};
use model_gen::import::tokenizer::{SpecialIds, TokenizerSections, tokenizer_sections};
use model_gen::import::vocab::Vocab;

const IDS: SpecialIds = SpecialIds { eos: 1, pad: 2, unk: 0, language: None };

fn model(pieces: &[(&str, f32, PieceType)]) -> SpmModel {
    let special = [("<unk>", 0.0, Unknown), ("</s>", 0.0, Control)];
    let piece = |&(text, score, kind): &(&str, f32, PieceType)| SpmPiece {
        piece: Some(text.into()),
        score: Some(score),
        r#type: Some(kind as i32),
    };
    SpmModel {
        pieces: special.iter().chain(pieces).map(piece).collect(),
        trainer_spec: Some(TrainerSpec::default()),
        normalizer_spec: Some(NormalizerSpec::default()),
        denormalizer_spec: None,
    }
}

fn without_dummy_prefix(mut model: SpmModel) -> SpmModel {
    model.normalizer_spec.as_mut().unwrap().add_dummy_prefix = Some(false);
    model
}

fn with_byte_fallback(mut model: SpmModel) -> SpmModel {
    model.trainer_spec.as_mut().unwrap().byte_fallback = Some(true);
    model.pieces.extend((0..=255u8).map(|byte| SpmPiece {
        piece: Some(format!("<0x{byte:02X}>").into()),
        score: None,
        r#type: Some(Byte as i32),
    }));
    model
}

/// Every piece of the model, padding, and strings that only the vocabulary has, in an order that is not the model's.
fn vocab(model: &SpmModel, more: &[&str]) -> Vocab {
    let mut strings = vec!["<unk>".to_owned(), "</s>".to_owned(), "<pad>".to_owned()];
    let own = model.pieces.iter().rev().map(|piece| String::from_utf8(piece.piece().to_vec()).unwrap());
    strings.extend(own.filter(|text| text != "<unk>" && text != "</s>"));
    strings.extend(more.iter().map(|text| text.to_string()));
    Vocab::from_pieces("vocab.json", strings).unwrap()
}

struct Made {
    sections: TokenizerSections,
}

impl Made {
    fn new(model: &SpmModel, more: &[&str]) -> Self {
        Made { sections: tokenizer_sections(model, model, &vocab(model, more), None, IDS).unwrap() }
    }

    fn tokenizer(&self) -> Tokenizer<'_> {
        Tokenizer::parse(&self.sections.tokenizer, &self.sections.source_vocab, None).unwrap()
    }

    /// Normalized text and its pieces, as the vocabulary's ids name them.
    fn encode(&self, text: impl AsRef<[u8]>) -> (String, Vec<&str>) {
        let (mut normalized, mut nodes, mut ids) = ([0; 99], [Node::default(); 99], [0; 99]);
        let tokenizer = self.tokenizer();
        let len = tokenizer.normalize(text.as_ref(), &mut normalized).unwrap();
        let work = EncodeWork { text: &mut [0; 99], nodes: &mut nodes };
        let count = tokenizer.encode(text.as_ref(), work, &mut ids).unwrap();
        let pieces = ids[..count].iter().map(|&id| tokenizer.piece(id).unwrap()).collect();
        (String::from_utf8(normalized[..len].to_vec()).unwrap(), pieces)
    }

    fn pieces(&self, text: &str) -> Vec<&str> {
        self.encode(text).1
    }

    fn decode(&self, pieces: &[&str]) -> String {
        let tokenizer = self.tokenizer();
        let (mut text, mut detokenizer) = (String::new(), tokenizer.detokenizer());
        for piece in pieces {
            detokenizer.push(tokenizer.target().id(piece.as_bytes()).unwrap(), &mut text).unwrap();
        }
        detokenizer.finish(&mut text).unwrap();
        text
    }
}

#[test]
fn user_defined_pieces_are_kept_whole() {
    let made = Made::new(
        &without_dummy_prefix(model(&[
            ("ab", 0.0, UserDefined),
            ("bc", 0.0, UserDefined),
            ("a", -1.0, Normal),
            ("c", -1.0, Normal),
            ("▁", -3.0, Normal),
            ("a b", 0.0, UserDefined),
        ])),
        &[],
    );
    // Equal in binary32: the bonus of -0.1 is subtracted in binary64, which makes the later candidate greater.
    assert_eq!(made.pieces("abc"), ["ab", "c"]);
    assert_eq!(made.pieces("cab  c "), ["c", "ab", "▁", "c"]);
    assert_eq!(made.encode("a b"), ("a▁b".into(), vec!["a", "▁", "<unk>"]));
}

#[test]
fn ties_go_the_way_they_round() {
    let pieces = [("a", -0.1), ("b", -0.2), ("ab", -0.3), ("aa", -0.2), ("ba", -0.3), ("aba", -0.4)]
        .map(|(t, s)| (t, s, Normal));
    let made = Made::new(&without_dummy_prefix(model(&pieces)), &[]);
    for (text, wanted) in [
        ("ab", &["a", "b"][..]),
        ("aab", &["a", "ab"]),
        ("aba", &["aba"]),
        ("abab", &["aba", "b"]),
        ("bababa", &["b", "ab", "aba"]),
        ("aaaa", &["aa", "aa"]),
        ("abaabb", &["a", "b", "aa", "b", "b"]),
    ] {
        assert_eq!(made.pieces(text), wanted, "{text}");
    }
}

#[test]
fn unused_pieces_are_not_matched() {
    let pieces =
        [("a", -1.0, Unused), ("b", -1.0, Normal), ("ab", -9.0, Normal), ("x", -0.5, Normal), ("ax", -30.0, Unused)];
    let made = Made::new(&without_dummy_prefix(model(&pieces)), &[]);
    assert_eq!(made.pieces("ab"), ["ab"]);
    // SentencePiece calls the unknown character "a", and so the vocabulary's string it is.
    assert_eq!(made.pieces("axb"), ["a", "x", "b"]);
    assert_eq!(made.pieces("aab"), ["a", "ab"]);
}

#[test]
fn runs_of_unknown_characters_are_one_string() {
    let made = Made::new(&model(&[("▁", -1.0, Normal), ("a", -1.0, Normal)]), &["xy", "▁only"]);
    assert_eq!(made.pieces("xy a xyz"), ["▁", "xy", "▁", "a", "▁", "<unk>"]);
    assert_eq!(made.pieces("x"), ["▁", "<unk>"]);
    // Not a piece of the target's model, so SentencePiece does not drop its whitespace.
    assert_eq!(made.decode(&["▁only", "a"]), " onlya");
}

#[test]
fn whitespace_can_go_after_the_text() {
    let mut model = model(&[("a", -1.0, Normal), ("▁", -1.0, Normal), ("a▁", -1.0, Normal)]);
    model.trainer_spec.as_mut().unwrap().treat_whitespace_as_suffix = Some(true);
    let made = Made::new(&model, &[]);
    assert_eq!(made.encode(" a  a "), ("a▁a▁".into(), vec!["a▁", "a▁"]));
    assert_eq!(made.encode(" "), ("".into(), vec![]));
    assert_eq!(made.encode("▁a"), ("▁a▁".into(), vec!["▁", "a▁"]));
}

#[test]
fn extra_whitespace_can_stay() {
    let mut model = model(&[("a", -1.0, Normal), ("▁", -1.0, Normal)]);
    model.normalizer_spec.as_mut().unwrap().remove_extra_whitespaces = Some(false);
    let made = Made::new(&model, &[]);
    assert_eq!(made.encode(" a  a ").0, "▁▁a▁▁a▁");
    assert_eq!(made.encode("").0, "");
    assert_eq!(made.encode(" ").0, "▁▁");
    // Only one leading whitespace is dropped then.
    assert_eq!(made.decode(&["</s>", "▁", "▁", "a"]), " a");
    assert_eq!(made.decode(&["<unk>", "▁"]), " ⁇  ");
}

#[test]
fn whitespace_can_stay_unescaped() {
    let mut model = model(&[("a", -1.0, Normal), (" ", -1.0, Normal)]);
    model.normalizer_spec.as_mut().unwrap().escape_whitespaces = Some(false);
    let made = Made::new(&model, &[]);
    assert_eq!(made.encode("a  a "), (" a a".into(), vec![" ", "a", " ", "a"]));
}

#[test]
fn malformed_bytes_become_replacement_characters() {
    let made = Made::new(&model(&[("a", -1.0, Normal), ("▁", -1.0, Normal)]), &[]);
    for (text, wanted) in [
        (&b"a\xff"[..], "▁a\u{fffd}"),
        (b"\xe2\x96", "▁\u{fffd}\u{fffd}"),
        (b"\xe2\x96a", "▁\u{fffd}\u{fffd}a"),
        (b"\xc0\x80", "▁\u{fffd}\u{fffd}"),
        (b"\xed\xa0\x80", "▁\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xf4\x90\x80\x80", "▁\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        (b"a\0a", "▁a\0a"),
    ] {
        assert_eq!(made.encode(text).0, wanted, "{text:x?}");
    }
}

#[test]
fn bytes_stand_in_for_unknown_characters() {
    let mut model = with_byte_fallback(model(&[("a", -1.0, Normal), ("▁", -1.0, Normal)]));
    model.trainer_spec.as_mut().unwrap().unk_surface = Some("?".into());
    let made = Made::new(&model, &[]);
    assert_eq!(made.pieces("aé"), ["▁", "a", "<0xC3>", "<0xA9>"]);
    assert_eq!(made.encode(b"\xff").1, ["▁", "<0xEF>", "<0xBF>", "<0xBD>"]);
    for (pieces, wanted) in [
        (&["<0xC3>", "<0xA9>"][..], "é"),
        (&["<0xFF>", "<0xE2>", "<0x96>", "<0x81>"], "\u{fffd}▁"),
        (&["<0xE2>", "<0x96>", "a"], "\u{fffd}\u{fffd}a"),
        (&["<0xE2>", "<0x96>", "<0x41>"], "\u{fffd}\u{fffd}A"),
        (&["<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0xC3>"], "😀\u{fffd}"),
        (&["<0xF0>", "<0x9F>", "<0x98>", "</s>", "<0x80>"], "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        (&["<0xE2>", "<0x96>", "<0x81>", "▁", "a"], "▁ a"),
        (&["▁", "<0x41>"], "A"),
        (&["▁", "<unk>", "▁", "a"], "? a"),
        (&["<0xED>", "<0xA0>", "<0x80>"], "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(made.decode(pieces), wanted, "{pieces:?}");
    }
}

#[test]
fn each_side_can_have_its_own_vocabulary() {
    let source = model(&[("▁a", -1.0, Normal), ("b", -1.0, Normal)]);
    let target = model(&[("▁x", -1.0, Normal)]);
    let target_vocab = Vocab::from_pieces("target_vocab.json", vocab(&target, &[]).pieces().to_vec()).unwrap();
    let sections = tokenizer_sections(&source, &target, &vocab(&source, &[]), Some(&target_vocab), IDS).unwrap();
    let tokenizer =
        Tokenizer::parse(&sections.tokenizer, &sections.source_vocab, sections.target_vocab.as_deref()).unwrap();
    assert_eq!((tokenizer.source().id_count(), tokenizer.target().id_count()), (5, 4));
    assert_eq!((tokenizer.source().piece(3), tokenizer.piece(3)), (Some("b"), Some("▁x")));
    let mut text = String::new();
    tokenizer.detokenizer().push(3, &mut text).unwrap();
    assert_eq!(text, "x");
}

#[test]
fn errors_name_file_and_field() {
    let good = model(&[("a", -1.0, Normal)]);
    let words = |source: &SpmModel, target: &SpmModel| {
        tokenizer_sections(source, target, &vocab(&good, &[]), None, IDS).unwrap_err().to_string()
    };
    let mut no_unknown = good.clone();
    no_unknown.pieces.remove(0);
    assert_eq!(words(&no_unknown, &good), "source.spm has 0 pieces of the type UNKNOWN, not one");
    let twice = model(&[("a", -1.0, Normal), ("a", -2.0, Unused)]);
    assert_eq!(words(&twice, &good), "source.spm: pieces[3] (\"a\") stands there twice");
    let nan = model(&[("a", f32::NAN, Normal)]);
    assert_eq!(words(&nan, &good), "source.spm: pieces[2] (\"a\") has the score NaN");
    let mut bytes = good.clone();
    bytes.pieces[2].piece = Some(vec![0xff]);
    assert_eq!(words(&bytes, &good), "source.spm: pieces[2] is not UTF-8");
    let mut denormalizer = good.clone();
    denormalizer.denormalizer_spec = Some(NormalizerSpec { precompiled_charsmap: Some(vec![1]), ..Default::default() });
    assert!(words(&good, &denormalizer).starts_with("target.spm: denormalizer_spec has a character map"));
}
