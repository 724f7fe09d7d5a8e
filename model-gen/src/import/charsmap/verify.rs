//! Proves a packed map equal to its keys, with the runtime's reader.
//!
//! Every key gives its value, no code point alone gives one that is no key, and the automaton accepts nothing but the
//! folded keys, each of which stands for as many keys as there are: so there is no other.

use super::folding::Folding;
use super::{CompactCharsMap, Fold, Keys};
use anyhow::{Context, ensure};
use latimer::blob::charsmap::{CharsMapTables, CharsRange, VALUE_MASK};
use latimer::text::charsmap::{CharsMap, ROOT};
use std::collections::{BTreeMap, HashMap};

pub(super) fn equal(
    packed: &CompactCharsMap,
    keys: &Keys,
    folding: &Folding,
    folded: &BTreeMap<Vec<u8>, u32>,
) -> anyhow::Result<()> {
    let map = CharsMap::parse(&packed.map, &packed.strings).context("the runtime refuses it")?;
    for (key, value) in keys {
        let found = map.longest_match(key);
        let equal = found.is_some_and(|(len, replacement)| len == key.len() && replacement.as_bytes() == value);
        ensure!(equal, "{key:x?} becomes {found:x?}, not {value:x?}");
    }
    let singles = keys.keys().filter(|key| super::one_char(key).is_some()).count();
    let mut packed_singles = 0;
    let tables = CharsMapTables::parse(&packed.map).context("the runtime refuses its tables")?;
    let ranges = tables.ranges.iter().filter_map(|range| CharsRange::read(range, 0));
    // Outside its ranges the map has no key of one character.
    for char in ranges.flat_map(|range| (0..=range.span()).map(move |offset| range.first_char() + offset)) {
        let Some((_, folds)) = map.single(char) else { continue };
        packed_singles += 1;
        let wanted = folding.of(char);
        ensure!(folds == (wanted == Fold::Yes) || wanted == Fold::Either, "U+{char:04X} folds: {folds}");
    }
    ensure!(packed_singles == singles, "{packed_singles} characters are keys, not {singles}");
    let mut accepted = 0;
    accepted_keys(&map, &mut |key, value| {
        accepted += 1;
        ensure!(folded.get(key) == Some(&value), "{key:x?} is no key, but has the value {value}");
        Ok(())
    })?;
    ensure!(accepted == folded.len(), "the automaton has {accepted} keys, not {}", folded.len());
    let stands_for = folded_keys(folding, folded);
    ensure!(stands_for == keys.len() - singles, "folding makes {stands_for} keys, not {}", keys.len() - singles);
    Ok(())
}

/// Calls `visit` with every key of the automaton and its value.
fn accepted_keys(map: &CharsMap, visit: &mut impl FnMut(&[u8], u32) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut todo = vec![(ROOT, 0u32, Vec::new())];
    while let Some((state, value, path)) = todo.pop() {
        for byte in 0..=u8::MAX {
            let Some(arc) = map.arc(state, byte) else { continue };
            let value = (value + arc.weight) & VALUE_MASK;
            let key = [path.as_slice(), &[byte]].concat();
            if arc.is_key {
                visit(&key, value)?;
            }
            todo.extend(arc.next.map(|next| (next, value, key)));
        }
    }
    Ok(())
}

/// Keys that the folded ones stand for: the product, over the characters, of those that fold to each.
fn folded_keys(folding: &Folding, folded: &BTreeMap<Vec<u8>, u32>) -> usize {
    // A character that folds does not stand for itself.
    let mut forms: HashMap<u32, usize> = HashMap::new();
    for (_, to) in folding.pairs() {
        *forms.entry(to).or_insert(1) += 1;
    }
    for (from, _) in folding.pairs() {
        *forms.entry(from).or_insert(1) -= 1;
    }
    let count = |key: &Vec<u8>| match str::from_utf8(key) {
        Ok(text) => text.chars().map(|char| forms.get(&u32::from(char)).copied().unwrap_or(1)).product(),
        Err(_) => 1,
    };
    folded.keys().map(count).sum()
}
