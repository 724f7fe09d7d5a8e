//! The same transcript from every board: the lines of each `transcripts/*.in` are put to the firmware, and what it answers is
//! that in the `.out` beside it, for each engine. `BLESS=1 cargo test -p xtask --test transcripts` writes the `.out` files from
//! the answers of the first board, which the others must give all the same.

mod common;

use std::mem::take;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};
use xtask::firmware::{Firmware, Models};
use xtask::machines::{self, Engine, MACHINES, Machine};
use xtask::qemu::{self, Board};
use xtask::setup;
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

/// The firmware that has the shipped model and, where its engine can run it, the example.
fn firmware(machine: &'static Machine, engine: Engine) -> PathBuf {
    let firmware = Firmware::new(machine, None, engine).unwrap();
    if engine == Engine::F16 {
        return firmware.build().unwrap();
    }
    firmware.with_models(two_models()).unwrap().build().unwrap()
}

fn two_models() -> Models {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/example.blob");
    Models::Linked(vec![shipped_blob(Engine::Int8).unwrap(), example])
}

/// A board that boots.
struct Booting {
    machine: &'static Machine,
    qemu: Command,
}

impl Booting {
    fn of(machine: &'static Machine, elf: &Path) -> Self {
        setup::qemu(machine).unwrap();
        Booting { machine, qemu: qemu::command(machine, elf) }
    }
}

/// Everything that the firmware says when these lines are put to it, each behind the line that it answers.
fn play(Booting { machine, qemu }: &mut Booting, input: &str) -> String {
    let mut board = Board::start(qemu).unwrap();
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

/// Plays every transcript to each of `machines`, booted by `boot`; the first one's may be kept.
fn compare(
    engine: Engine,
    machines: impl Iterator<Item = &'static Machine>,
    keep: bool,
    boot: impl Fn(&'static Machine) -> Booting,
) {
    let mut keep = keep && env::var_os("BLESS").is_some();
    let mut differ = Vec::new();
    for machine in machines {
        if !common::has_qemu(machine) {
            continue;
        }
        let mut booting = boot(machine);
        let keep = take(&mut keep);
        for input in inputs() {
            let found = play(&mut booting, &fs::read_to_string(&input).unwrap());
            let output = input.with_extension(format!("{}.out", engine.name()));
            if keep {
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
    compare(Engine::Int8, MACHINES.iter(), true, |machine| Booting::of(machine, &firmware(machine, Engine::Int8)));
}

#[test]
fn every_board_answers_the_same_with_f16() {
    compare(Engine::F16, MACHINES.iter(), true, |machine| Booting::of(machine, &firmware(machine, Engine::F16)));
}

/// An arena on the heap, allocated for each model, makes no difference.
#[test]
fn boards_with_sessions_on_a_heap_answer_the_same() {
    compare(Engine::Int8, machines::reference(), false, |machine| {
        let heap = Firmware { extra: &["alloc"], ..Firmware::new(machine, None, Engine::Int8).unwrap() };
        Booting::of(machine, &heap.with_models(two_models()).unwrap().build().unwrap())
    });
}

/// Nor do models that were not linked, but lie in flash beside the firmware: in its own flash, or in another.
#[test]
fn boards_with_models_flashed_apart_answer_the_same() {
    let Models::Linked(blobs) = two_models() else { unreachable!() };
    let mut flash = Vec::new();
    for blob in blobs {
        // Where an eraser stopped, for a gap.
        flash.resize(flash.len().next_multiple_of(4096), 0xFF);
        flash.extend(fs::read(blob).unwrap());
    }
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models.bin");
    fs::write(&image, flash).unwrap();
    let machines = machines::reference().chain(MACHINES.iter().filter(|machine| machine.name == "qemu-cortex-m55"));
    compare(Engine::Int8, machines, false, |machine| {
        let apart = Models::Apart { arena: common::arena_len(&shipped_blob(Engine::Int8).unwrap()) };
        let elf = Firmware::new(machine, None, Engine::Int8).unwrap().with_models(apart).unwrap().build().unwrap();
        let mut booting = Booting::of(machine, &elf);
        qemu::with_model(&mut booting.qemu, &elf, &image).unwrap();
        booting
    });
}
