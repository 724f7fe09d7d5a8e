//! `docs/size.md`: the figures as tables.

use std::fs;

use anyhow::{Context, Result};
use model_gen::cost::STACK_BOUND;

use super::measure::{Measured, Smallest, Whole};
use crate::generated::{replace, table};
use crate::paths;

/// The page.
pub const PAGE: &str = "docs/size.md";

/// The tables, by the name of their place on the page.
pub fn parts(measured: &Measured) -> Vec<(&'static str, String)> {
    vec![
        ("boards", boards(&measured.boards)),
        ("smallest", smallest(&measured.smallest)),
        ("owners", owners(&measured.smallest)),
    ]
}

fn boards(boards: &[Whole]) -> String {
    let head = [
        "board",
        "engine",
        "profile",
        "code",
        "constants",
        "values of statics",
        "flash without the model",
        "model",
        "arena",
        "buffers",
        "other statics",
        "stack",
        "instructions",
    ];
    let row = |Whole { machine, engine, profile, sizes, used }: &Whole| {
        let flash = [sizes.code, sizes.constants, sizes.values, sizes.flash(), sizes.model];
        let ram = [sizes.arena, sizes.buffers, sizes.rest()];
        let stack = used.map_or_else(|| format!("at most {STACK_BOUND}"), |used| used.stack.to_string());
        let instructions = used.map_or_else(String::new, |used| used.instructions.to_string());
        let names = [machine.name, engine.name(), profile].map(str::to_owned);
        let figures = flash.iter().chain(&ram).map(u64::to_string);
        names.into_iter().chain(figures).chain([stack, instructions]).collect::<Vec<_>>()
    };
    table(&head, boards.iter().map(row))
}

fn smallest(smallest: &[Smallest]) -> String {
    let head = ["firmware", "profile", "code", "constants", "flash without the model", "in KiB", "static RAM"];
    let row = |Smallest { name, profile, sizes }: &Smallest| {
        let kib = format!("{:.1}", sizes.flash() as f64 / 1024.0);
        let [code, constants, flash, statics] =
            [sizes.code, sizes.constants, sizes.flash(), sizes.statics].map(|bytes| bytes.to_string());
        [format!("minimal-{name}"), (*profile).to_owned(), code, constants, flash, kib, statics]
    };
    table(&head, smallest.iter().map(row))
}

/// Whose the bytes of the smallest firmwares are; what sections have beyond symbols is padding and constants.
fn owners(smallest: &[Smallest]) -> String {
    let names = smallest.iter().map(|Smallest { name, profile, .. }| format!("minimal-{name}, {profile}"));
    let head: Vec<_> = ["".to_owned()].into_iter().chain(names).collect();
    let mut owners: Vec<_> = smallest.iter().flat_map(|smallest| smallest.sizes.owners.keys().copied()).collect();
    owners.sort();
    owners.dedup();
    let of = |name: &str| {
        let bytes = smallest.iter().map(|smallest| smallest.sizes.owners.get(name).copied().unwrap_or(0).to_string());
        [name.to_owned()].into_iter().chain(bytes).collect::<Vec<_>>()
    };
    let padding = smallest
        .iter()
        .map(|Smallest { sizes, .. }| sizes.flash().saturating_sub(sizes.owners.values().sum()).to_string());
    let padding = ["text of messages, and padding".to_owned()].into_iter().chain(padding).collect();
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    table(&head, owners.into_iter().map(of).chain([padding]))
}

/// Writes the page.
pub fn write(measured: &Measured) -> Result<()> {
    let page = paths::root().join(PAGE);
    let mut text = fs::read_to_string(&page).with_context(|| format!("cannot read `{PAGE}`"))?;
    for (name, part) in parts(measured) {
        text = replace(&text, &format!("cargo xtask size {name}"), &part)?;
    }
    fs::write(&page, text).with_context(|| format!("cannot write `{PAGE}`"))
}
