//! `model-gen device` with the firmware on the host and in QEMU, sound and damaged.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod emulated;
mod wire;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::LazyLock;

use app::latimer::blob::layout::Role;
use clap::Parser;
use model_gen::cli::device;
use xtask::machines::Engine;
use xtask::shipped::shipped_blob;

/// A phrase of the golden vectors, and such as need what is done around the model.
const PAIRS: &str = "Where is the train station, please?\t-\nI am hungry.\t-\nHELLO! I have 3 dogs and 12 cats. Call 555-1234.\t-\n\
                     Good morning.\t-\nI don't understand \"that\" \\ at all 😀\t-\n::)\t-\n";

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: device::Args,
}

/// The shipped blob's path, and its bytes.
static SHIPPED: LazyLock<(PathBuf, Vec<u8>)> = LazyLock::new(|| {
    let path = shipped_blob(Engine::Int8).unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
});

/// Runs `model-gen device` on a port: whether all went well, and what it printed; or the words of its error.
fn cli(port: &str, args: &[&str], input: &str) -> Result<(bool, String), String> {
    let words = [&["device", "--port", port], args].concat();
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let well = device::run(&cli.args, input.as_bytes(), &mut out).map_err(|error| format!("{error:#}"))?;
    Ok((well, String::from_utf8(out).unwrap()))
}

/// Verifies a port against the shipped blob.
fn verify(port: &str, more: &[&str]) -> Result<(bool, String), String> {
    let mut pairs = tempfile::NamedTempFile::new().unwrap();
    pairs.write_all(PAIRS.as_bytes()).unwrap();
    let (blob, pairs) = (SHIPPED.0.to_str().unwrap(), pairs.path().to_str().unwrap());
    cli(port, &[&["verify", "--blob", blob, "--pairs", pairs], more].concat(), "")
}

/// Asserts that self-test and comparison find a fault at that place.
fn found(port: &str, place: &str) {
    let error = cli(port, &["selftest"], "").unwrap_err();
    println!("{error}");
    let (words, crcs) = error.split_once("differ").unwrap();
    assert!(words.starts_with("self-test failed: ") && words.contains("vector "), "{error}");
    assert!(words.trim_end().ends_with(place) || place == "tokenizer" && words.contains("source ids"), "{error}");
    assert!(place == "tokenizer" || crcs.contains(", expected "), "{error}");
    let (well, out) = verify(port, &[]).unwrap();
    println!("{out}");
    assert!(!well);
    // The vectors' phrase: others may not meet the fault.
    let line = out.lines().find(|line| line.starts_with("\"Where is the train station, please?\": ")).unwrap();
    let (_, what) = line.split_once(": ").unwrap();
    assert!(what.starts_with(place) && what.contains("differ") && what.contains("device "), "{line}");
    assert!(out.ends_with(" of 6 phrases equal\n"), "{out}");
}

#[test]
fn a_board_translates_tells_and_is_verified() {
    let port = wire::on_tcp(vec![SHIPPED.1.clone()]);
    assert_eq!(cli(&port, &["translate", "I am hungry.", ""], "").unwrap(), (true, "Tengo hambre.\n\n".into()));
    let (well, json) = cli(&port, &["translate", "--json"], "I am hungry.\r\n::)\n").unwrap();
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(well && lines[0]["target"] == "Tengo hambre." && lines[1]["source"] == "::)", "{json}");
    let (_, blank) = cli(&port, &["translate", "--json", ""], "").unwrap();
    assert_eq!(
        blank.trim_end(),
        common::host(&SHIPPED.0, &[String::new()], 1)[0],
        "a line end alone is not run, but answered alike"
    );
    let (well, out) = cli(&port, &["translate"], &format!("{}\nGood morning.\n", "x".repeat(2000))).unwrap();
    assert!(!well && out.starts_with('\n') && out.lines().count() == 2, "a line for each: {out}");
    let (_, info) = cli(&port, &["info"], "").unwrap();
    assert!(info.contains("board                    mock\n") && info.contains("blob_crc"), "{info}");
    let (_, stats) = cli(&port, &["stats", "--json"], "").unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&stats).unwrap()["stack"] == 4096, "{stats}");
    assert_eq!(cli(&port, &["selftest"], "").unwrap(), (true, "self-test passed: 2 vectors\n".into()));
    assert_eq!(verify(&port, &[]).unwrap(), (true, "6 of 6 phrases equal\n".into()));
    assert_eq!(verify(&port, &["--phrases", "2"]).unwrap(), (true, "2 of 2 phrases equal\n".into()));
}

