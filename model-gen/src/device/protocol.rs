//! The firmware's line protocol from the host's side.
//!
//! A board that is found may be in the middle of a line or a translation, may just be booting, may answer in text or in JSON. So
//! a line end and `:info` are sent until something answers as `:info` does; `:json` and its note, which nothing else looks like,
//! then mark where the answers to this program begin. What comes beside answers (boot messages, logs, pieces of translations,
//! the button's translations) is passed over.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fault::{DeviceError, Fault};
use super::link::{Address, Link};

/// A line that is longer is none.
const LINE_MAX: usize = 1 << 16;
/// How soon a board that does not answer is asked again: while it boots it hears nothing.
const AGAIN: Duration = Duration::from_secs(2);
/// How long a board says nothing when it has said all.
const QUIET: Duration = Duration::from_millis(150);
/// How long a board may take to go back to text.
const LEAVE: Duration = Duration::from_secs(2);
/// The end of the line with which a firmware starts.
const GREETING: &str = ":help lists the commands";

/// A line of JSON, and what it says.
#[derive(Clone, Debug)]
pub struct Answer {
    /// As it came, without its end.
    pub line: String,
    /// Read.
    pub value: Value,
}

impl Answer {
    fn parse(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok().filter(Value::is_object)?;
        Some(Self { line: line.to_owned(), value })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }
}

/// A board that answers. Dropped, it is left answering in text if it was found so.
pub struct Device {
    link: Box<dyn Link>,
    port: String,
    timeout: Duration,
    bytes: Vec<u8>,
    /// The last line that was no answer.
    noise: Option<String>,
    /// Whether `:text` is owed.
    was_text: bool,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Device {
    /// Opens a port and finds the firmware there; any answer may take `timeout`.
    ///
    /// # Errors
    ///
    /// The port's, or [`Fault::Silent`] and [`Fault::Garbled`] where no firmware answers.
    pub fn open(address: &Address, baud: u32, timeout: Duration) -> Result<Self, DeviceError> {
        let port = address.to_string();
        let fault = |error| DeviceError { port: port.clone(), fault: Fault::Open(error) };
        let link = address.open(baud).map_err(fault)?;
        Self::over(link, port, timeout)
    }

    /// Finds the firmware at the other end of a link.
    ///
    /// # Errors
    ///
    /// As [`Device::open`].
    pub fn over(link: Box<dyn Link>, port: String, timeout: Duration) -> Result<Self, DeviceError> {
        let mut device = Self { link, port, timeout, bytes: Vec::new(), noise: None, was_text: false };
        let was_text = device.find()?;
        device.note(":json", "json")?;
        device.was_text = was_text;
        Ok(device)
    }

    /// Asks until `:info` is answered; tells whether in text.
    fn find(&mut self) -> Result<bool, DeviceError> {
        let end = Instant::now() + self.timeout;
        let again = AGAIN.min(self.timeout / 4);
        let mut first = true;
        while Instant::now() < end {
            // What an unfinished line makes comes first: a board without a buffer would miss what it is sent while it writes.
            self.send("")?;
            self.drain(end)?;
            self.send(":info")?;
            let next = (Instant::now() + again).min(end);
            while let Some(line) = self.line(next)? {
                let Some(text) = in_text(&line) else {
                    self.noise = Some(line);
                    continue;
                };
                if !first {
                    self.drain(end)?;
                }
                return Ok(text);
            }
            first = false;
        }
        Err(self.no_answer())
    }

    /// Reads until the board is quiet.
    fn drain(&mut self, end: Instant) -> Result<(), DeviceError> {
        while let Some(line) = self.line((Instant::now() + QUIET).min(end))? {
            self.noise = Some(line);
        }
        Ok(())
    }

    /// Sends a line and waits for the answer that `fits` it.
    pub(super) fn ask(&mut self, line: &str, fits: impl Fn(&Answer) -> bool) -> Result<Answer, DeviceError> {
        self.noise = None;
        self.send(line)?;
        let mut end = Instant::now() + self.timeout;
        while let Some(line) = self.line(end)? {
            match Answer::parse(&line) {
                // A translation on its way: it goes on.
                Some(answer) if answer.has("piece") => end = Instant::now() + self.timeout,
                Some(answer) if fits(&answer) => return Ok(answer),
                Some(answer) => match answer.value["error"].as_str() {
                    Some(words) => return Err(self.fault(Fault::Refused(words.to_owned()))),
                    None => self.noise = Some(line),
                },
                None if line.ends_with(GREETING) => return Err(self.lost(Fault::Restarted)),
                None => match line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")) {
                    Some(words) => return Err(self.lost(Fault::Failed(words.to_owned()))),
                    None => self.noise = Some(line),
                },
            }
        }
        Err(self.no_answer())
    }

