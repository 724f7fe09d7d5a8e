//! Where the bytes go: flash by section and by role of tensor, and the arena by buffer.

use super::snake_case;
use anyhow::{Context, Result};
use latimer::blob::layout::{Role, SectionKind};
use latimer::{Limits, Model};
use serde::Serialize;

/// Bytes of flash and of RAM.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// The blob's sections, then its header, section table and padding: together the blob.
    pub sections: Vec<Part>,
    /// The weights section by role of tensor, largest first.
    pub roles: Vec<Part>,
    /// The arena's buffers one after the other: together the arena.
    pub arena: Vec<Part>,
    /// Normalized text and Viterbi nodes, laid over the arena's buffers while a phrase is tokenized.
    pub overlaid_text_bytes: usize,
    /// Source tokens the arena is for.
    pub source_tokens: u16,
    /// Target tokens the arena is for.
    pub target_tokens: u16,
    /// Bytes of text the arena is for.
    pub text_bytes: u16,
}

/// A part of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it holds.
    pub name: String,
    /// How long it is.
    pub bytes: usize,
}

impl Part {
    fn new(name: impl Into<String>, bytes: usize) -> Self {
        Part { name: name.into(), bytes }
    }
}

/// The map of a model under limits.
pub(super) fn map(model: &Model<'_>, limits: Limits) -> Result<Memory> {
    let blob = model.blob();
    let section = |kind: &SectionKind| Some(Part::new(format!("{kind:?}"), blob.container().section(*kind)?.len()));
    let mut sections: Vec<Part> = SectionKind::ALL.iter().filter_map(section).collect();
    let rest = blob.len() - total(&sections);
    sections.push(Part::new("header, table, padding", rest));

    let role = |role: &Role| {
        let bytes = blob.tensors().filter(|t| t.entry().role == *role as u8).map(|t| t.flash_bytes()).sum();
        (bytes > 0).then(|| Part::new(snake_case(&format!("{role:?}")), bytes))
    };
    let mut roles: Vec<Part> = Role::ALL.iter().filter_map(role).collect();
    roles.sort_by_key(|part| std::cmp::Reverse(part.bytes));

    let plan = model.arena_plan(limits).context("the model cannot run within these limits")?;
    let mut arena = vec![
        Part::new("source ids", plan.source_ids),
        Part::new("target ids", plan.target_ids),
        Part::new("row blocks of the shortlist", plan.shortlist),
        Part::new("encoder or cross-attention keys and values", plan.cross),
        Part::new("what encoding, search and writing share", {
            (plan.hidden + plan.encode_work).max(plan.book + (plan.own + plan.step_work).max(plan.finish))
        }),
    ];
    // Not every blob has a shortlist.
    arena.retain(|part| part.bytes > 0);
    Ok(Memory {
        sections,
        roles,
        arena,
        overlaid_text_bytes: plan.text,
        source_tokens: limits.source_tokens,
        target_tokens: limits.target_tokens,
        text_bytes: limits.text_bytes,
    })
}

/// Bytes of all parts.
pub fn total(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::AlignedBytes;
    use crate::pack::{Options, pack};
    use crate::testing::{RandomSpec, write_random_checkpoint};
    use latimer::EngineKind;

    #[test]
    fn parts_make_up_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
        let blob = AlignedBytes::copy_of(&pack(dir.path(), &Options::new(EngineKind::Int8)).unwrap().bytes);
        let model = Model::from_bytes(&blob).unwrap();
        for text_bytes in [50, 60_000] {
            let limits = Limits { source_tokens: 20, target_tokens: 10, text_bytes, beams: 1 };
            let memory = map(&model, limits).unwrap();
            assert_eq!(total(&memory.sections), blob.len());
            assert_eq!(total(&memory.arena), model.arena_len(limits).unwrap());
            let weights = memory.sections.iter().find(|part| part.name == "Weights").unwrap();
            // Parts start at multiples of four.
            assert!((total(&memory.roles)..total(&memory.roles) + 400).contains(&weights.bytes));
            assert_eq!(memory.arena.len(), 4);
        }
    }
}
