//! What is measured: quantizations by name, in groups that answer one question each.

use latimer::EngineKind;
use model_gen::pack::{InputBits, Options, Recipe, Settings, Width};

/// One way to pack the checkpoint.
#[derive(Clone, Debug)]
pub struct Entry {
    /// As the tables name it.
    pub name: String,
    /// How it is packed; the calibration set is the laboratory's to give.
    pub options: Options,
}

/// Entries that are compared with one another.
#[derive(Clone, Debug)]
pub struct Group {
    /// Heading of its tables.
    pub title: &'static str,
    /// Rows, in order.
    pub entries: Vec<Entry>,
}

/// Whose size the others' are given in ratio to.
pub const BASE: Recipe = Recipe::Fast;

/// All of it.
pub fn groups() -> Vec<Group> {
    vec![
        Group { title: "Recipes", entries: recipes() },
        Group { title: "Widths of activations", entries: activations() },
        Group { title: "4-bit weights", entries: int4() },
    ]
}

fn recipes() -> Vec<Entry> {
    let f16 = |name: &str, micromath| Entry {
        name: name.to_owned(),
        options: Options { micromath, ..Options::new(EngineKind::F16) },
    };
    let int8 = |recipe: Recipe| Entry { name: recipe.name().to_owned(), options: int8(recipe) };
    vec![f16("f16, `libm`", false), f16("f16, `micromath`", true), int8(BASE), int8(Recipe::Best)]
}

/// Either recipe with one width for the inputs of all linears.
fn activations() -> Vec<Entry> {
    let entry = |recipe: Recipe, bits: u8| {
        let mut options = int8(recipe);
        options.settings.bits = InputBits::all(bits);
        Entry { name: format!("{}, {bits} bits", recipe.name()), options }
    };
    [Recipe::Fast, Recipe::Best]
        .into_iter()
        .flat_map(|recipe| [8, 10, 12, 16].map(|bits| entry(recipe, bits)))
        .collect()
}

/// All matrices in 4 bits: larger groups share a scale, so that each step down is smaller and coarser.
fn int4() -> Vec<Entry> {
    let entry = |recipe: Recipe, how: &str, group: u8| {
        let mut options = int8(recipe);
        options.settings = Settings { width: Width::Int4(group), ..options.settings };
        Entry { name: format!("groups of {group}, {how}"), options }
    };
    let of = |group| [entry(Recipe::Fast, "to nearest", group), entry(Recipe::Best, "calibrated", group)];
    [16, 32, 64].into_iter().flat_map(of).collect()
}

fn int8(recipe: Recipe) -> Options {
    Options::new(EngineKind::Int8).with_recipe(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_the_base_is_among_them() {
        let groups = groups();
        let names: Vec<&str> = groups.iter().flat_map(|group| &group.entries).map(|entry| &*entry.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        assert!(names.contains(&BASE.name()), "{names:?}");
    }
}