#[test]
fn a_board_is_found_in_any_state_and_left_in_its_mode() {
    let port = wire::on_tcp(vec![SHIPPED.1.clone()]);
    // Leaves lines and half of one to the firmware, and reads no answer.
    let leave = |bytes: &str| {
        let mut stream = std::net::TcpStream::connect(port.strip_prefix("tcp:").unwrap()).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answers = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answers).unwrap();
        answers
    };
    let hungry = || cli(&port, &["translate", "I am hungry."], "").unwrap().1;
    for before in ["Where is", ":stream\n:inf", ":raw\n:json\r", ":text\r\n:beam 1\n:je"] {
        leave(before);
        assert_eq!(hungry(), "Tengo hambre.\n", "{before}");
    }
    assert_eq!(leave("I am hungry.\n"), "Tengo hambre.\r\n", "in text, as it was");
    leave(":max 3\n:raw\n");
    assert_eq!(verify(&port, &[]).unwrap(), (true, "6 of 6 phrases equal\n".into()), "as when it started");
    leave(":json\n");
    assert_eq!(hungry(), "Tengo hambre.\n");
    assert!(leave("I am hungry.\n").contains("\"source\""), "still in JSON");
}

#[cfg(unix)]
#[test]
fn a_serial_port_does_as_well() {
    let port = wire::on_serial(vec![SHIPPED.1.clone()]).unwrap();
    for _ in 0..2 {
        assert_eq!(cli(&port, &["translate", "I am hungry."], "").unwrap(), (true, "Tengo hambre.\n".into()));
    }
    assert_eq!(verify(&port, &["--baud", "9600"]).unwrap(), (true, "6 of 6 phrases equal\n".into()));
}

#[test]
fn a_model_is_found_among_several_and_another_is_told() {
    let (blob, other) = (SHIPPED.1.clone(), damage::repaired(&SHIPPED.1, Role::Fc1, 1));
    assert_eq!(other.len(), blob.len());
    let port = wire::on_tcp(vec![other.clone(), blob]);
    assert_eq!(verify(&port, &[]).unwrap(), (true, "6 of 6 phrases equal\n".into()));
    let (_, info) = cli(&port, &["info", "--json"], "").unwrap();
    assert!(info.contains("\"number\":1"), "{info}");

    let port = wire::on_tcp(vec![other]);
    let error = verify(&port, &[]).unwrap_err();
    assert!(error.starts_with("mock has en-es-nano, ") && error.contains("flash it"), "{error}");
    let (well, out) = verify(&port, &["--any-model"]).unwrap();
    assert!(!well && out.contains("encoder layer 2 differs: device "), "{out}");
}

#[test]
fn damage_that_checksums_miss_is_named_by_layer() {
    let blob = &SHIPPED.1;
    for (damaged, place) in [
        (damage::weights(blob, Role::Embedding, u16::MAX), "encoder embedding"),
        (damage::weights(blob, Role::Fc2, 0), "encoder layer 1"),
        (damage::weights(blob, Role::SelfV, 2), "encoder layer 3"),
        (damage::weights(blob, Role::CrossOut, 3), "decoder layer 1"),
        (damage::tokenizer(blob, "Where is the train station, please?"), "tokenizer"),
    ] {
        assert_ne!(&damaged, blob);
        found(&wire::on_tcp(vec![damaged]), place);
    }
}

#[test]
fn what_is_not_there_is_told_with_a_remedy() {
    let error = cli("/no/such/port", &["info"], "").unwrap_err();
    assert!(error.starts_with("/no/such/port: ") && error.contains("device ports"), "{error}");
    let error = cli("tcp:127.0.0.1:1", &["info"], "").unwrap_err();
    assert!(error.starts_with("tcp:127.0.0.1:1: ") && error.contains("start what listens"), "{error}");
    let port = wire::on_tcp(vec![b"no blob".to_vec()]);
    let error = cli(&port, &["--timeout", "1", "info"], "").unwrap_err();
    assert!(error.starts_with(&port), "{error}");
}
