//! The protocol against a firmware that is played.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::*;

/// What is said to a line; `None` breaks the link.
type Says = dyn FnMut(&str) -> Option<String>;

/// A firmware: what it says to each line, and what it was told.
struct Mock {
    says: Box<Says>,
    told: Rc<RefCell<Vec<String>>>,
    line: Vec<u8>,
    output: VecDeque<u8>,
}

impl Link for Mock {
    fn send(&mut self, bytes: &[u8], _: Duration) -> io::Result<()> {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
            self.told.borrow_mut().push(line.clone());
            let said = (self.says)(&line).ok_or(io::ErrorKind::BrokenPipe)?;
            self.output.extend(said.bytes());
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8], within: Duration) -> io::Result<usize> {
        if self.output.is_empty() {
            std::thread::sleep(within.min(Duration::from_millis(1)));
            return Err(io::ErrorKind::TimedOut.into());
        }
        // In small pieces, as a UART gives them.
        let count = room.len().min(3).min(self.output.len());
        room.iter_mut().zip(self.output.drain(..count)).for_each(|(to, byte)| *to = byte);
        Ok(count)
    }
}

const TIMEOUT: Duration = Duration::from_secs(1);
const INFO: &str = r#"{"board":"mock","model":"m","blob":9,"blob_crc":7,"model_version":1,"number":1,"models":1,"source_tokens":64,"target_tokens":64}"#;

type Told = Rc<RefCell<Vec<String>>>;

/// Finds a firmware that has written `before` and says `says`.
fn open(before: &str, says: impl FnMut(&str) -> Option<String> + 'static) -> (Result<Device, DeviceError>, Told) {
    let told = Told::default();
    let output = before.bytes().collect();
    let mock = Mock { says: Box::new(says), told: told.clone(), line: Vec::new(), output };
    (Device::over(Box::new(mock), "/dev/mock".into(), TIMEOUT), told)
}

/// What a sound firmware says, in text at first or in JSON.
fn firmware(mut json: bool) -> impl FnMut(&str) -> Option<String> {
    move |line| {
        let line = match line {
            ":json" | ":text" => {
                json = line == ":json";
                if json { r#"{"note":"json"}"#.to_owned() } else { "text".to_owned() }
            }
            ":info" if json => INFO.to_owned(),
            ":info" => "latimer 0.1.0 on mock: m (free), 9 bytes".to_owned(),
            phrase if json => serde_json::json!({ "source": phrase, "target": phrase.to_uppercase() }).to_string(),
            phrase => phrase.to_uppercase(),
        };
        Some(format!("{line}\r\n"))
    }
}

#[test]
fn the_mode_is_left_as_it_was_found() {
    for json in [false, true] {
        let (device, told) = open("", firmware(json));
        let mut device = device.unwrap();
        assert_eq!(device.about().unwrap().blob_crc, 7);
        assert_eq!(device.translate("hello").unwrap().value["target"], "HELLO");
        drop(device);
        let last = told.borrow().last().unwrap().clone();
        assert_eq!(last == ":text", !json, "{:?}", told.borrow());
    }
}

#[test]
fn noise_greetings_and_halves_of_lines_come_before_the_answers() {
    let greeting = format!("\u{0}\u{1b}[2Jboot v1.2\r\nlatimer 0.1.0 on mock: m (free), 9 bytes; {GREETING}\n\r\nhal");
    let (device, _) = open(&greeting, firmware(false));
    assert_eq!(device.unwrap().translate("hello").unwrap().value["target"], "HELLO");
    // It hears nothing while it boots.
    let (mut deaf, mut sound) = (3, firmware(false));
    let (device, _) = open("", move |line| {
        deaf -= i32::from(deaf > 0);
        if deaf > 0 { Some(String::new()) } else { sound(line) }
    });
    assert_eq!(device.unwrap().translate("hello").unwrap().value["target"], "HELLO");
}

#[test]
fn pieces_logs_and_the_buttons_translations_are_passed_over() {
    let mut sound = firmware(true);
    let (device, _) = open("", move |line| {
        let before =
            "log 1\n{\"piece\":\"HEL\"}\r\n{\"source\":\"button\",\"target\":\"no\"}\r\n{\"piece\":\"LO\"}\r\n";
        let before = if line == "hello" { before } else { "" };
        Some(format!("{before}{}", sound(line)?))
    });
    assert_eq!(device.unwrap().translate("hello").unwrap().value["target"], "HELLO");
}

/// The words of the error when a sound firmware answers `hello` like that.
fn error_of(says: Option<&'static str>) -> String {
    let mut sound = firmware(true);
    let (device, _) = open("", move |line| if line == "hello" { says.map(str::to_owned) } else { sound(line) });
    device.unwrap().translate("hello").unwrap_err().to_string()
}

#[test]
fn every_fault_names_the_port_and_a_remedy_in_time() {
    let start = Instant::now();
    let silent = open("", |_| Some(String::new())).0.unwrap_err().to_string();
    assert!(silent.starts_with("/dev/mock: no answer within 1 s: ") && silent.contains("--timeout"), "{silent}");
    let garbled = open("", |_| Some("\u{fffd}~\u{1}x\n".into())).0.unwrap_err().to_string();
    assert!(garbled.starts_with("/dev/mock: no answer within 1 s, but `\u{fffd}~"), "{garbled}");
    assert!(garbled.contains("check --baud"), "{garbled}");
    // No line ends at all.
    let garbled = open("", |_| Some("x".repeat(LINE_MAX))).0.unwrap_err().to_string();
    assert!(garbled.contains("but `xxx"), "{garbled}");
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    let gone = open("error: damaged blob\r\n", |_| None).0.unwrap_err().to_string();
    assert!(gone.contains("the connection is gone") && gone.contains("plug"), "{gone}");

    assert!(error_of(None).contains("the connection is gone"));
    assert!(error_of(Some("")).contains("no answer within"));
    assert_eq!(error_of(Some("{\"error\":\"too long\"}\r\n")), "/dev/mock: too long");
    assert!(error_of(Some("\r\nfatal: panicked\r\n")).contains("the firmware failed: panicked; reset"));
    let greeting = "latimer 0.1.0 on mock: m (free), 9 bytes; :help lists the commands\r\n";
    assert!(error_of(Some(greeting)).contains("restarted"));
}

/// A pseudo-terminal stands for a serial port: nobody there answers, then it is unplugged.
#[cfg(unix)]
#[test]
fn a_silent_serial_port_is_told_and_an_unplugged_one() {
    use serialport::{SerialPort, TTYPort};
    let (board, other) = TTYPort::pair().unwrap();
    let address = Address::Serial(other.name().unwrap());
    let silent = Device::open(&address, 115_200, TIMEOUT / 4).unwrap_err();
    assert!(matches!(silent.fault, Fault::Silent(_)), "{silent}");
    let waiting = std::thread::spawn(move || Device::open(&address, 115_200, 20 * TIMEOUT).unwrap_err());
    std::thread::sleep(TIMEOUT / 4);
    drop(board);
    let gone = waiting.join().unwrap();
    assert!(matches!(gone.fault, Fault::Gone(_)), "{gone}");
}

#[test]
fn colons_are_doubled_and_line_ends_refused() {
    let (device, told) = open("", |line| firmware(true)(line.strip_prefix("::").map_or(line, |_| ":)")));
    let mut device = device.unwrap();
    assert_eq!(device.translate(":)").unwrap().value["source"], ":)");
    assert_eq!(told.borrow().last().unwrap(), "::)");
    assert!(matches!(device.translate("a\nb").unwrap_err().fault, Fault::Refused(_)));
}
