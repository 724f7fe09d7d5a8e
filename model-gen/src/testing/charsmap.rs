//! Character maps of a few rules, as SentencePiece's `precompiled_charsmap` stores them: the size of the trie in bytes
//! (u32, little-endian), a Darts double array, and the replacements, each ended by a zero byte.

use std::collections::{BTreeMap, BTreeSet};

/// A capital, an accent that becomes two letters, a ligature longer than its prefix's rule, a space of three bytes, and
/// what is dropped.
pub(super) const RULES: [(&str, &str); 7] =
    [("A", "a"), ("AE", "e"), ("T", "t"), ("\u{c0}", "a e"), ("\u{3000}", " "), ("\t", " "), ("\u{ad}", "")];

/// What units hold: a value, or where children are, whether one of them is a value, and the unit's own label.
const VALUE: u32 = 1 << 31;
const HAS_VALUE: u32 = 1 << 8;
const OFFSET_SHIFT: u32 = 10;

/// The map of [`RULES`].
pub(super) fn precompiled() -> Vec<u8> {
    charsmap_of(RULES.map(|(from, to)| (from.as_bytes(), to.as_bytes())))
}

/// A `precompiled_charsmap` of any rules. What they map is not empty, and nothing holds a zero byte.
pub fn charsmap_of<'r>(rules: impl IntoIterator<Item = (&'r [u8], &'r [u8])>) -> Vec<u8> {
    let mut strings = Vec::new();
    let mut offsets = BTreeMap::new();
    for (from, to) in rules {
        offsets.insert(from, strings.len() as u32);
        strings.extend_from_slice(to);
        strings.push(0);
    }
    let mut array = DoubleArray { units: vec![0], taken: vec![true], bases: BTreeSet::new() };
    array.place(0, &offsets);
    let mut bytes = (4 * array.units.len() as u32).to_le_bytes().to_vec();
    // No label leads to a unit that holds a value, so none leads to one that is free.
    let units = array.units.iter().zip(&array.taken).map(|(unit, taken)| if *taken { *unit } else { VALUE });
    bytes.extend(units.flat_map(u32::to_le_bytes));
    bytes.extend(strings);
    bytes
}

/// Units, which of them are in use, and where children lie: two parents at one place would have each other's.
struct DoubleArray {
    units: Vec<u32>,
    taken: Vec<bool>,
    bases: BTreeSet<usize>,
}

impl DoubleArray {
    /// Places the children of the unit at `parent`: what follows it in each rule.
    fn place(&mut self, parent: usize, rules: &BTreeMap<&[u8], u32>) {
        let mut children: BTreeMap<u8, BTreeMap<&[u8], u32>> = BTreeMap::new();
        let value = rules.get(&[][..]).copied();
        for (text, value) in rules {
            if let Some((label, rest)) = text.split_first() {
                children.entry(*label).or_default().insert(rest, *value);
            }
        }
        // A value goes by the label 0, which no rule has.
        let labels: Vec<u8> = value.iter().map(|_| 0).chain(children.keys().copied()).collect();
        let taken = |unit: usize| self.taken.get(unit).is_some_and(|taken| *taken);
        let free =
            |base: &usize| !self.bases.contains(base) && labels.iter().all(|label| !taken(base ^ usize::from(*label)));
        let base = (1..).find(free).expect("past the last unit all are free");
        self.bases.insert(base);
        let len = (base | 0xff) + 1;
        self.units.resize(self.units.len().max(len), 0);
        self.taken.resize(self.units.len(), false);
        labels.iter().for_each(|label| self.taken[base ^ usize::from(*label)] = true);
        self.units[parent] |= ((parent ^ base) as u32) << OFFSET_SHIFT;
        if let Some(value) = value {
            self.units[parent] |= HAS_VALUE;
            self.units[base] = VALUE | value;
        }
        for (label, rules) in children {
            let child = base ^ usize::from(label);
            self.units[child] |= u32::from(label);
            self.place(child, &rules);
        }
    }
}
