//! `docs/performance.md`: the figures of each board as tables.

use std::fs;

use anyhow::{Context, Result};

use super::PHRASE;
use super::counts::Counts;
use super::measure::{Figure, Measured, PhraseFigure};
use super::peers::{SOURCE, peer};
use super::plan::Group;
use crate::generated::{replace, table};
use crate::machines::Machine;
use crate::paths;

/// The page.
pub const PAGE: &str = "docs/performance.md";

/// The tables of a board.
pub fn tables(machine: &Machine, measured: &Measured) -> String {
    let mut text = format!(
        "{}. {} results with the kernels of the target are equal to the portable ones', bit for bit.\n",
        machine.about, measured.equal
    );
    for phrase in &measured.phrases {
        text.push_str(&phrase_table(machine, phrase));
    }
    for group in Group::ALL {
        let figures: Vec<_> = measured.figures.iter().filter(|figure| figure.case.group == group).collect();
        if figures.is_empty() {
            continue;
        }
        let (title, unit) = group.title();
        text.push_str(&format!("\n{title}; guest instructions per {unit}:\n\n"));
        let cycles = estimates_cycles(machine);
        let mut head = vec!["", "selected", "portable", "peer"];
        head.extend(cycles.then_some("est. cycles"));
        head.extend(CLASSES.iter().map(|(name, _)| *name));
        text.push_str(&table(&head, figures.into_iter().map(|figure| row(machine, figure, cycles))));
    }
    if measured.figures.iter().any(|figure| peer(machine, &figure.case).is_some()) {
        text.push_str(&format!("\n{SOURCE}\n"));
    }
    text
}

/// Columns of classes: name, and the plugin's figures that it sums.
const CLASSES: [(&str, &[&str]); 6] = [
    ("load", &["load", "load_multiple"]),
    ("store", &["store", "store_multiple"]),
    ("multiply", &["multiply"]),
    ("other ALU", &["alu", "other", "divide", "float"]),
    ("vector", &["vector", "vector_memory"]),
    ("branch", &["branch"]),
];

/// In-order cores of three stages, to which the rule of a Cortex-M4 comes near; the others' pipelines it does not know.
fn estimates_cycles(machine: &Machine) -> bool {
    ["m3", "m4", "m33"].iter().any(|core| machine.name.ends_with(&format!("cortex-{core}")))
}

fn row(machine: &Machine, figure: &Figure, cycles: bool) -> Vec<String> {
    let Figure { case, selected, portable } = figure;
    let per = |count: u64| number(count as f64 / case.units as f64);
    let mut row = vec![
        case.name.clone(),
        format!("**{}**", per(selected.instructions())),
        per(portable.instructions()),
        peer(machine, case).unwrap_or("").to_owned(),
    ];
    row.extend(cycles.then(|| per(selected.m4_cycles())));
    row.extend(CLASSES.iter().map(|(_, classes)| per(sum(selected, classes))));
    row
}

fn sum(counts: &Counts, classes: &[&str]) -> u64 {
    classes.iter().map(|class| counts.get(class)).sum()
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn phrase_table(machine: &Machine, phrase: &PhraseFigure) -> String {
    let PhraseFigure { recipe, answer, work, parts } = phrase;
    let cycles = estimates_cycles(machine);
    let mut head = vec!["kernels", "instructions", "per MAC", "tokenize and detokenize", "encode", "last step"];
    head.extend(["bytes of weights fetched", "of the fewest"]);
    head.extend(cycles.then_some("est. cycles"));
    let rows = parts.iter().map(|(kernels, parts)| {
        let [whole, tokenize, encode, step, detokenize] = &parts[..] else { unreachable!("five parts") };
        let instructions = |counts: &Counts| counts.instructions() as f64;
        let text = instructions(tokenize) + instructions(detokenize);
        let fetched = whole.get("fetched");
        let mut row = vec![
            kernels.name().to_owned(),
            whole.instructions().to_string(),
            number(instructions(whole) / work.macs as f64),
            format!("{:.2} %", 100.0 * text / instructions(whole)),
            encode.instructions().to_string(),
            step.instructions().to_string(),
            fetched.to_string(),
            format!("{:.3}", fetched as f64 / work.weight_bytes as f64),
        ];
        row.extend(cycles.then(|| whole.m4_cycles().to_string()));
        row
    });
    let (source, rest) = answer.split_once(' ').unwrap_or_default();
    let (target, translation) = rest.split_once(' ').unwrap_or_default();
    format!(
        "\nA whole phrase with recipe `{}`: \"{PHRASE}\" to \"{translation}\", {source} source and {target} target \
         tokens, {} MACs, at least {} bytes of weights:\n\n{}",
        recipe.name(),
        work.macs,
        work.weight_bytes,
        table(&head, rows)
    )
}

/// Writes a board's part of the page; a board that the page does not have comes last.
pub fn write(machine: &Machine, tables: &str) -> Result<()> {
    let path = paths::root().join(PAGE);
    let mut text = fs::read_to_string(&path).with_context(|| format!("cannot read `{PAGE}`"))?;
    let command = format!("cargo xtask bench {}", machine.name);
    if !text.contains(&format!("<!-- generated: {command} -->")) {
        text.push_str(&format!("\n## {}\n\n<!-- generated: {command} -->\n<!-- end -->\n", machine.name));
    }
    fs::write(&path, replace(&text, &command, tables)?).with_context(|| format!("cannot write `{PAGE}`"))?;
    println!("{PAGE}: written");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::counts;

    #[test]
    fn every_class_has_one_column() {
        let mut columns: Vec<_> = CLASSES.iter().flat_map(|(_, classes)| classes.iter().copied()).collect();
        let mut classes = counts::CLASSES;
        columns.sort_unstable();
        classes.sort_unstable();
        assert_eq!(columns, classes);
    }
}
