//! What a board can be asked.

use serde::Deserialize;

use super::fault::{DeviceError, Fault};
use super::protocol::{Answer, Device};

/// What `:info` tells.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct About {
    /// The board's name.
    pub board: String,
    /// The model's.
    pub model: String,
    /// Bytes of the blob.
    pub blob: u64,
    /// Checksum of the blob's header, which covers all others.
    pub blob_crc: u32,
    /// Version of the model.
    pub model_version: u32,
    /// Which model is on.
    pub number: usize,
    /// Of how many.
    pub models: usize,
    /// Source tokens at most.
    pub source_tokens: u16,
    /// Target tokens at most.
    pub target_tokens: u16,
}

impl Device {
    /// What the firmware and its model are.
    ///
    /// # Errors
    ///
    /// The link's.
    pub fn about(&mut self) -> Result<About, DeviceError> {
        let answer = self.ask(":info", |answer| answer.has("board"))?;
        self.read_about(answer)
    }

    /// Goes over to a model, or opens it anew: with it go `:max`, `:beam`, `:raw` and `:stream`.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] where there is none of that number.
    pub fn open_model(&mut self, number: usize) -> Result<About, DeviceError> {
        let answer = self.ask(&format!(":model {number}"), |answer| answer.has("board"))?;
        self.read_about(answer)
    }

    /// Has it translate whatever people type, and not with the model alone.
    ///
    /// # Errors
    ///
    /// The link's.
    pub fn whole_text(&mut self) -> Result<(), DeviceError> {
        self.note(":whole", "whole text")
    }

    fn read_about(&self, answer: Answer) -> Result<About, DeviceError> {
        serde_json::from_value(answer.value).map_err(|_| self.fault(Fault::Odd(answer.line)))
    }

    /// What `:info` answers, as it is.
    ///
    /// # Errors
    ///
    /// The link's.
    pub fn info(&mut self) -> Result<Answer, DeviceError> {
        self.ask(":info", |answer| answer.has("board"))
    }

    /// What `:stats` answers.
    ///
    /// # Errors
    ///
    /// The link's.
    pub fn stats(&mut self) -> Result<Answer, DeviceError> {
        self.ask(":stats", |answer| answer.has("arena"))
    }

    /// The number of golden vectors that the board's engine passed.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] with the words of the first that failed.
    pub fn self_test(&mut self) -> Result<u64, DeviceError> {
        let answer = self.ask(":selftest", |answer| answer.has("selftest"))?;
        answer.value["selftest"].as_u64().ok_or_else(|| self.fault(Fault::Odd(answer.line)))
    }

    /// The report of a phrase.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] where the board can't translate it.
    pub fn translate(&mut self, phrase: &str) -> Result<Answer, DeviceError> {
        let colon = if phrase.starts_with(':') { ":" } else { "" };
        self.one_line(phrase)?;
        // A press of the button tells of another phrase.
        self.ask(&format!("{colon}{phrase}"), |answer| answer.value["source"] == *phrase)
    }

    /// The checksums of what the layers make of a phrase.
    ///
    /// # Errors
    ///
    /// [`Fault::Refused`] where the model can't take it as it is.
    pub fn trace(&mut self, phrase: &str) -> Result<Answer, DeviceError> {
        self.one_line(phrase)?;
        self.ask(&format!(":trace {phrase}"), |answer| answer.has("stages"))
    }

    fn one_line(&self, phrase: &str) -> Result<(), DeviceError> {
        match phrase.contains(['\r', '\n']) {
            true => {
                Err(self.fault(Fault::Refused("there is a line end in the phrase: give its lines one by one".into())))
            }
            false => Ok(()),
        }
    }
}
