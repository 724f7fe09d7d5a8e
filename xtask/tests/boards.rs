//! The firmware on emulated boards: the protocol, measures, errors and ends. That its bits equal the host's is tested
//! elsewhere.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::has_qemu;
use object::{Object, ObjectSegment, ObjectSymbol};
use xtask::elf_check::{self, Finding};
use xtask::firmware::{self, Firmware};
use xtask::machines::{self, Engine, KERNEL_MACHINES, MACHINES, Machine};
use xtask::qemu::{self, Board};
use xtask::shipped::shipped_blob;

/// The firmware of a board with the shipped model, or `None` with a line where QEMU is not to be had.
fn firmware(machine: &'static Machine, engine: Engine) -> Option<PathBuf> {
    has_qemu(machine).then(|| Firmware::new(machine, None, engine).unwrap().build().unwrap())
}

fn boot(machine: &'static Machine, engine: Engine) -> Option<Board> {
    Some(Board::boot(machine, &firmware(machine, engine)?).unwrap())
}

fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn protocol(machine: &'static Machine) {
    let Some(mut board) = boot(machine, Engine::Int8) else { return };
    assert!(board.greeting.contains(machine.name), "{}", board.greeting);
    let plain = board.ask("Where is the train station?").unwrap();
    assert!(!plain.is_empty());
    assert_eq!(board.ask("").unwrap(), "");
    assert_eq!(board.ask(":bogus").unwrap(), "error: unknown command: try :help");
    assert_eq!(board.ask_bytes(b"\xC3(").unwrap(), "error: line is not UTF-8");
    assert!(board.ask_bytes(&[b'x'; 5000]).unwrap().starts_with("error: line longer"));
    assert_eq!(board.ask("Where is the train station?\r").unwrap(), plain, "CR LF is one end");

    board.ask(":json").unwrap();
    let report = json(&board.ask("Where is the train station?").unwrap());
    assert_eq!(report["target"], plain);
    let stats = json(&board.ask(":stats").unwrap());
    let number = |key: &str| stats[key].as_u64().unwrap_or_else(|| panic!("{key} in {stats}"));
    for (used, size) in [("arena_high_water", "arena"), ("stack_high_water", "stack")] {
        assert!((1..=number(size)).contains(&number(used)), "{used} in {stats}");
    }
    assert!(number("stack_high_water") < number("stack") / 2, "{stats}");
    // More than a million for a phrase of a model with as many weights; far from a counter that ran over.
    assert!((1_000_000..10_000_000_000).contains(&number("instructions")), "{stats}");

    // The counter counts instructions and not time: the same phrase costs the same. What is left is the grain of the
    // timers; on a busy host a difference of 11 was seen.
    board.ask("Where is the train station?").unwrap();
    let again = json(&board.ask(":stats").unwrap())["instructions"].as_u64().unwrap();
    assert!(again.abs_diff(number("instructions")) <= 100, "{}: {again} and {}", machine.name, number("instructions"));
    assert!(board.exit().unwrap().success());
}

#[test]
fn every_board_speaks_the_protocol() {
    MACHINES.iter().for_each(protocol);
}

/// A line at boot, a line of what was compared, and a status; the sums themselves are compared on the board.
#[test]
fn a_board_without_room_for_a_model_checks_the_kernels() {
    for machine in KERNEL_MACHINES {
        let elf = firmware::build_kernels(machine, &[]).unwrap();
        if !has_qemu(machine) {
            continue;
        }
        let output = qemu::command(machine, &elf).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}: {text}", output.status);
        let [greeting, result] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert!(greeting.starts_with("latimer ") && greeting.contains(machine.name), "{greeting}");
        let products = result.split_once(" products equal naive sums").unwrap().0;
        // 7 packings of 189 sizes, and pairs of the 63 that are whole tiles.
        assert_eq!(products.parse::<u32>().unwrap(), 1386, "{result}");
        assert!(Firmware::new(machine, None, Engine::Int8).is_err(), "a model does not fit");
    }
}

