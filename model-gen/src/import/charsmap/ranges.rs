//! Cuts the keys of one character into ranges, so that ranges and tables take the fewest bytes.

use super::Fold;
use latimer::blob::charsmap::{CharsRange, VALUE_MASK, range_kind};
use std::collections::BTreeMap;

/// Code points of a range after the first, at most.
const MAX_SPAN: u32 = 255;
/// Bytes of a table's least value.
const TABLE_BASE: usize = 3;

/// Records and tables.
pub(super) fn pack(singles: &BTreeMap<u32, u32>, fold: impl Fn(u32) -> Fold) -> (Vec<[u8; CharsRange::SIZE]>, Vec<u8>) {
    let keys: Vec<(u32, u32, Fold)> = singles.iter().map(|(&char, &value)| (char, value, fold(char))).collect();
    // best[i]: the fewest bytes for the keys from i on, and the range to start with.
    let mut best: Vec<(usize, Option<Range>)> = vec![(0, None); keys.len() + 1];
    for start in (0..keys.len()).rev() {
        let mut range = Range::new(&keys[start..]);
        let mut least = (usize::MAX, None);
        loop {
            let (kind, own) = range.cheapest();
            let cost = own + best[start + range.keys].0;
            if cost < least.0 {
                least = (cost, Some(Range { kind, ..range }));
            }
            let Some(longer) = keys.get(start + range.keys).and_then(|key| range.with(*key)) else { break };
            range = longer;
        }
        best[start] = least;
    }
    let (mut records, mut tables, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(range) = best[at].1 {
        records.push(range.emit(&keys[at..at + range.keys], &mut tables));
        at += range.keys;
    }
    (records, tables)
}

/// The first few keys from some place on, and what their values have in common.
#[derive(Clone, Copy)]
struct Range {
    keys: usize,
    first: u32,
    span: u32,
    /// Of the first key, the least and the greatest.
    value: u32,
    min: u32,
    max: u32,
    fold: Fold,
    constant: bool,
    run: bool,
    alternate: bool,
    kind: u8,
}

impl Range {
    fn new(keys: &[(u32, u32, Fold)]) -> Self {
        let (first, value, fold) = keys[0];
        let (min, max) = (value, value);
        let kind = range_kind::CONSTANT;
        Self { keys: 1, first, span: 0, value, min, max, fold, constant: true, run: true, alternate: true, kind }
    }

    /// With one more key, unless it is too far or folds otherwise.
    fn with(&self, (char, value, fold): (u32, u32, Fold)) -> Option<Self> {
        let span = char - self.first;
        let fold = match (self.fold, fold) {
            (Fold::Yes, Fold::No) | (Fold::No, Fold::Yes) => return None,
            (Fold::Either, fold) => fold,
            (fold, _) => fold,
        };
        let ascends = self.value.checked_add(span) == Some(value);
        let step = span - self.span;
        (span <= MAX_SPAN).then_some(Self {
            keys: self.keys + 1,
            span,
            min: self.min.min(value),
            max: self.max.max(value),
            fold,
            constant: self.constant && step == 1 && value == self.value,
            run: self.run && step == 1 && ascends,
            alternate: self.alternate && step == 2 && ascends,
            ..*self
        })
    }

    /// The kind that takes the fewest bytes, and how many.
    fn cheapest(&self) -> (u8, usize) {
        for (can, kind) in [
            (self.constant, range_kind::CONSTANT),
            (self.run, range_kind::RUN),
            (self.alternate, range_kind::ALTERNATE),
        ] {
            if can {
                return (kind, CharsRange::SIZE);
            }
        }
        // All ones is no entry, and 24 bits take any value.
        let kind = match self.max - self.min {
            0..0xff => range_kind::TABLE8,
            0xff..0xffff => range_kind::TABLE16,
            _ => range_kind::TABLE24,
        };
        (kind, CharsRange::SIZE + TABLE_BASE + usize::from(kind) * (self.span as usize + 1))
    }

    fn emit(&self, keys: &[(u32, u32, Fold)], tables: &mut Vec<u8>) -> [u8; CharsRange::SIZE] {
        let mut value = self.value;
        let width = usize::from(self.kind);
        if (range_kind::TABLE8..=range_kind::TABLE24).contains(&self.kind) {
            value = tables.len() as u32;
            tables.extend_from_slice(&self.min.to_le_bytes()[..TABLE_BASE]);
            let entries = tables.len();
            tables.resize(entries + width * (self.span as usize + 1), 0xff);
            for (char, value, _) in keys {
                let at = entries + width * (char - self.first) as usize;
                tables[at..at + width].copy_from_slice(&(value - self.min).to_le_bytes()[..width]);
            }
        }
        let folds = if self.fold == Fold::Yes { range_kind::FOLDS } else { 0 };
        let record = CharsRange {
            first: self.first | u32::from(self.kind | folds) << 24,
            value: value & VALUE_MASK | self.span << 24,
        };
        let mut bytes = [0; CharsRange::SIZE];
        record.write(&mut bytes, 0).expect("the array has the record's size");
        bytes
    }
}
