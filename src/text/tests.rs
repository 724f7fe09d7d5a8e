//! Hostile texts and hostile tables: nothing may panic, and limits give typed errors.

use super::*;
use crate::blob::charsmap::{CharsMapTables, CharsRange, STRINGS, range_kind};
use crate::blob::tokenizer::target_flag;
use crate::blob::vocab::{VocabEntry, VocabParts};
use crate::text::vocab::TargetKind;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// Maps "A" to "a" and U+00C0 to "a b", by hand: two ranges of one character each.
fn charsmap() -> Vec<u8> {
    let ranges = [(0x41, 0x61), (0xc0, STRINGS)].map(|(first, value)| {
        let mut bytes = [0; CharsRange::SIZE];
        CharsRange { first, value }.write(&mut bytes, 0).unwrap();
        bytes
    });
    emit(CharsMapTables { ranges: &ranges, ..CharsMapTables::EMPTY })
}

fn emit(map: CharsMapTables) -> Vec<u8> {
    let mut bytes = vec![0; map.emitted_len()];
    assert_eq!(map.emit(&mut bytes), Some(bytes.len()));
    bytes
}

const STRINGS_OF_MAP: &[u8] = b"a b\0";

/// A tokenizer section and a vocabulary with every kind of piece.
fn sections(source_flags: u8) -> (Vec<u8>, Vec<u8>) {
    sections_of(Algorithm::Unigram, source_flags)
}

fn sections_of(algorithm: Algorithm, source_flags: u8) -> (Vec<u8>, Vec<u8>) {
    use {SourceKind as S, TargetKind as T};
    let mut pieces: Vec<(String, u32, S, T)> = vec![
        ("</s>".into(), 0, S::None, T::Hidden),
        (">>ab<<".into(), 0, S::None, T::Hidden),
        ("<unk>".into(), 0, S::None, T::Unknown),
        ("a".into(), (-1.0f32).to_bits(), S::Normal, T::Normal),
        ("ab".into(), (-1.5f32).to_bits(), S::Normal, T::Normal),
        ("b".into(), 0, S::UserDefined, T::Normal),
        ("foreign".into(), 0, S::None, T::Foreign),
        ("\u{2581}".into(), (-2.0f32).to_bits(), S::Normal, T::Normal),
        ("\u{2581}a".into(), (-2.5f32).to_bits(), S::Normal, T::Normal),
    ];
    if algorithm == Algorithm::Bpe {
        pieces.push(("aa".into(), (-1.0f32).to_bits(), S::Unused, T::Normal));
        pieces.push(("aaa".into(), (-3.0f32).to_bits(), S::Normal, T::Normal));
    }
    pieces.extend((0..=255u8).map(|byte| (format!("<0x{byte:02X}>"), 0, S::None, T::Byte)));
    pieces.sort_by(|a, b| a.0.cmp(&b.0));
    let mut entries = vec![];
    for (index, (text, score, source, target)) in pieces.iter().enumerate() {
        entries.push(VocabEntry { text, id: index as u16, score: *score, source: *source, target: *target });
    }
    let entry_of_id: Vec<u16> = (0..entries.len() as u16).collect();
    let parts = VocabParts { entries: &entries, entry_of_id: &entry_of_id, wide_scores: &[(-0.1f64).to_bits()] };
    let mut vocab = vec![0; parts.emitted_len()];
    assert_eq!(parts.emit(&mut vocab), Some(vocab.len()));
    let tables = TokenizerTables {
        algorithm,
        source_flags,
        target_flags: target_flag::ALL,
        language_id: 0,
        unk_id: pieces.iter().position(|p| p.0 == "<unk>").unwrap() as u16,
        unk_score: (-12.5f32).to_bits(),
        charsmap: &charsmap(),
        strings: STRINGS_OF_MAP,
        unk_surface: "?",
    };
    let mut tokenizer = vec![0; tables.emitted_len()];
    assert_eq!(tables.emit(&mut tokenizer), Some(tokenizer.len()));
    (tokenizer, vocab)
}

/// Runs everything with buffers of `room`; returns the pieces.
fn encode<'b>(tokenizer: &Tokenizer<'b>, text: &[u8], room: usize) -> Result<Vec<&'b str>, Error> {
    let (mut buffer, mut nodes, mut ids) = (vec![0; room], vec![Node::default(); room], vec![0; room]);
    let count = tokenizer.encode(text, EncodeWork { text: &mut buffer, nodes: &mut nodes }, &mut ids)?;
    Ok(ids[..count].iter().map(|&id| tokenizer.source().piece(id).unwrap_or("")).collect())
}

