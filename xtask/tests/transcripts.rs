//! The same transcript from every board: the lines of each `transcripts/*.in` are put to the firmware, and what it answers is
//! that in the `.out` beside it, for each engine. `BLESS=1 cargo test -p xtask --test transcripts` writes the `.out` files from
//! the answers of the first board, which the others must give all the same.

mod common;

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};
use xtask::firmware::{Firmware, Models};
use xtask::machines::{Engine, MACHINES, Machine};
use xtask::qemu::Board;
use xtask::shipped::shipped_blob;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

fn inputs() -> Vec<PathBuf> {
    let mut inputs: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.extension().is_some_and(|extension| extension == "in"));
    inputs.sort();
    assert!(!inputs.is_empty());
    inputs
}

/// The firmware that has the shipped model and the example.
fn firmware(machine: &'static Machine, engine: Engine) -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/example.blob");
    let models = Models::Linked(vec![shipped_blob(engine).unwrap(), example]);
    Firmware::new(machine, None, engine).unwrap().with_models(models).unwrap().build().unwrap()
}

/// Everything that the firmware says when these lines are put to it, each behind the line that it answers.
fn play(machine: &'static Machine, elf: &Path, input: &str) -> String {
    let mut board = Board::boot(machine, elf).unwrap();
    let mut said = format!("{}\n", without_measures(&board.greeting, machine));
    for line in input.lines() {
        said += &format!("> {line}\n");
        let mut answer = board.ask(line).unwrap();
        while let Some(next) = board.more(&answer) {
            said += &format!("{answer}\n");
            answer = next.unwrap();
        }
        said += &format!("{}\n", without_measures(&answer, machine));
    }
    assert!(board.exit().unwrap().success());
    said
}

/// A line without the board's name, and without what boards differ in: instructions and stack.
fn without_measures(line: &str, machine: &Machine) -> String {
    let line = line.replace(machine.name, "BOARD");
    if let Ok(Value::Object(mut fields)) = serde_json::from_str(&line) {
        for key in ["instructions", "stack", "stack_high_water"] {
            if let Some(value) = fields.get_mut(key) {
                assert!(value.as_u64().is_some_and(|value| value > 0), "{line}");
                *value = json!("...");
            }
        }
        // In the order of the line's own.
        return if line.contains("stack_high_water") { Value::Object(fields).to_string() } else { line };
    }
    let Some((before, rest)) = line.split_once(", stack ") else { return line };
    let (_, rest) = rest.split_once(" instructions").unwrap();
    format!("{before}, stack ... instructions{rest}")
}

fn compare(engine: Engine, machines: &mut dyn Iterator<Item = &'static Machine>) {
    let bless = env::var_os("BLESS").is_some();
    let mut differ = Vec::new();
    for (number, machine) in machines.enumerate() {
        if !common::has_qemu(machine) {
            continue;
        }
        let elf = firmware(machine, engine);
        for input in inputs() {
            let found = play(machine, &elf, &fs::read_to_string(&input).unwrap());
            let output = input.with_extension(format!("{}.out", engine.name()));
            if bless && number == 0 {
                fs::write(&output, &found).unwrap();
            }
            let expected = fs::read_to_string(&output).unwrap_or_default();
            if let Some((found, expected)) = found.lines().zip(expected.lines()).find(|(a, b)| a != b) {
                differ.push(format!(
                    "{}, {}:\n  found    {found}\n  expected {expected}",
                    machine.name,
                    output.display()
                ));
            } else if found != expected {
                differ.push(format!("{}, {}: of another length", machine.name, output.display()));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn every_board_answers_the_same_with_int8() {
    compare(Engine::Int8, &mut MACHINES.iter());
}

#[test]
fn every_board_answers_the_same_with_f16() {
    compare(Engine::F16, &mut MACHINES.iter());
}
