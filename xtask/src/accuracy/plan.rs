//! What is measured: quantizations by name, in groups that answer one question each.

use latimer::EngineKind;
use model_gen::pack::{InputBits, Options, Recipe, Width};

/// One way to pack the checkpoint.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As the tables name it.
    pub name: String,
    /// How it is packed; the calibration set is the laboratory's to give.
    pub options: Options,
    /// Percent of the base's bytes that the blob is fitted into.
    pub fit: Option<usize>,
}

/// Entries that are compared with one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Group {
    /// The recipes of both engines.
    Recipes,
    /// 8-bit weights and several widths of activations.
    Activations,
    /// 4-bit weights in groups.
    Int4,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 3] = [Group::Recipes, Group::Activations, Group::Int4];

    /// As the page's parts and the command line name it.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Recipes => "recipes",
            Group::Activations => "activations",
            Group::Int4 => "int4",
        }
    }

    /// Rows of its tables, in order.
    pub fn entries(self) -> Vec<Entry> {
        match self {
            Group::Recipes => recipes(),
            Group::Activations => activations(),
            Group::Int4 => int4(),
        }
    }
}

/// What the sizes of all are given in ratio to.
pub fn base() -> Options {
    int8(Recipe::Fast)
}

fn recipes() -> Vec<Entry> {
    let f16 = |name: &str, micromath| Entry {
        name: name.to_owned(),
        options: Options { micromath, ..Options::new(EngineKind::F16) },
        fit: None,
    };
    let entry = |name: &str, options: Options| Entry { name: name.to_owned(), options, fit: None };
    let mut rows = int8(Recipe::Best);
    rows.settings.width = Width::Int8;
    vec![
        f16("f16, `libm`", false),
        f16("f16, `micromath`", true),
        entry("fast", int8(Recipe::Fast)),
        entry("best", int8(Recipe::Best)),
        entry("best, one scale a row", rows),
    ]
}

/// Either recipe with one width for the inputs of all linears.
fn activations() -> Vec<Entry> {
    let entry = |recipe: Recipe, bits: u8| {
        let mut options = int8(recipe);
        options.settings.bits = InputBits::all(bits);
        Entry { name: format!("{}, {bits} bits", recipe.name()), options, fit: None }
    };
    let of = |recipe: Recipe, widths: &[u8]| widths.iter().map(|&bits| entry(recipe, bits)).collect::<Vec<_>>();
    [of(Recipe::Fast, &[8, 10, 12, 14, 16]), of(Recipe::Best, &[8, 12, 16])].concat()
}

/// Mixes that fit into less and less, then all matrices in 4 bits: larger groups share a scale, so that each step down is smaller and coarser.
fn int4() -> Vec<Entry> {
    let entry = |recipe: Recipe, how: &str, group: u8| {
        let mut options = int8(recipe);
        options.settings.width = Width::Int4(group);
        Entry { name: format!("groups of {group}, {how}"), options, fit: None }
    };
    let of = |group| [entry(Recipe::Fast, "to nearest", group), entry(Recipe::Best, "calibrated", group)];
    let fitted = |percent: usize| Entry {
        name: format!("best, fitted into {percent} %"),
        options: int8(Recipe::Best),
        fit: Some(percent),
    };
    let fitted = [90, 80, 70, 60].map(fitted);
    fitted.into_iter().chain([16, 32, 64].into_iter().flat_map(of)).collect()
}

fn int8(recipe: Recipe) -> Options {
    Options::new(EngineKind::Int8).with_recipe(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let entries: Vec<Entry> = Group::ALL.into_iter().flat_map(Group::entries).collect();
        let names: BTreeSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names.len(), entries.len(), "{names:?}");
    }
}