const USUAL: u8 =
    source_flag::REMOVE_EXTRA_WHITESPACES | source_flag::ADD_DUMMY_PREFIX | source_flag::ESCAPE_WHITESPACES;

#[test]
fn the_longest_rule_of_the_map_wins_and_is_segmented() {
    let (tokenizer, vocab) = sections(USUAL);
    let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
    let mut out = [0; 64];
    let len = tokenizer.normalize("A\u{c0}\u{c1} ".as_bytes(), &mut out).unwrap();
    assert_eq!(core::str::from_utf8(&out[..len]), Ok("\u{2581}aa\u{2581}b\u{c1}"));
    let pieces = encode(&tokenizer, "A\u{c0}\u{c1}\u{c1} ab".as_bytes(), 64).unwrap();
    assert_eq!(pieces, ["\u{2581}a", "a", "\u{2581}", "b", "<unk>", "\u{2581}a", "b"]);
}

#[test]
fn tokens_come_with_their_ranges() {
    let (tokenizer, vocab) = sections(USUAL);
    let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
    let (mut text, mut nodes, mut ranges) = ([0; 32], [Node::default(); 32], vec![]);
    let work = EncodeWork { text: &mut text, nodes: &mut nodes };
    let visit = |_, range| {
        ranges.push(range);
        Ok(())
    };
    tokenizer.encode_with(b"ab xy", work, visit).unwrap();
    assert_eq!(ranges, [0..4, 4..5, 5..8, 8..10]);
}

#[test]
fn limits_are_errors() {
    let (tokenizer, vocab) = sections(USUAL);
    let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
    assert_eq!(encode(&tokenizer, b"aaaa", 7).map(|p| p.len()), Ok(4));
    assert_eq!(encode(&tokenizer, b"aaaa", 6), Err(Error::TextTooLong { limit: 6 }));
    let work = EncodeWork { text: &mut [0; 9], nodes: &mut [Node::default(); 9] };
    assert_eq!(tokenizer.encode(b"aaaa", work, &mut [0; 3]), Err(Error::TooManyTokens { limit: 3 }));
    let id = tokenizer.target().id_count() as u16;
    assert_eq!(tokenizer.detokenizer().push(id, &mut String::new()), Err(Error::InvalidId { id }));
    let long = vec![b'a'; 70_000];
    assert_eq!(encode(&tokenizer, &long, 70_010), Err(Error::TextTooLong { limit: 65_535 }));
    assert_eq!(encode(&tokenizer, &long[..65_532], 70_010).map(|p| p.len()), Ok(65_532));
}

#[test]
fn faults_in_a_vocabulary_are_found() {
    let (tokenizer, vocab) = sections(USUAL);
    for cut in 0..vocab.len() {
        let error = Tokenizer::parse(&tokenizer, &vocab[..cut], None).unwrap_err();
        assert!(matches!(error, BlobError::Malformed { section: 5, .. }), "cut to {cut}: {error:?}");
    }
    let changed = |from: &[u8], to: u8| {
        let mut vocab = vocab.clone();
        let at = vocab.windows(from.len()).rposition(|window| window == from).unwrap();
        vocab[at] = to;
        Tokenizer::parse(&tokenizer, &vocab, None).map(|_| ()).unwrap_err()
    };
    // Entry 262 is "foreign": before "b", not UTF-8, or after what the index by first byte says.
    assert_eq!(changed(b"foreign", b'a'), BlobError::Malformed { section: 5, index: 262 });
    assert_eq!(changed(b"foreign", 0xff), BlobError::Malformed { section: 5, index: 0 });
    assert_eq!(changed(b"foreign", b'g'), BlobError::Malformed { section: 5, index: 262 });
}

/// Everything that can be asked of a tokenizer, if the sections parse.
fn exercise(tokenizer: &[u8], vocab: &[u8], text: &[u8], ids: &[u16]) {
    let Ok(tokenizer) = Tokenizer::parse(tokenizer, vocab, None) else { return };
    let _ = encode(&tokenizer, text, 200);
    let (mut out, mut detokenizer) = (String::new(), tokenizer.detokenizer());
    for &id in ids {
        let _ = detokenizer.push(id, &mut out);
    }
    let _ = detokenizer.finish(&mut out);
}

/// Texts of bytes that mean something here, and of any.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => prop::sample::select(&b"abA <>\xc3\x80\xe2\x96\x81\xff\0"[..]),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..60)
}

