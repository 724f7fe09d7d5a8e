//! Maps written by hand, one of each kind of range, and an automaton.

use super::*;
use std::string::{String, ToString};
use std::vec::Vec;

fn range(first: u32, kind: u8, value: u32, span: u32) -> [u8; CharsRange::SIZE] {
    let mut bytes = [0; CharsRange::SIZE];
    CharsRange { first: first | u32::from(kind) << 24, value: value | span << 24 }.write(&mut bytes, 0).unwrap();
    bytes
}

/// Length and replacement of the longest key that a text starts with.
fn found(map: &CharsMap, text: &[u8]) -> Option<(usize, String)> {
    let (len, replacement) = map.longest_match(text)?;
    Some((len, core::str::from_utf8(replacement.as_bytes()).unwrap().to_string()))
}

#[test]
fn ranges_of_every_kind() {
    let ranges = [
        range(0x20, range_kind::CONSTANT, STRINGS + 1, 1),
        range(0x41, range_kind::RUN, 0x61, 25),
        range(0x100, range_kind::ALTERNATE, 0x101, 4),
        range(0x200, range_kind::TABLE8, 0, 2),
        range(0x210, range_kind::TABLE16, 6, 2),
        range(0x1_0000, range_kind::TABLE24, 15, 1),
        // A table that is not there.
        range(0x2_0000, range_kind::TABLE16, 20, 1),
    ];
    let tables = [
        &[0x61, 0, 0, 0, 0xff, 1][..],
        &[0x61, 0, 0, 0xff, 0xff, 0x4b, 0x1e, 1, 0],
        &[0, 0, 0, 0xff, 0xff, 0xff, 3, 0, 0x11],
    ]
    .concat();
    let tables = CharsMapTables { ranges: &ranges, tables: &tables, ..CharsMapTables::EMPTY };
    let map = CharsMap { tables, strings: b"no\0yes" };
    for (text, wanted) in [
        ("", None),
        ("\u{1f}", None),
        (" a", Some((1, "o"))),
        ("!", Some((1, "o"))),
        ("\"", None),
        ("A", Some((1, "a"))),
        ("Z", Some((1, "z"))),
        ("[", None),
        ("\u{100}", Some((2, "\u{101}"))),
        ("\u{101}", None),
        ("\u{104}", Some((2, "\u{105}"))),
        ("\u{200}", Some((2, "a"))),
        ("\u{201}", None),
        ("\u{202}", Some((2, "b"))),
        ("\u{210}", None),
        ("\u{211}", Some((2, "\u{1eac}"))),
        ("\u{212}", Some((2, "b"))),
        ("\u{10000}", None),
        ("\u{10001}", Some((4, "yes"))),
        ("\u{20000}", None),
        ("\u{20001}", None),
    ] {
        assert_eq!(found(&map, text.as_bytes()), wanted.map(|(len, text)| (len, text.to_string())), "{text:?}");
    }
}

/// "ab" becomes "x" and "abc" "y", where "B" may stand for "b", and 0xc3 alone, first byte of a character, "z".
#[test]
fn the_automaton_adds_weights_and_folds() {
    let ranges = [range(0x42, range_kind::CONSTANT | range_kind::FOLDS, 0x62, 0)];
    // Arcs of a byte's label, a byte's weight and a byte's link; the states stand at 0, 8 and 13.
    let root = [1, 1 | 1 << 2, b'a', 0x78, 8 << 1, 0xc3, 0x7a, 1];
    let states = [&root[..], &[0, 1 | 1 << 2, b'b', 0, 13 << 1 | 1], &[0, 1, b'c', 1]].concat();
    let tables =
        CharsMapTables { folds_from: 0x42, longest: 3, ranges: &ranges, states: &states, ..CharsMapTables::EMPTY };
    let map = CharsMap { tables, strings: b"" };
    for (text, wanted) in [
        (&b"a"[..], None),
        (b"ab", Some((2, "x"))),
        (b"aBd", Some((2, "x"))),
        (b"abcd", Some((3, "y"))),
        (b"aBcd", Some((3, "y"))),
        (b"B", Some((1, "b"))),
        (b"bc", None),
        (b"\xc3", Some((1, "z"))),
        (b"\xc3\x80", Some((1, "z"))),
        (b"\xc4\x80", None),
    ] {
        assert_eq!(found(&map, text), wanted.map(|(len, text)| (len, text.to_string())), "{text:x?}");
    }
    let shorter = CharsMap { tables: CharsMapTables { longest: 2, ..tables }, strings: b"" };
    assert_eq!(found(&shorter, b"abcd"), Some((2, "x".to_string())), "no step past the longest key");
}

#[test]
fn every_code_point_has_its_bytes() {
    for char in '\0'..=char::MAX {
        let bytes = utf8(char.into());
        assert_eq!(bytes.as_bytes(), char.to_string().as_bytes());
        assert_eq!(first_char(bytes.as_bytes()), Some((char.into(), char.len_utf8())));
    }
    let broken: Vec<&[u8]> = std::vec![b"", b"\xff", b"\xc0\x80", b"\xe2\x96"];
    assert!(broken.iter().all(|text| first_char(text).is_none()));
}
