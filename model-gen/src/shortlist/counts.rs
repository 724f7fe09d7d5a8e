//! How often a source id calls for a row block.

use crate::align::{Aligner, Pair};
use latimer::Model;
use latimer::blob::layout::SectionKind;
use latimer::blob::shortlist::block_count;
use latimer::kernel::ROWS;
use std::collections::BTreeMap;

/// Links less likely than this are not counted.
const LEAST: f32 = 0.02;

/// Expected links of source ids to row blocks.
pub(super) struct Counts {
    /// Expected links to each block, of each source id.
    links: Vec<BTreeMap<u16, f64>>,
    /// Phrases that have each source id.
    seen: Vec<f64>,
    /// Uses of each block.
    uses: Vec<f64>,
}

impl Counts {
    /// Of pairs, as the aligner links them.
    pub fn of(model: &Model<'_>, aligner: &Aligner, pairs: &[Pair]) -> Self {
        let spec = model.blob().spec().header();
        let (ids, blocks) = (spec.source_vocab as usize, block_count(spec.target_vocab));
        let mut counts = Counts { links: vec![BTreeMap::new(); ids], seen: vec![0.0; ids], uses: vec![0.0; blocks] };
        for pair in pairs {
            for link in aligner.posteriors(pair).into_iter().filter(|link| link.probability >= LEAST) {
                if let Some(source) = link.source {
                    let block = block_of(pair.target[link.target]);
                    *counts.links[usize::from(pair.source[source])].entry(block).or_default() +=
                        f64::from(link.probability);
                }
            }
            for &id in &pair.target {
                counts.uses[usize::from(block_of(id))] += 1.0;
            }
            let mut distinct = pair.source.clone();
            distinct.sort_unstable();
            distinct.dedup();
            distinct.iter().for_each(|&id| counts.seen[usize::from(id)] += 1.0);
        }
        // Names are copied: a piece that both sides share stands for itself, until there is better evidence.
        if model.blob().container().section(SectionKind::TargetVocab).is_none() {
            for (id, links) in (0..=u16::MAX).zip(&mut counts.links) {
                *links.entry(block_of(id)).or_default() += 1.0;
            }
        }
        counts
    }

    /// Row blocks of the output matrix.
    pub fn blocks(&self) -> usize {
        self.uses.len()
    }

    /// Blocks by their uses, most first.
    pub fn by_use(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.blocks()).collect();
        order.sort_by(|&a, &b| self.uses[b].total_cmp(&self.uses[a]).then(a.cmp(&b)));
        order
    }

    /// For each source id, the blocks it may call for with the links that one phrase with it has, in order of blocks.
    pub fn candidates(&self) -> Vec<Vec<(u16, f64)>> {
        let of = |(links, seen): (&BTreeMap<u16, f64>, &f64)| {
            links.iter().map(|(&block, &links)| (block, links / seen.max(1.0))).collect()
        };
        self.links.iter().zip(&self.seen).map(of).collect()
    }
}

/// The row block of an id.
pub(super) fn block_of(id: u16) -> u16 {
    id / ROWS as u16
}
