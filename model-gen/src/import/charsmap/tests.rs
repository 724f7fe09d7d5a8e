//! The packed map against the double array it came from, and against keys made up to be awkward.

use super::*;
use crate::import::spm::SpmModel;
use latimer::text::charsmap::CharsMap;

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
