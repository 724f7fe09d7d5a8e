//! Hard inputs, those of model-gen's table, on the reference boards: the host's JSON lines byte for byte.
//!
//! A board gets a few of each kind; all of them where `LATIMER_PHRASES` is set.

mod common;
#[allow(dead_code, reason = "boards have nothing to check but bits")]
#[path = "../../model-gen/tests/hard/rows.rs"]
mod rows;

use std::process::Command;

use common::host;
use model_gen::cost::STACK_BOUND;
use xtask::firmware::Firmware;
use xtask::machines::{self, Engine};
use xtask::qemu::Board;
use xtask::shipped::shipped_blob;

/// Of each kind.
const FEW: usize = 2;
/// Bytes of phrases that take a board less than seconds.
const SHORT: usize = 120;

/// The inputs that are one line.
fn lines() -> Vec<String> {
    let all = std::env::var_os("LATIMER_PHRASES").is_some();
    let mut taken: Vec<(String, usize)> = Vec::new();
    let mut lines = Vec::new();
    for row in rows::rows() {
        let Some(line) = row.line() else { continue };
        let kind = row.id.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let number = match taken.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, number)) => number,
            None => {
                taken.push((kind, 0));
                &mut taken.last_mut().unwrap().1
            }
        };
        *number += 1;
        if all || (*number <= FEW && line.len() <= SHORT) {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn hard_inputs_are_equal_on_host_and_boards() {
    let lines = lines();
    assert!(lines.len() >= 30, "{} lines", lines.len());
    let blob = shipped_blob(Engine::Int8).unwrap();
    let expected = host(&blob, &lines, 1);
    for machine in machines::reference() {
        if Command::new(machine.qemu).arg("--version").output().is_err() {
            println!("skipped: no {} on this machine; `cargo xtask ci` installs it where it can", machine.qemu);
            continue;
        }
        let elf = Firmware::new(machine, Some(&blob), Engine::Int8).unwrap().build().unwrap();
        let mut board = Board::boot(machine, &elf).unwrap();
        board.ask(":json").unwrap();
        for (line, expected) in lines.iter().zip(&expected) {
            assert_eq!(&board.ask(line).unwrap(), expected, "{}", machine.name);
        }
        let stats: serde_json::Value = serde_json::from_str(&board.ask(":stats").unwrap()).unwrap();
        let stack = stats["stack_high_water"].as_u64().unwrap() as usize;
        assert!(stack <= STACK_BOUND, "{}: {stack} bytes of stack, more than model-gen inspect promises", machine.name);
        println!("{} hard inputs with equal bits on {}, {stack} bytes of stack", lines.len(), machine.name);
    }
}