#[test]
fn a_damaged_model_is_told_at_boot_and_ends_qemu_with_a_failing_status() {
    let mut bytes = fs::read(shipped_blob(Engine::Int8).unwrap()).unwrap();
    // Far behind header and spec, which the firmware's arena is sized by when it is built.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let blob = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged.blob");
    fs::write(&blob, bytes).unwrap();
    for machine in machines::reference() {
        if firmware(machine, Engine::Int8).is_none() {
            continue;
        }
        let elf = Firmware::new(machine, Some(&blob), Engine::Int8).unwrap().build().unwrap();
        let error = Board::boot(machine, &elf).unwrap_err();
        assert!(error.to_string().contains("error: damaged blob"), "{error:#}");
        let output = qemu::command(machine, &elf).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
}

#[test]
fn integer_firmware_has_no_float_code_and_the_check_sees_it_where_it_is() {
    for machine in MACHINES {
        let build = |engine| Firmware::new(machine, None, engine).unwrap().build().unwrap();
        let report = elf_check::check(&build(Engine::Int8)).unwrap();
        assert!(report.findings.is_empty(), "{}: {:?}", machine.name, report.findings);
        // Where there is no MVE, loads and moves of the FPU count too.
        assert_eq!(report.mve, machine.name == "qemu-cortex-m55", "{}", machine.name);
        assert!(report.functions > 50 && report.instructions > 5000, "{report:?}");
        if !machine.reference {
            continue;
        }

        let findings = elf_check::check(&build(Engine::F16)).unwrap().findings;
        let routines = findings.iter().filter(|finding| matches!(finding, Finding::Routine { .. })).count();
        let instructions = findings.len() - routines;
        if machine.target.ends_with("eabihf") {
            assert!(instructions > 100, "the f16 engine runs on the FPU: {findings:?}");
        } else {
            assert!(routines >= 3, "the f16 engine runs on soft float: {findings:?}");
        }
        assert!(elf_check::run(&[build(Engine::F16)]).is_err());
    }
}

/// The firmware with an instruction that no core knows at the start of a function.
fn broken(elf: &Path, function: &str) -> PathBuf {
    let mut bytes = fs::read(elf).unwrap();
    let at = {
        let file = object::File::parse(&*bytes).unwrap();
        let symbol = file.symbols().find(|symbol| symbol.name().is_ok_and(|name| name.contains(function))).unwrap();
        let address = symbol.address() & !1;
        let mut segments = file.segments();
        let segment = segments.find(|s| (s.address()..s.address() + s.size()).contains(&address)).unwrap();
        (segment.file_range().0 + address - segment.address()) as usize
    };
    // `udf` in Thumb, and the all-zero instruction, which RISC-V keeps illegal.
    let illegal = if elf.to_string_lossy().contains("riscv") { [0; 2] } else { 0xDE00_u16.to_le_bytes() };
    bytes[at..at + 2].copy_from_slice(&illegal);
    let broken = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.elf");
    fs::write(&broken, bytes).unwrap();
    broken
}

#[test]
fn a_fault_is_reported_and_ends_the_program() {
    for machine in MACHINES {
        let Some(elf) = firmware(machine, Engine::Int8) else { continue };
        let mut board = Board::boot(machine, &broken(&elf, "5serve4test")).unwrap();
        assert!(board.ask(":info").unwrap().starts_with("latimer "));
        // An empty line ends whatever was being written.
        assert_eq!(board.ask(":selftest").unwrap(), "");
        let words = board.read().unwrap();
        let kind = if machine.target.starts_with("riscv") { "fatal: trap 2 at 0x" } else { "fatal: hard fault at 0x" };
        assert!(words.starts_with(kind), "{}: {words}", machine.name);
        assert_eq!(board.wait().unwrap().code(), Some(101), "{}", machine.name);
    }
}
