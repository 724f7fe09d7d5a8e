//! The minimal automaton of the longer keys, with values spread as weights over its arcs.
//!
//! Below a state, values count from the least one there, or from the key's own where a key ends in front of it. Equal
//! states are then stored once, whatever value their keys started with.

use anyhow::{Context, ensure};
use latimer::blob::charsmap::VALUE_MASK;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, PartialEq, Eq, Hash)]
struct Arc {
    label: u8,
    weight: u32,
    is_key: bool,
    next: Option<usize>,
}

/// The states' bytes and the length of the longest key.
pub(super) fn pack(keys: &BTreeMap<Vec<u8>, u32>) -> anyhow::Result<(Vec<u8>, u16)> {
    let Some(longest) = keys.keys().map(Vec::len).max() else { return Ok((Vec::new(), 0)) };
    let keys: Vec<(&[u8], u32)> = keys.iter().map(|(key, value)| (key.as_slice(), *value)).collect();
    let mut builder = Builder::default();
    builder.state(&keys, 0, Some(0));
    let longest = longest.try_into().context("a key is longer than 65,535 bytes")?;
    Ok((emit(&builder.states)?, longest))
}

#[derive(Default)]
struct Builder {
    states: Vec<Vec<Arc>>,
    known: HashMap<Vec<Arc>, usize>,
}

impl Builder {
    /// The state after `depth` bytes that all `keys` share, and what its values count from: `base`, or the least.
    fn state(&mut self, keys: &[(&[u8], u32)], depth: usize, base: Option<u32>) -> (usize, u32) {
        let mut arcs = Vec::new();
        for group in keys.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
            let (first, value) = group[0];
            let is_key = first.len() == depth + 1;
            let longer = if is_key { &group[1..] } else { group };
            let next = (!longer.is_empty()).then(|| self.state(longer, depth + 1, is_key.then_some(value)));
            let total = if is_key { value } else { next.map_or(0, |(_, base)| base) };
            arcs.push(Arc { label: first[depth], weight: total, is_key, next: next.map(|(index, _)| index) });
        }
        let base = base.unwrap_or_else(|| arcs.iter().map(|arc| arc.weight).min().unwrap_or(0));
        for arc in &mut arcs {
            arc.weight = arc.weight.wrapping_sub(base) & VALUE_MASK;
        }
        let index = *self.known.entry(arcs).or_insert_with_key(|arcs| {
            self.states.push(arcs.clone());
            self.states.len() - 1
        });
        (index, base)
    }
}

/// The first state last built stands first; the width of links depends on where states come to stand.
fn emit(states: &[Vec<Arc>]) -> anyhow::Result<Vec<u8>> {
    let mut widths = vec![0; states.len()];
    let mut offsets = vec![0; states.len()];
    loop {
        let mut at = 0;
        for index in (0..states.len()).rev() {
            offsets[index] = at;
            at += 2 + states[index].len() * (1 + weight_width(&states[index]) + widths[index]);
        }
        ensure!(at <= (VALUE_MASK >> 1) as usize, "its automaton has {at} bytes");
        let wanted = |arcs: &Vec<Arc>| {
            let links = arcs.iter().map(|arc| link(arc, &offsets));
            if links.clone().all(|link| link == 1) { 0 } else { width(links.max().unwrap_or(0)) }
        };
        // They only grow, so this ends.
        let grown: Vec<usize> = states.iter().zip(&widths).map(|(arcs, old)| wanted(arcs).max(*old)).collect();
        if grown == widths {
            break;
        }
        widths = grown;
    }
    let mut bytes = Vec::new();
    for index in (0..states.len()).rev() {
        let arcs = &states[index];
        let (weight_width, link_width) = (weight_width(arcs), widths[index]);
        bytes.extend([(arcs.len() - 1) as u8, (weight_width | link_width << 2) as u8]);
        for arc in arcs {
            bytes.push(arc.label);
            bytes.extend_from_slice(&arc.weight.to_le_bytes()[..weight_width]);
            bytes.extend_from_slice(&link(arc, &offsets).to_le_bytes()[..link_width]);
        }
    }
    Ok(bytes)
}

fn link(arc: &Arc, offsets: &[usize]) -> u32 {
    arc.next.map_or(0, |next| offsets[next] as u32) << 1 | u32::from(arc.is_key)
}

fn weight_width(arcs: &[Arc]) -> usize {
    width(arcs.iter().map(|arc| arc.weight).max().unwrap_or(0))
}

/// Bytes of a number.
fn width(number: u32) -> usize {
    (u32::BITS - number.leading_zeros()).div_ceil(8) as usize
}
