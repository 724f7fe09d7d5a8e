//! The same bits everywhere: the JSON lines of host and boards are equal byte for byte, ids and checksum of all logits
//! among them.
//!
//! Reference boards answer a sample of phrases, the others, which run the same code or nearly so, a few of it.
//! `LATIMER_PHRASES=N` takes N phrases more than the built-in ones, on every board.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use app::latimer::EngineKind;
use common::host;
use model_gen::cost::STACK_BOUND;
use model_gen::pack::{Options, pack};
use model_gen::testing::{RandomSpec, write_random_checkpoint};
use xtask::firmware::Firmware;
use xtask::machines::{self, Engine, MACHINES};
use xtask::paths;
use xtask::qemu::Board;
use xtask::shipped::shipped_blob;

/// Phrases that every checkout has: common ones, and such as need care.
const PHRASES: &[&str] = &[
    "Good morning.",
    "Where is the train station?",
    "I would like a cup of coffee, please.",
    "How much does this cost?",
    "She said: \"Don't \\ worry\"!",
    "   \u{3000}wide　ｓｐａｃｅ \t and ﬁne ligatures ½ ",
    "Ünïcödé, Ελληνικά, 日本語, 🙂",
    "\u{1}\u{7f}",
    "1234567890",
    "THE TRAIN LEAVES AT 10:30. Call 555-1234 or write to tom@example.com! 😀",
];

/// Phrases for boards that are no reference: with f16 some have no FPU and take seconds a phrase.
const fn few(engine: Engine) -> usize {
    match engine {
        Engine::Int8 => PHRASES.len(),
        Engine::F16 => 2,
    }
}

/// The built-in phrases, then others from the shared test set, spread over all of it.
fn phrases(others: usize) -> Vec<String> {
    let mut phrases: Vec<String> = PHRASES.iter().map(|&phrase| phrase.to_owned()).collect();
    let file = paths::root().join("../shared/data/en-es/test.tsv");
    match fs::read_to_string(&file) {
        Ok(text) => {
            let mut sources: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
            sources.dedup();
            let stride = (sources.len() / others.max(1)).max(1);
            phrases.extend(sources.iter().step_by(stride).take(others).map(|&source| source.to_owned()));
        }
        Err(_) => println!("skipped: the test set is not here, {} phrases without it", phrases.len()),
    }
    phrases
}

/// Compares host and boards on one blob.
fn compare(engine: Engine, blob: &Path, phrases: &[String]) {
    let expected = host(blob, phrases, 1);
    for machine in MACHINES {
        if Command::new(machine.qemu).arg("--version").output().is_err() {
            println!("skipped: no {} on this machine; `cargo xtask ci` installs it where it can", machine.qemu);
            continue;
        }
        let elf = Firmware::new(machine, Some(blob), engine).unwrap().build().unwrap();
        let mut board = Board::boot(machine, &elf).unwrap();
        board.ask(":json").unwrap();
        let count = if machine.reference || everywhere() { phrases.len() } else { few(engine) };
        for (phrase, expected) in phrases.iter().zip(&expected).take(count) {
            assert_eq!(&board.ask(phrase).unwrap(), expected, "{} on {}", engine.name(), machine.name);
        }
        let passed = board.ask(":selftest").unwrap();
        assert!(passed.starts_with(r#"{"selftest":"#), "{passed}");
        let stats: serde_json::Value = serde_json::from_str(&board.ask(":stats").unwrap()).unwrap();
        let stack = stats["stack_high_water"].as_u64().unwrap() as usize;
        assert!(stack <= STACK_BOUND, "{}: {stack} bytes of stack, more than model-gen inspect promises", machine.name);
        println!("{count} phrases with equal bits: {} on {}", engine.name(), machine.name);
    }
}

/// A beam search's ids and logits on the reference boards: greedy first, then four hypotheses.
fn compare_beams(engine: Engine, phrases: &[String]) {
    let blob = &shipped_blob(engine).unwrap();
    for machine in machines::reference() {
        if Command::new(machine.qemu).arg("--version").output().is_err() {
            println!("skipped: no {} on this machine; `cargo xtask ci` installs it where it can", machine.qemu);
            continue;
        }
        let firmware = Firmware { extra: &["beam"], ..Firmware::new(machine, Some(blob), engine).unwrap() };
        let mut board = Board::boot(machine, &firmware.build().unwrap()).unwrap();
        board.ask(":json").unwrap();
        for beams in [1, 4] {
            assert_eq!(board.ask(&format!(":beam {beams}")).unwrap(), r#"{"note":"beam set"}"#);
            for (phrase, expected) in phrases.iter().zip(host(blob, phrases, beams)) {
                assert_eq!(
                    board.ask(phrase).unwrap(),
                    expected,
                    "{beams} beams, {} on {}",
                    engine.name(),
                    machine.name
                );
            }
        }
        // Weights are read once for all hypotheses: four cost less than four times as much.
        let instructions = [1, 4].map(|beams| {
            board.ask(&format!(":beam {beams}")).unwrap();
            board.ask("There's an orange on the table.").unwrap();
            let stats: serde_json::Value = serde_json::from_str(&board.ask(":stats").unwrap()).unwrap();
            stats["instructions"].as_f64().unwrap()
        });
        let ratio = instructions[1] / instructions[0];
        println!("{} on {}: four hypotheses take {ratio:.2} times one's instructions", engine.name(), machine.name);
        assert!(ratio < 3.5, "{} on {}: {ratio}", engine.name(), machine.name);
        let refused = board.ask(":beam 5").unwrap();
        assert!(refused.contains("room for 4 at a time"), "{refused}");
        let stats: serde_json::Value = serde_json::from_str(&board.ask(":stats").unwrap()).unwrap();
        println!("{} phrases by beams with equal bits on {}: {stats}", phrases.len(), machine.name);
    }
}

#[test]
fn beam_search_is_equal_on_host_and_boards() {
    compare_beams(Engine::Int8, &phrases(count(6)));
    // Slow where floats are software.
    compare_beams(Engine::F16, &phrases(0)[..2]);
}

/// Whether every board gets every phrase.
fn everywhere() -> bool {
    std::env::var_os("LATIMER_PHRASES").is_some()
}

fn count(sample: usize) -> usize {
    std::env::var("LATIMER_PHRASES").map_or(sample, |number| number.parse().expect("LATIMER_PHRASES is a number"))
}

#[test]
fn int8_is_equal_on_host_and_boards() {
    compare(Engine::Int8, &shipped_blob(Engine::Int8).unwrap(), &phrases(count(16)));
}

#[test]
fn f16_is_equal_on_host_and_boards() {
    compare(Engine::F16, &shipped_blob(Engine::F16).unwrap(), &phrases(count(4)));
}

/// No size of this model is a multiple of anything a kernel likes.
#[test]
fn sizes_that_divide_nothing_are_equal_too() {
    let spec = RandomSpec {
        d_model: 36,
        heads: 3,
        ffn: 50,
        vocab: 77,
        encoder_layers: 2,
        decoder_layers: 3,
        activation: "swish",
        seed: 1,
        ..RandomSpec::default()
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let checkpoint = folder.join("random");
    fs::create_dir_all(&checkpoint).unwrap();
    write_random_checkpoint(&checkpoint, &spec).unwrap();
    for (engine, kind) in [(Engine::Int8, EngineKind::Int8), (Engine::F16, EngineKind::F16)] {
        let blob = folder.join(format!("random-{}.blob", engine.name()));
        fs::write(&blob, pack(&checkpoint, &Options::new(kind)).unwrap().bytes).unwrap();
        compare(engine, &blob, &phrases(4));
    }
}
