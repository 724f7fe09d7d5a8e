//! Packs SentencePiece's `precompiled_charsmap` compactly and exactly; [`latimer::blob::charsmap`] has the form.
//!
//! The double array is taken apart into keys and values ([`double_array`]). Characters that are interchangeable in
//! longer keys are found (`folding`), keys of one character become ranges (`ranges`) and the others an automaton
//! (`automaton`). Nothing here knows Unicode: whatever the keys are, the result maps them as the original does, which
//! `verify` checks with the runtime's own reader.

pub mod double_array;

mod automaton;
mod folding;
mod ranges;
mod strings;
mod verify;

use anyhow::{Context, ensure};
use double_array::DoubleArray;
use folding::{Fold, Folding};
use latimer::blob::charsmap::{CharsMapTables, STRINGS, VALUE_MASK};
use std::collections::BTreeMap;

/// Keys and what replaces them.
pub type Keys = BTreeMap<Vec<u8>, Vec<u8>>;

/// A character map as the blob has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactCharsMap {
    /// `TokenizerTables::charsmap`; empty where the map has no keys.
    pub map: Vec<u8>,
    /// `TokenizerTables::strings`.
    pub strings: Vec<u8>,
}

impl CompactCharsMap {
    /// Packs the map of a double array; `field` is its name, for errors.
    pub fn new(field: &str, array: &DoubleArray) -> anyhow::Result<Self> {
        Self::from_keys(field, &array.keys(field)?)
    }

    /// Packs any map. Keys are not empty; values hold no zero byte.
    pub fn from_keys(field: &str, keys: &Keys) -> anyhow::Result<Self> {
        if keys.is_empty() {
            return Ok(Self::default());
        }
        let (strings, value_of) = strings::pool(keys.values());
        let last = STRINGS as usize + strings.len();
        ensure!(last <= VALUE_MASK as usize, "{field} has {} bytes of replacements, too many to pack", strings.len());
        let (mut singles, mut longer) = (BTreeMap::new(), BTreeMap::new());
        for (key, value) in keys {
            let value = value_of[value.as_slice()];
            match one_char(key) {
                Some(char) => singles.insert(char, value),
                None => longer.insert(key.as_slice(), value),
            };
        }
        let folding = Folding::find(&singles, &longer);
        let folded: BTreeMap<Vec<u8>, u32> = longer.iter().map(|(key, value)| (folding.apply(key), *value)).collect();
        let (ranges, tables) = ranges::pack(&singles, |char| folding.of(char));
        let (states, longest) = automaton::pack(&folded).with_context(|| format!("{field} is too large to pack"))?;
        let folds_from = folding.least().unwrap_or(STRINGS);
        let parts = CharsMapTables { folds_from, longest, ranges: &ranges, tables: &tables, states: &states };
        let mut map = vec![0; parts.emitted_len()];
        parts.emit(&mut map).with_context(|| format!("{field} is too large to pack"))?;
        let packed = Self { map, strings };
        verify::equal(&packed, keys, &folding, &folded).with_context(|| format!("{field} was not packed exactly"))?;
        Ok(packed)
    }
}

/// The code point of a text of one character.
fn one_char(text: &[u8]) -> Option<u32> {
    let mut chars = str::from_utf8(text).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none()).map(u32::from)
}

#[cfg(test)]
mod tests;
