//! The program as its users meet it: what it prints, what it leaves behind, and how it fails.

#[path = "../common/mod.rs"]
mod common;
mod glossary;
mod language;
mod pack;
mod shortlist;

use common::{random_checkpoint, shared};
use latimer::{Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::import::spm::SpmModel;
use model_gen::testing::RandomSpec;
use prost::Message;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FILES: [&str; 5] = ["config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_model-gen"));
    command.args(args);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn str(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A checkpoint, and a folder for what is packed from it.
struct Lab {
    checkpoint: TempDir,
    out: TempDir,
}

impl Lab {
    fn new() -> Self {
        Lab { checkpoint: random_checkpoint(&RandomSpec::default()), out: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.checkpoint.path().join(name)
    }

    fn blob(&self) -> PathBuf {
        self.out.path().join("model.blob")
    }

    fn pack(&self, more: &[&str]) -> Output {
        let (dir, out) = (self.checkpoint.path(), self.blob());
        command(&[&["pack", "--checkpoint", str(dir), "--out", str(&out)], more].concat()).output().unwrap()
    }

    fn packed() -> Self {
        let lab = Self::new();
        let output = lab.pack(&[]);
        assert!(output.status.success(), "{output:?}");
        lab
    }

    fn left_behind(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.out.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Packing must fail, name each of `words`, leave nothing new and leave an older blob as it was.
    fn must_fail(&self, words: &[&str]) -> String {
        assert!(self.left_behind().is_empty());
        let output = self.pack(&[]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
        assert!(!message.contains("panicked"), "{message}");
        assert!(output.stdout.is_empty());
        assert!(self.left_behind().is_empty(), "{:?}", self.left_behind());
        std::fs::write(self.blob(), b"older").unwrap();
        assert_eq!(self.pack(&[]).status.code(), Some(1));
        assert_eq!(std::fs::read(self.blob()).unwrap(), b"older");
        assert_eq!(self.left_behind(), ["model.blob"]);
        std::fs::remove_file(self.blob()).unwrap();
        message
    }

    fn spawn(&self, more: &[&str]) -> Child {
        let blob = self.blob();
        let mut command = command(&[&["translate", "--blob", str(&blob)], more].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn translate(&self, more: &[&str], input: &[u8]) -> Output {
        let mut child = self.spawn(more);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A program that stops reading early is the test's business, not the writer's.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    fn lines(&self, more: &[&str], input: &str) -> Vec<String> {
        let output = self.translate(more, input.as_bytes());
        assert!(output.status.success(), "{output:?}");
        let out = text(&output.stdout);
        assert!(out.is_empty() || out.ends_with('\n'));
        out.lines().map(str::to_owned).collect()
    }
}

#[test]
fn translate_keeps_order_and_empty_lines() {
    let lab = Lab::packed();
    let phrases: Vec<String> =
        (0..700).map(|i| if i % 7 == 3 { String::new() } else { format!("the cat {i} ate it") }).collect();
    let together = lab.lines(&[], &(phrases.join("\n") + "\n"));
    assert_eq!(together.len(), phrases.len());
    for (phrase, translation) in phrases.iter().zip(&together) {
        assert_eq!(phrase.is_empty(), translation.is_empty(), "{phrase}: {translation}");
    }
    for i in [0, 1, 299, 699] {
        assert_eq!(lab.lines(&[], &phrases[i]), together[i..=i]);
        assert_eq!(lab.lines(&["--", &phrases[i]], ""), together[i..=i], "as an argument");
    }
    assert!(lab.lines(&[], "").is_empty());
    assert_eq!(lab.lines(&[], "\n"), [""]);
    assert_eq!(lab.lines(&["--json"], "\n\n").len(), 2);
}

#[test]
fn translate_takes_any_line_end() {
    let lab = Lab::packed();
    let wanted = lab.lines(&["--json"], "the cat\n\na dog\n");
    assert_eq!(wanted.len(), 3);
    for input in ["the cat\r\n\r\na dog\r\n", "the cat\n\na dog", "the cat\r\n\na dog\r\n"] {
        assert_eq!(lab.lines(&["--json"], input), wanted, "{input:?}");
    }
}

#[test]
fn translate_json_has_the_fields_in_order() {
    let lab = Lab::packed();
    let source = "the \"cat\" \\ ñ\t1";
    for line in lab.lines(&["--json"], &format!("{source}\n\n")) {
        let value: Value = serde_json::from_str(&line).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        let others = ["logits_crc", "alignment_crc", "parts", "confidence", "warnings"];
        assert_eq!(keys, [&["source", "source_ids", "target_ids", "target"][..], &others].concat());
        let order: Vec<usize> = keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(order.is_sorted(), "{line}");
        let empty = value["source"] == "";
        assert!(empty || value["source"] == source, "{line}");
        for ids in ["source_ids", "target_ids"] {
            let ids = value[ids].as_array().unwrap();
            assert_eq!(ids.is_empty(), empty);
            assert!(ids.iter().all(Value::is_u64));
        }
        assert!(value["logits_crc"].is_u64() && value["alignment_crc"].is_u64() && value["target"].is_string());
        assert!(value["confidence"].is_null(), "this blob was not calibrated");
        assert_eq!(value["parts"].as_u64() > Some(0), !empty, "{line}");
        assert!(value["warnings"].as_array().unwrap().iter().all(Value::is_string), "{line}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_panic() {
    let lab = Lab::packed();
    let blob = lab.blob();
    for args in [vec!["inspect", "--blob", str(&blob)], vec!["inspect", "--json", "--blob", str(&blob)]] {
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && message.is_empty(), "{args:?}: {message}");
    }
}

#[test]
fn translate_stops_at_max_tokens() {
    let lab = Lab::packed();
    let input = "the cat\na dog ran\nhello\nwhere is it?\na\nno\n1 2 3\n";
    let run = |more: &[&str]| -> Vec<Value> {
        // The model alone: a guard has a limit of its own.
        let lines = lab.lines(&[&["--json", "--without", "guards"], more].concat(), input);
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let whole = run(&[]);
    let mut cut_short = 0;
    for (count, name) in [(1, "1"), (3, "3")] {
        for (whole, cut) in whole.iter().zip(run(&["--max-tokens", name])) {
            let (whole, ids) = (whole["target_ids"].as_array().unwrap(), cut["target_ids"].as_array().unwrap());
            assert_eq!(ids[..], whole[..whole.len().min(count)]);
            // The end of sentence, id 0, counts as a token.
            let ended = whole.len() <= count && whole.last().is_none_or(|last| last == 0);
            let warned = cut["warnings"].as_array().unwrap().iter().any(|word| word == "length");
            assert!(warned != ended || whole.is_empty(), "{cut}");
            cut_short += usize::from(!ended);
        }
    }
    assert!(cut_short > 4, "only {cut_short} phrases were cut short");
}

#[test]
fn translate_answers_the_others_where_a_phrase_is_too_long() {
    let lab = Lab::packed();
    let long = "z ".repeat(100);
    let longer = "z".repeat(10_000);
    let input = format!("the cat\n{long}\na dog\n{longer}\nthe end\n");
    for json in [false, true] {
        let more: &[&str] = if json { &["--raw", "--json"] } else { &["--raw"] };
        let output = lab.translate(more, input.as_bytes());
        assert_eq!(output.status.code(), Some(1));
        let (out, errors) = (text(&output.stdout), text(&output.stderr));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5, "{out}");
        for (i, phrase) in [(0, "the cat"), (2, "a dog"), (4, "the end")] {
            assert_eq!([lines[i].to_owned()][..], lab.lines(more, phrase), "{phrase}");
        }
        for (i, unit) in [(1, "tokens"), (3, "bytes")] {
            let message = if json {
                let value: Value = serde_json::from_str(lines[i]).unwrap();
                value["error"].as_str().unwrap().to_owned()
            } else {
                assert_eq!(lines[i], "");
                errors.clone()
            };
            assert!(message.contains(unit) && message.contains("shorten or split"), "{message}");
            assert!(errors.contains(&format!("phrase {}", i + 1)), "{errors}");
        }
        assert!(errors.contains("2 of 5"), "{errors}");
    }
}

/// Text is not given to the model alone: it is split, and that is said.
#[test]
fn translate_splits_what_is_too_long() {
    let lab = Lab::packed();
    let output = lab.translate(&["--json"], format!("{}\nthe cat\n", "the cat, ".repeat(200)).as_bytes());
    assert!(output.status.success(), "{output:?}");
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["parts"].as_u64() > Some(5) && lines[0]["warnings"][0] == "length", "{}", lines[0]);
    assert!(lines[0]["warnings"].as_array().unwrap().iter().any(|word| word == "split"), "{}", lines[0]);
    assert_eq!(lines[1]["parts"], 1);
    let output = lab.translate(&[], format!("{}\n", "the cat, ".repeat(200)).as_bytes());
    assert!(text(&output.stderr).starts_with("warning: phrase 1: "), "{output:?}");
}

#[test]
fn translate_takes_bytes_that_are_no_text() {
    let lab = Lab::packed();
    let output = lab.translate(&["--json"], b"the \xff\xfe cat\n\x00\x01\x1b[0m\n\xe6\x97\n");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout).lines().count(), 3);
    assert!(text(&output.stdout).lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

/// Waits, but not forever.
fn wait(child: &mut Child) -> std::process::ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the program does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn translate_ends_when_its_reader_has_gone() {
    let lab = Lab::packed();
    let mut child = lab.spawn(&[]);
    let mut stdin = child.stdin.take().unwrap();
    // Input without end: only the broken pipe can stop the program.
    let writer = std::thread::spawn(move || while stdin.write_all(b"the cat\n").is_ok() {});
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    wait(&mut child);
    writer.join().unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(errors.lines().all(|line| line.starts_with("warning: phrase ")), "{errors:.400}");
}

/// A program that asks and waits gets its answer before it asks again.
#[test]
fn translate_answers_line_by_line() {
    let lab = Lab::packed();
    let wanted = lab.lines(&[], "the cat\na dog ran\n");
    let mut child = lab.spawn(&[]);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let (send, answers) = std::sync::mpsc::channel();
    std::thread::spawn(move || stdout.lines().try_for_each(|line| send.send(line.unwrap())));
    for (phrase, wanted) in ["the cat\n", "a dog ran\n"].iter().zip(&wanted) {
        stdin.write_all(phrase.as_bytes()).unwrap();
        let answer = answers.recv_timeout(Duration::from_secs(60));
        if answer.is_err() {
            child.kill().unwrap();
        }
        assert_eq!(&answer.unwrap(), wanted);
    }
    drop(stdin);
    assert!(wait(&mut child).success());
}

#[test]
fn translate_and_inspect_say_what_is_wrong_with_a_blob() {
    let lab = Lab::packed();
    let whole = std::fs::read(lab.blob()).unwrap();
    let path = lab.out.path().join("damaged.blob");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let mut newer = whole.clone();
    newer[8] = 2;
    let cases: [(&[u8], &str); 5] = [
        (&whole[..whole.len() - 1], "cut short"),
        (&[], "cut short"),
        (&flipped, "checksum"),
        (&newer, "version 2"),
        (&[b'x'; 100], "not a latimer blob"),
    ];
    for (bytes, word) in cases {
        std::fs::write(&path, bytes).unwrap();
        for subcommand in ["translate", "inspect"] {
            let mut command = command(&[subcommand, "--blob", str(&path)]);
            let output = command.stdin(Stdio::null()).output().unwrap();
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{message}");
            assert!(message.contains(word) && message.contains("damaged.blob"), "{message}");
            assert!(output.stdout.is_empty());
        }
    }
    let output = command(&["inspect", "--blob", str(&lab.file("nowhere.blob"))]).output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("nowhere.blob") && message.contains("model-gen pack"), "{message}");
}

#[test]
fn limits_beyond_the_model_are_refused() {
    let lab = Lab::packed();
    let blob = lab.blob();
    for more in [["--source-tokens", "65"], ["--target-tokens", "0"], ["--source-tokens", "0"], ["--text-bytes", "0"]] {
        for subcommand in ["translate", "inspect"] {
            let output =
                command(&[&[subcommand, "--blob", str(&blob)][..], &more[..]].concat()).stdin(Stdio::null()).output();
            let output = output.unwrap();
            assert_eq!(output.status.code(), Some(1), "{subcommand} {more:?}");
            assert!(text(&output.stderr).contains("limits"), "{}", text(&output.stderr));
        }
    }
}

fn check_inspect(blob: &Path) {
    let bytes = AlignedBytes::read(blob).unwrap();
    let model = Model::from_bytes(&bytes).unwrap();
    let output = command(&["inspect", "--json", "--blob", str(blob)]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64).unwrap() as usize;
    let plan = model.arena_plan(Limits::DEFAULT).unwrap();
    assert_eq!(number("/arena/total_bytes"), model.arena_len(Limits::DEFAULT).unwrap());
    assert_eq!(number("/arena/total_bytes"), plan.total());
    assert_eq!(number("/arena/encode_work"), plan.encode_work);
    assert_eq!(number("/flash/total_bytes"), bytes.len());
    assert_eq!(number("/blob/bytes"), bytes.len());
    let sections: usize =
        value["flash"]["sections"].as_object().unwrap().values().map(|len| len.as_u64().unwrap() as usize).sum();
    assert!(sections < bytes.len() && sections + 1024 > bytes.len());
    let tensors = value["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), model.blob().tensors().count());
    let weights: usize = tensors.iter().map(|t| t["bytes"].as_u64().unwrap() as usize).sum();
    let section = value["flash"]["sections"]["Weights"].as_u64().unwrap() as usize;
    // Parts are padded to four bytes each.
    assert!(weights <= section && section <= weights + 12 * tensors.len(), "{weights} of {section}");
    assert_eq!(number("/model/d_model"), model.blob().spec().d_model());

    let other = command(&["inspect", "--json", "--source-tokens", "20", "--target-tokens", "10", "--blob", str(blob)]);
    let output = { other }.output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let limits = Limits { source_tokens: 20, target_tokens: 10, text_bytes: 512, beams: 1 };
    assert_eq!(value["arena"]["total_bytes"], model.arena_len(limits).unwrap());

    let output = command(&["inspect", "--blob", str(blob)]).output().unwrap();
    let plain = text(&output.stdout);
    for word in ["d_model", "total_bytes", "stack_bound_bytes", "per_source_token", &bytes.len().to_string()] {
        assert!(plain.contains(word), "{word} is not in: {plain}");
    }
}

#[test]
fn inspect_gives_the_numbers_of_the_library() {
    for engine in ["int8", "f16"] {
        let lab = Lab::new();
        assert!(lab.pack(&["--engine", engine, "--meta", "licence=CC BY 2.0"]).status.success());
        check_inspect(&lab.blob());
        let output = command(&["inspect", "--json", "--blob", str(&lab.blob())]).output().unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["metadata"]["licence"], "CC BY 2.0");
        assert_eq!(value["metadata"]["source_language"], "eng");
        // 2 encoder layers, and the keys and values of 3 decoder layers' cross-attention.
        assert_eq!(value["macs"]["per_source_token"], 2 * (4 * 36 * 36 + 2 * 36 * 50) + 3 * 2 * 36 * 36);
        assert_eq!(value["macs"]["per_target_token"], 3 * (6 * 36 * 36 + 2 * 36 * 50) + 77 * 36);
    }
}

#[test]
fn inspect_the_shared_model() {
    let Some(dir) = shared("models/en-es-nano") else { return };
    let out = tempfile::tempdir().unwrap();
    let blob = out.path().join("en-es-nano.blob");
    let output = command(&["pack", "--checkpoint", str(&dir), "--out", str(&blob)]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    check_inspect(&blob);
}
