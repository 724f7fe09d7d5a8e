//! The packed map against the double array it came from, and against keys made up to be awkward.

use super::*;
use crate::import::spm::{NormalizerSpec, SpmModel};
use crate::testing::{SplitMix64, charsmap_of};
use latimer::text::charsmap::CharsMap;
use proptest::prelude::*;
use std::collections::BTreeSet;

const FIELD: &str = "source.spm: normalizer_spec.precompiled_charsmap";

/// The double array of the shipped model: NFKC with SentencePiece's own rules for spaces.
fn shipped() -> DoubleArray {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-es-nano/source.spm");
    let model = SpmModel::parse("source.spm", &std::fs::read(path).unwrap()).unwrap();
    model.normalizer().double_array(FIELD).unwrap().unwrap()
}

fn open(packed: &CompactCharsMap) -> CharsMap<'_> {
    CharsMap::parse(&packed.map, &packed.strings).unwrap()
}

/// Whether both find the same at the start of a text.
fn assert_same(map: &CharsMap, array: &DoubleArray, text: &[u8]) {
    let found = map.longest_match(text);
    let found = found.as_ref().map(|(len, replacement)| (*len, replacement.as_bytes()));
    assert_eq!(found, array.longest_match(text), "{text:x?}");
}

#[test]
fn the_shipped_map_is_small() {
    let packed = CompactCharsMap::new(FIELD, &shipped()).unwrap();
    let tables = CharsMapTables::parse(&packed.map).unwrap();
    let (ranges, entries, states) = (tables.ranges.as_flattened().len(), tables.tables.len(), tables.states.len());
    let total = packed.map.len() + packed.strings.len();
    println!("{total} bytes: ranges {ranges}, tables {entries}, states {states}, strings {}", packed.strings.len());
    assert!(total <= 48 * 1024, "{total} bytes");
}

#[test]
fn every_key_and_code_point_of_the_shipped_map_is_the_same() {
    let array = shipped();
    let packed = CompactCharsMap::new(FIELD, &array).unwrap();
    let (map, keys) = (open(&packed), array.keys(FIELD).unwrap());
    assert_eq!(keys.len(), 225_276);
    keys.keys().for_each(|key| assert_same(&map, &array, key));
    let mut buffer = [0; 4];
    ('\0'..=char::MAX).for_each(|char| assert_same(&map, &array, char.encode_utf8(&mut buffer).as_bytes()));
    (0..=u16::MAX).for_each(|bytes| assert_same(&map, &array, &bytes.to_be_bytes()));
}

/// Short keys before each character that is in a key and not first there, all keys before a few of them.
#[test]
fn keys_with_something_after_them_are_the_same() {
    let array = shipped();
    let packed = CompactCharsMap::new(FIELD, &array).unwrap();
    let (map, keys) = (open(&packed), array.keys(FIELD).unwrap());
    let texts: Vec<&str> = keys.keys().map(|key| str::from_utf8(key).unwrap()).collect();
    let following: BTreeSet<char> = texts.iter().flat_map(|text| text.chars().skip(1)).collect();
    let mut tails: Vec<Vec<u8>> = following.iter().map(|char| char.to_string().into_bytes()).collect();
    tails.extend([&b"a"[..], b" ", b"\xff", b"\xcc", b"\xe1\x85", b"\0"].map(<[u8]>::to_vec));
    assert!(tails.len() > 150, "{} characters follow others", tails.len());
    let mut tail = 0;
    for text in texts {
        let count = if text.chars().count() < 3 { tails.len() } else { 6 };
        for _ in 0..count {
            tail = (tail + 1) % tails.len();
            assert_same(&map, &array, &[text.as_bytes(), &tails[tail]].concat());
        }
    }
}

/// Whole texts of what is in keys, as the runtime and as the array would replace them.
#[test]
fn random_texts_become_the_same() {
    let array = shipped();
    let packed = CompactCharsMap::new(FIELD, &array).unwrap();
    let (map, keys) = (open(&packed), array.keys(FIELD).unwrap());
    let keys: Vec<&Vec<u8>> = keys.keys().collect();
    let mut random = SplitMix64::new(7);
    for _ in 0..200_000 {
        let mut text = Vec::new();
        for _ in 0..1 + random.next_u64() % 4 {
            let key = keys[random.next_u64() as usize % keys.len()];
            text.extend_from_slice(&key[random.next_u64() as usize % 2 * (key.len() / 2)..]);
        }
        (0..text.len()).for_each(|from| assert_same(&map, &array, &text[from..]));
    }
}

#[test]
fn a_map_without_keys_takes_no_bytes() {
    let packed = CompactCharsMap::from_keys("map", &Keys::new()).unwrap();
    assert_eq!(packed, CompactCharsMap::default());
    assert!(open(&packed).longest_match(b"a").is_none());
}