    /// Sends a command and waits for its note, whatever else comes first.
    pub(super) fn note(&mut self, command: &str, note: &str) -> Result<(), DeviceError> {
        self.send(command)?;
        let end = Instant::now() + self.timeout;
        while let Some(line) = self.line(end)? {
            if line == note || Answer::parse(&line).is_some_and(|answer| answer.value["note"] == *note) {
                return Ok(());
            }
            self.noise = Some(line);
        }
        Err(self.no_answer())
    }

    fn send(&mut self, line: &str) -> Result<(), DeviceError> {
        let sent = self.link.send(format!("{line}\n").as_bytes(), self.timeout);
        sent.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => self.no_answer(),
            _ => self.gone(),
        })
    }

    /// The next line that is not empty, without its end; `None` where none ends in time.
    fn line(&mut self, end: Instant) -> Result<Option<String>, DeviceError> {
        loop {
            while let Some(at) = self.bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
                let line: Vec<u8> = self.bytes.drain(..=at).collect();
                if at > 0 {
                    return Ok(Some(String::from_utf8_lossy(&line[..at]).into_owned()));
                }
            }
            if self.bytes.len() > LINE_MAX {
                self.noise = self.unfinished();
                self.bytes.clear();
            }
            // Garbage may never stop to come.
            let within = end.saturating_duration_since(Instant::now());
            if within.is_zero() {
                return Ok(None);
            }
            let mut room = [0; 4096];
            match self.link.receive(&mut room, within) {
                Ok(0) => return Err(self.gone()),
                Ok(count) => self.bytes.extend(&room[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(_) => return Err(self.gone()),
            }
        }
    }

    /// What has come of a line.
    fn unfinished(&self) -> Option<String> {
        let start = &self.bytes[..self.bytes.len().min(80)];
        (!start.is_empty()).then(|| String::from_utf8_lossy(start).into_owned())
    }

    fn no_answer(&mut self) -> DeviceError {
        let seconds = self.timeout.as_secs_f32();
        match self.unfinished().or(self.noise.take()) {
            Some(noise) => self.lost(Fault::Garbled { seconds, shown: shown(&noise) }),
            None => self.lost(Fault::Silent(seconds)),
        }
    }

    fn gone(&mut self) -> DeviceError {
        let last = self.unfinished().or(self.noise.take());
        self.lost(Fault::Gone(last.map(|line| shown(&line))))
    }

    /// After this nothing can be asked of it.
    fn lost(&mut self, fault: Fault) -> DeviceError {
        self.was_text = false;
        self.fault(fault)
    }

    pub(super) fn fault(&self, fault: Fault) -> DeviceError {
        DeviceError { port: self.port.clone(), fault }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if std::mem::take(&mut self.was_text) {
            self.timeout = self.timeout.min(LEAVE);
            // Nobody is left to tell.
            let _ = self.note(":text", "text");
        }
    }
}

/// Whether a line answers `:info` in text, or `Some(false)` in JSON; `None` where it is something else.
fn in_text(line: &str) -> Option<bool> {
    if line.starts_with("latimer ") && !line.ends_with(GREETING) {
        return Some(true);
    }
    Answer::parse(line).filter(|answer| answer.has("board")).map(|_| false)
}

/// The start of a line, on one line.
fn shown(line: &str) -> String {
    line.chars().take(80).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
