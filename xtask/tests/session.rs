//! The board application on the host, against a mock port.

mod common;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs;
use std::ops::ControlFlow;

use app::{Buffers, Event, Models, Port, StackUse, session};
use embedded_io::{ErrorType, Read, Write};
use xtask::machines::Engine;
use xtask::shipped::shipped_blob;

/// Plays the bytes it is given and keeps what is answered.
struct Mock {
    input: VecDeque<u8>,
    output: Vec<u8>,
    instructions: u64,
    /// Steps until it asks for an end.
    patience: usize,
    /// How often it was told to turn its light on.
    lights: usize,
}

/// Stands for a press of the button: no byte of UTF-8.
const BUTTON: u8 = 0xFE;

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

    fn wait(&mut self) -> Result<Event, Infallible> {
        Ok(match self.input.pop_front() {
            None => Event::Closed,
            Some(BUTTON) => Event::Button,
            Some(byte) => Event::Byte(byte),
        })
    }

    fn busy(&mut self, busy: bool) {
        self.lights += usize::from(busy);
    }

    fn between(&mut self) -> ControlFlow<()> {
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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

impl Mock {
    fn new(input: &[u8]) -> Self {
        let input = input.iter().copied().collect();
        Mock { input, output: Vec::new(), instructions: 0, patience: usize::MAX, lights: 0 }
    }

    /// Serves a session with these models in that much memory; returns whether it ended well, and its lines.
    fn play(&mut self, models: Models<'_>, arena_bytes: usize) -> (bool, Vec<String>) {
        let mut arena = Aligned::zeroed(arena_bytes);
        let mut buffers = Box::new(Buffers::new());
        let Ok(ended) = session(self, models, arena.bytes(), &mut buffers);
        let output = str::from_utf8(&self.output).expect("answers are UTF-8");
        let lines = output.strip_suffix("\r\n").expect("the last line ends").split("\r\n");
        (ended, lines.map(str::to_owned).collect())
    }
}

/// Plays `input` to a session with that blob; returns whether it ended well, and its lines.
fn play(blob: &[u8], input: &[u8]) -> (bool, Vec<String>) {
    let mut blob = Aligned::copy_of(blob);
    Mock::new(input).play(Models::Linked(&[blob.bytes()]), 1 << 20)
}

fn shipped() -> Vec<u8> {
    fs::read(shipped_blob(Engine::Int8).unwrap()).unwrap()
}

/// Plays `input` with the shipped model; returns the answers after the greeting.
fn answers(input: &[u8]) -> Vec<String> {
    let (ended, mut lines) = play(&shipped(), input);
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

#[test]
fn a_stream_is_the_answer_in_pieces() {
    let phrase = "I would like a cup of coffee, please. I have 3 dogs!";
    let lines = answers(format!("{phrase}\n:stream\n{phrase}\n:json\n{phrase}\n:stream\n{phrase}\n").as_bytes());
    let whole = &lines[0];
    assert_eq!((&lines[1][..], &lines[2]), ("stream on", whole), "one line, whatever it was written in");
    let json: Vec<serde_json::Value> = lines[3..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pieces: Vec<&str> = json.iter().filter_map(|line| line["piece"].as_str()).collect();
    assert!(pieces.len() > 4 && pieces.concat() == *whole, "{pieces:?}");
    let reports: Vec<_> = json.iter().filter(|line| line["target"].is_string()).collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0], reports[1]);
    assert_eq!((reports[0]["target"].as_str(), json.len()), (Some(&whole[..]), 4 + pieces.len()));
}

#[test]
fn the_button_says_the_last_phrase_again() {
    let mut port = Mock::new(b"\xFEThe train is late.\n\xFE:bogus\n\xFE");
    let (ended, lines) = port.play(Models::Linked(&[Aligned::copy_of(&shipped()).bytes()]), 1 << 20);
    assert!(ended);
    assert_eq!(lines[1], "", "there was none yet");
    assert!(!lines[2].is_empty());
    assert_eq!((&lines[3], &lines[5]), (&lines[2], &lines[2]), "{lines:?}");
    assert_eq!((lines.len(), port.lights), (6, 4));
}

#[test]
fn a_translation_ends_when_the_board_asks_for_it() {
    let mut port = Mock::new(b":json\nI would like a cup of coffee, please, and a piece of cake.\nI am here.\n");
    port.patience = 12;
    let (_, lines) = port.play(Models::Linked(&[Aligned::copy_of(&shipped()).bytes()]), 1 << 20);
    let reports: Vec<serde_json::Value> = lines[2..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports[0]["warnings"].to_string(), "[\"stopped\"]");
    let ids = reports[0]["target_ids"].as_array().unwrap().len();
    assert!((1..12).contains(&ids), "{}", reports[0]);
}

#[test]
fn models_take_turns_in_one_arena() {
    let (blob, example) = (shipped(), latimer::include_blob!("../../src/example.blob"));
    let mut region = Aligned::zeroed(blob.len() + example.len() + 256);
    let bytes = region.bytes();
    bytes[64..][..example.len()].copy_from_slice(example);
    let second = (64 + example.len()).next_multiple_of(16) + 32;
    bytes[second..][..blob.len()].copy_from_slice(&blob);
    let arena = common::arena_len(&shipped_blob(Engine::Int8).unwrap());
    let input = b":json\n:model 2\nThe train is late.\n:model 3\n:stream\n:model 1\n:info\nGood morning.\n";
    for models in [Models::Linked(&[example, &bytes[second..]]), Models::Flash(bytes)] {
        let (ended, lines) = Mock::new(input).play(models, arena);
        assert!(ended);
        let json: Vec<serde_json::Value> = lines[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            (&json[1]["model"], &json[1]["number"], &json[1]["models"]),
            (&"en-es-nano".into(), &2.into(), &2.into())
        );
        assert_eq!(json[2]["target"], answers(b"The train is late.\n")[0]);
        assert_eq!(json[3]["error"], "no such model: this firmware has 2");
        assert_eq!(json[4]["note"], "stream on", "the model that was served goes on");
        assert_eq!((&json[5]["number"], &json[5]["board"]), (&1.into(), &"mock".into()));
        assert_eq!(json[6], json[5]);
        assert!(json.last().unwrap()["target"].is_string());
    }
    // One that the arena is too small for is refused, and the one that was served goes on.
    let models = Models::Linked(&[example, &bytes[second..]]);
    let (ended, lines) = Mock::new(b":model 2\nGood morning.\n:info\n").play(models, 40_000);
    assert!(ended && lines[1].starts_with("error: ") && lines[1].contains(&arena.to_string()), "{lines:?}");
    assert!(lines[3].ends_with("model 1 of 2"), "{lines:?}");
}

#[test]
fn a_flash_without_models_is_told() {
    let (ended, lines) = Mock::new(b"Hello.\n").play(Models::Flash(&[0xFF; 5000]), 50_000);
    assert!(!ended);
    assert_eq!(lines, ["error: no model where this firmware looks for one: flash it, see `model-gen image`"]);
}

#[test]
fn a_trace_has_a_checksum_of_each_layer() {
    let lines = answers(
        b":json\n:raw\nThe train is late.\n:trace The train is late.\n:trace \n:text\n:trace The train is late.\n",
    );
    let [report, trace]: [serde_json::Value; 2] = [2, 3].map(|i| serde_json::from_str(&lines[i]).unwrap());
    for same in ["source_ids", "target_ids", "logits_crc"] {
        assert_eq!(report[same], trace[same]);
    }
    let stages = trace["stages"].as_array().unwrap();
    // Embeddings, three layers of the encoder, embeddings, one of the decoder.
    assert_eq!((stages.len(), trace["encoder_layers"].as_u64()), (6, Some(3)));
    assert!(stages.iter().all(|crc| crc.as_u64().unwrap() > 0));
    let last = stages[5].as_u64().unwrap();
    assert!(lines[6].contains(&format!(" {last:08x}, logits ")), "{}", lines[6]);
}