/// Every damage that an array can have, each named.
#[test]
fn damaged_arrays_are_refused() {
    let message = |bytes: Vec<u8>| {
        let spec = NormalizerSpec { precompiled_charsmap: Some(bytes), ..Default::default() };
        spec.charsmap("m").unwrap_err().to_string()
    };
    let mut far = charsmap_of([(&b"A"[..], &b"a"[..])]);
    for unit in far.chunks_mut(4).filter(|unit| *unit == [0, 0, 0, 0x80]) {
        unit[0] = 9;
    }
    let wanted = "m has a replacement at 9, past its strings: the file is damaged, copy it again";
    assert_eq!(message(far), wanted);
    // The root's children lie at 0, and so does a child by the label 0: the root itself.
    let looped = [&4u32.to_le_bytes()[..], &0u32.to_le_bytes(), b"\0"].concat();
    assert_eq!(message(looped), "m has a trie that loops: the file is damaged, copy it again");
}

fn check(keys: &Keys, texts: &[Vec<u8>]) {
    let rules = keys.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
    let spec = NormalizerSpec { precompiled_charsmap: Some(charsmap_of(rules)), ..Default::default() };
    let array = spec.double_array("map").unwrap().unwrap();
    assert_eq!(&array.keys("map").unwrap(), keys);
    let packed = CompactCharsMap::new("map", &array).unwrap();
    let map = open(&packed);
    for text in keys.keys().chain(texts) {
        (0..text.len()).for_each(|from| assert_same(&map, &array, &text[from..]));
    }
}

/// Strings of a few atoms, so that they are often prefixes of each other.
fn strings(atoms: &'static [&'static [u8]], len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(atoms), len).prop_map(|atoms| atoms.concat())
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let short = strings(VALUES, 0..4);
    prop_oneof![4 => short, 1 => "[a-c\u{e0}]{0,300}".prop_map(String::into_bytes)]
}

const VALUES: &[&[u8]] = &[b"", b"a", b"b", b"\xcc\x80", b"\xea\xb0\x81", b"\xf0\x9f\x98\x80"];
const CHARS: &[&[u8]] =
    &[b"a", b"b", b"A", b"B", b"\xc3\xa0", b"\xcc\x80", b"\xef\xbc\xa1", b"\xf0\x9d\x90\x80", b"\xf4\x8f\xbf\xbf"];
const BYTES: &[&[u8]] = &[b"a", b"A", b"\xc3", b"\xc3\xa0", b"\xa0", b"\xcc\x80", b"\xff", b"\xed\xa0\x80", b"\x01"];
/// "a" and "b", each with two other forms.
const FORMS: [&[&[u8]]; 2] = [&[b"a", b"A", b"\xef\xbc\xa1"], &[b"b", b"B", b"\xf0\x9d\x90\x80"]];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn maps_of_any_bytes_are_packed_exactly(
        keys in prop::collection::btree_map(strings(BYTES, 1..6), value(), 1..30),
        texts in prop::collection::vec(strings(BYTES, 0..9), 20),
    ) {
        check(&keys, &texts);
    }

    #[test]
    fn maps_of_characters_are_packed_exactly(
        keys in prop::collection::btree_map(strings(CHARS, 1..6), value(), 1..60),
        texts in prop::collection::vec(strings(CHARS, 0..9), 20),
    ) {
        check(&keys, &texts);
    }

    /// Keys in all forms of their characters, of which some are then taken out or changed.
    #[test]
    fn maps_whose_characters_fold_are_packed_exactly(
        bases in prop::collection::btree_map(prop::collection::vec(0usize..2, 2..4), value(), 1..6),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(value())), 0..3),
        texts in prop::collection::vec(strings(CHARS, 0..9), 20),
    ) {
        let mut keys = Keys::new();
        for forms in FORMS {
            keys.extend(forms[1..].iter().map(|form| (form.to_vec(), forms[0].to_vec())));
        }
        for (base, value) in &bases {
            let each = base.iter().fold(vec![Vec::new()], |prefixes, letter| {
                let longer = |prefix: Vec<u8>| FORMS[*letter].iter().map(move |form| [&prefix, *form].concat());
                prefixes.into_iter().flat_map(longer).collect()
            });
            keys.extend(each.into_iter().map(|key| (key, value.clone())));
        }
        for (at, change) in changes {
            let key = at.get(&keys.keys().cloned().collect::<Vec<_>>()).clone();
            match change {
                Some(value) => keys.insert(key, value),
                None => keys.remove(&key),
            };
        }
        check(&keys, &texts);
    }

    #[test]
    fn a_damaged_map_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        texts in prop::collection::vec(strings(CHARS, 0..9), 8),
    ) {
        let forms = FORMS.iter().flat_map(|forms| forms[1..].iter().map(|form| (form.to_vec(), forms[0].to_vec())));
        let mut keys: Keys = forms.collect();
        for key in ["aab", "Aab", "\u{ff21}ab", "b\u{300}", "\u{1d400}\u{300}", "B\u{300}"] {
            keys.insert(key.into(), key.as_bytes()[1..].to_vec());
        }
        let mut packed = CompactCharsMap::from_keys("map", &keys).unwrap();
        for (at, value) in damage {
            let at = at.index(packed.map.len());
            packed.map[at] = value;
        }
        let Some(map) = CharsMap::parse(&packed.map, &packed.strings) else { return Ok(()) };
        for text in keys.keys().chain(&texts) {
            prop_assert!(map.longest_match(text).is_none_or(|(len, _)| (1..=text.len()).contains(&len)));
        }
    }
}
