//! The board application on the host, against a mock port.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs;

use app::{Buffers, Models, Port, StackUse, session};
use embedded_io::{ErrorType, Read, Write};
use xtask::machines::Engine;
use xtask::shipped::shipped_blob;

/// Plays the bytes it is given and keeps what is answered.
struct Mock {
    input: VecDeque<u8>,
    output: Vec<u8>,
    instructions: u64,
}

impl ErrorType for Mock {
    type Error = Infallible;
}

impl Read for Mock {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        // Short reads are the rule on a UART.
        let Some(byte) = self.input.pop_front() else { return Ok(0) };
        buffer[0] = byte;
        Ok(1)
    }
}

impl Write for Mock {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        // Short writes too.
        let taken = bytes.len().min(3);
        self.output.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Port for Mock {
    const NAME: &'static str = "mock";

    fn count(&mut self) -> u64 {
        self.instructions += 1000;
        self.instructions
    }

    fn stack(&self) -> StackUse {
        StackUse { size: 4096, high_water: 1024 }
    }

    fn exit(code: u8) -> ! {
        panic!("the session ended the program with {code}")
    }
}

/// Memory aligned as blobs and arenas must be.
struct Aligned(Vec<u128>);

impl Aligned {
    fn zeroed(len: usize) -> Self {
        Self(vec![0; len.div_ceil(16)])
    }

    fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        copy.bytes()[..bytes.len()].copy_from_slice(bytes);
        copy
    }

    fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// Plays `input` to a session with that blob; returns whether it ended well, and its lines.
fn play(blob: &[u8], input: &[u8]) -> (bool, Vec<String>) {
    let (mut blob, mut arena) = (Aligned::copy_of(blob), Aligned::zeroed(1 << 20));
    let mut port = Mock { input: input.iter().copied().collect(), output: Vec::new(), instructions: 0 };
    let mut buffers = Box::new(Buffers::new());
    let Ok(ended) = session(&mut port, Models::Linked(&[blob.bytes()]), arena.bytes(), &mut buffers);
    let output = String::from_utf8(port.output).expect("answers are UTF-8");
    let lines = output.strip_suffix("\r\n").expect("the last line ends").split("\r\n");
    (ended, lines.map(str::to_owned).collect())
}

/// Plays `input` with the shipped model; returns the answers after the greeting.
fn answers(input: &[u8]) -> Vec<String> {
    let blob = fs::read(shipped_blob(Engine::Int8).unwrap()).unwrap();
    let (ended, mut lines) = play(&blob, input);
    assert!(ended);
    let greeting = lines.remove(0);
    assert!(greeting.starts_with("latimer "), "{greeting}");
    lines
}

#[test]
fn a_blob_that_is_none_is_told_and_ends_the_session() {
    for blob in [&b""[..], b"not a blob", &[0; 4096]] {
        let (ended, lines) = play(blob, b"Hello.\n");
        assert!(!ended);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("error: "), "{lines:?}");
    }
}

#[test]
fn one_line_answers_each_line_until_exit() {
    let lines = answers(b"The cat is here.\r\n\n:stats\n:info\n:help\n:bogus\n::)\n:max 0\n\xFF\n:exit\nnever read\n");
    assert_eq!(lines.len(), 10, "{lines:?}");
    assert!(!lines[0].is_empty());
    assert_eq!(lines[1], "");
    assert!(lines[2].contains("stack 1024 of 4096 bytes, last phrase 1000 instructions"), "{}", lines[2]);
    assert!(lines[3].starts_with("latimer "), "{}", lines[3]);
    assert!(lines[4].contains(":json"), "{}", lines[4]);
    assert_eq!(lines[5], "error: unknown command: try :help");
    assert!(!lines[6].starts_with("error"), "{}", lines[6]);
    assert_eq!(lines[7], "error: the command needs a number of at least 1");
    assert_eq!(lines[8], "error: line is not UTF-8");
    assert_eq!(lines[9], "bye");
}

#[test]
fn json_answers_are_json_whatever_is_asked() {
    let mut input =
        b":json\nGood \"morning\".\n\n:stats\n:info\n:help\n:max 1\nThe cat is here.\n:bogus\n\xC3\n".to_vec();
    input.extend([b'x'; 3000]);
    input.extend(b"\n:text\nThe cat is here.\n");
    let lines = answers(&input);
    assert_eq!(lines.len(), 13, "{lines:?}");
    let (text, json) = lines.split_last_chunk::<2>().map(|(json, text)| (text, json)).unwrap();
    let json: Vec<serde_json::Value> = json.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json[1]["source"], "Good \"morning\".");
    let count = |value: &serde_json::Value| value.as_array().unwrap().len();
    assert!(count(&json[1]["source_ids"]) > 2 && count(&json[1]["target_ids"]) > 2);
    assert_ne!(json[1]["logits_crc"], json[2]["logits_crc"]);
    assert_eq!(json[2]["source"], "");
    assert_eq!((count(&json[2]["source_ids"]), count(&json[2]["target_ids"])), (0, 0));
    assert_eq!(json[3]["stack"], 4096);
    assert_eq!(json[4]["board"], "mock");
    assert_eq!((json[7]["warnings"].to_string().as_str(), count(&json[7]["target_ids"])), ("[\"length\"]", 1));
    for error in &json[8..11] {
        assert!(error["error"].is_string(), "{error}");
    }
    assert_eq!(text[0], "text");
    assert!(!text[1].starts_with('{'));
}

#[test]
fn phrases_over_the_limits_are_translated_in_parts() {
    let mut input = "a ".repeat(200).into_bytes();
    input.extend(b"\n");
    input.extend("word ".repeat(150).into_bytes());
    input.extend("\nThe cat is here.\n".bytes());
    input.splice(0..0, *b":json\n");
    let lines = answers(&input);
    assert_eq!(lines.len(), 4);
    let json: Vec<serde_json::Value> = lines[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for long in &json[..2] {
        assert!(long["parts"].as_u64() > Some(2) && long["warnings"].to_string().contains("split"), "{long}");
    }
    assert_eq!((&json[2]["parts"], json[2]["warnings"].to_string().as_str()), (&1.into(), "[]"));
}