#[test]
fn bpe_takes_unused_pieces_apart() {
    let (tokenizer, vocab) = sections_of(Algorithm::Bpe, USUAL);
    let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
    // "b" is user-defined, so that nothing merges with it.
    let wanted = ["\u{2581}", "aaa", "b", "\u{2581}", "a", "a", "b", "\u{2581}a", "b"];
    assert_eq!(encode(&tokenizer, b"aaab aab ab", 64).unwrap(), wanted);
    let (unigram, _) = sections_of(Algorithm::Unigram, USUAL);
    let error = Tokenizer::parse(&unigram, &vocab, None).unwrap_err();
    assert_eq!(error, BlobError::Malformed { section: 4, index: 0 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_encodes_or_is_too_long(
        text in text(),
        bpe in any::<bool>(),
        flags in 0u8..64,
        room in 0usize..200,
    ) {
        let (tokenizer, vocab) = sections_of(if bpe { Algorithm::Bpe } else { Algorithm::Unigram }, flags);
        let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
        match encode(&tokenizer, &text, room) {
            Ok(_) | Err(Error::TextTooLong { .. } | Error::TooManyTokens { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn byte_pieces_come_out_as_lossy_utf8_does_byte_by_byte(bytes in text(), cut in 0usize..60) {
        let (tokenizer, vocab) = sections(USUAL);
        let tokenizer = Tokenizer::parse(&tokenizer, &vocab, None).unwrap();
        let (mut out, mut detokenizer) = (String::new(), tokenizer.detokenizer());
        for byte in &bytes[..cut.min(bytes.len())] {
            detokenizer.push(tokenizer.target().id(&byte_piece(*byte)).unwrap(), &mut out).unwrap();
        }
        detokenizer.finish(&mut out).unwrap();
        let (mut rest, mut wanted) = (&bytes[..cut.min(bytes.len())], String::new());
        while !rest.is_empty() {
            let whole = (1..=rest.len().min(4)).find_map(|len| core::str::from_utf8(&rest[..len]).ok());
            wanted.push_str(whole.unwrap_or("\u{fffd}"));
            rest = &rest[whole.map_or(1, str::len)..];
        }
        prop_assert_eq!(out, wanted);
    }

    #[test]
    fn damaged_sections_never_panic(
        damage in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<u8>()), 1..4),
        text in text(),
        bpe in any::<bool>(),
        ids in prop::collection::vec(0u16..300, 0..20),
    ) {
        let (mut tokenizer, mut vocab) = sections_of(
            if bpe { Algorithm::Bpe } else { Algorithm::Unigram },
            USUAL | source_flag::BYTE_FALLBACK | source_flag::LANGUAGE_CODES,
        );
        for (which, at, value) in damage {
            let section = if which { &mut tokenizer } else { &mut vocab };
            let at = at.index(section.len());
            section[at] = value;
        }
        exercise(&tokenizer, &vocab, &text, &ids);
    }

    /// Ranges and states that point anywhere, also back to where they stand.
    #[test]
    fn a_random_character_map_never_panics_or_hangs(
        ranges in prop::collection::vec((0u32..9, 0u8..14, any::<u16>(), 0u32..9), 0..20),
        folds_from: u8,
        longest: u16,
        tables: Vec<u8>,
        states in prop::collection::vec(prop_oneof![0u8..5, prop::sample::select(&b"aAb \xc3\x80"[..]), any::<u8>()], 0..60),
        strings: Vec<u8>,
        text in text(),
    ) {
        let (_, vocab) = sections(USUAL);
        let mut next = 0x20;
        let ranges: Vec<_> = ranges.into_iter().map(|(gap, kind, value, span)| {
            let mut bytes = [0; CharsRange::SIZE];
            let value = u32::from(value) ^ if value & 1 == 0 { 0 } else { STRINGS };
            CharsRange { first: (next + gap) | u32::from(kind) << 24, value: value | span << 24 }
                .write(&mut bytes, 0)
                .unwrap();
            next += gap + span + 1;
            bytes
        }).collect();
        let longest = if states.is_empty() { 0 } else { longest.max(1) };
        let map = CharsMapTables { folds_from: folds_from.into(), longest, ranges: &ranges, tables: &tables, states: &states };
        let tables = TokenizerTables {
            algorithm: Algorithm::Unigram,
            source_flags: USUAL,
            target_flags: 0,
            unk_id: 0,
            language_id: 0,
            unk_score: 0,
            charsmap: &emit(map),
            strings: &strings,
            unk_surface: "",
        };
        let mut tokenizer = vec![0; tables.emitted_len()];
        tables.emit(&mut tokenizer).unwrap();
        let known = map.ranges.iter().all(|range| range[3] & !range_kind::FOLDS <= range_kind::ALTERNATE);
        prop_assert_eq!(Tokenizer::parse(&tokenizer, &vocab, None).is_ok(), known);
        exercise(&tokenizer, &vocab, &text, &[0, 1, 2]);
    }
}
