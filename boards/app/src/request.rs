//! What a line asks for.

use core::fmt;

/// A line, understood.
#[derive(Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Translate this. `::` at the start of a line stands for a phrase that starts with a colon.
    Phrase(&'a str),
    /// `:json`: answer in JSON from now on.
    Json,
    /// `:text`: answer in plain text from now on.
    Text,
    /// `:stats`: arena, stack and instructions.
    Stats,
    /// `:info`: model and firmware.
    Info,
    /// `:selftest`: run the blob's golden vectors.
    SelfTest,
    /// `:max N`: at most N target tokens a phrase.
    Max(usize),
    /// `:beam N`: follow N hypotheses at a time.
    Beam(usize),
    /// `:whole`: whatever people type; `:raw`: the model alone, each line as it is.
    Around(bool),
    /// `:stream`: write what is certain of a translation at once, or no longer.
    Stream,
    /// `:model N`: translate with the Nth model.
    Model(usize),
    /// `:trace PHRASE`: checksums of what every layer makes of a phrase.
    Trace(&'a str),
    /// `:help`: list the commands.
    Help,
    /// `:exit`: end the program.
    Exit,
}

/// What `:help` answers.
pub const HELP: &str = ":json :text :stream :stats :info :selftest :trace PHRASE :model N :max N :beam N :whole :raw :help :exit; every other line is translated (:: for one that starts with a colon)";

/// Why a line was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// More than [`crate::LINE_BYTES`] bytes.
    LineTooLong,
    /// Not UTF-8.
    NotUtf8,
    /// No such command.
    UnknownCommand,
    /// `:max`, `:beam` or `:model` without a number of at least 1.
    NotANumber,
}

impl<'a> Request<'a> {
    /// Reads a line.
    pub fn parse(line: &'a str) -> Result<Self, Refusal> {
        let Some(command) = line.strip_prefix(':') else { return Ok(Self::Phrase(line)) };
        if command.starts_with(':') {
            return Ok(Self::Phrase(command));
        }
        if let Some(phrase) = command.strip_prefix("trace ") {
            return Ok(Self::Trace(phrase));
        }
        let mut words = command.split_ascii_whitespace();
        let request = match words.next() {
            Some("json") => Self::Json,
            Some("text") => Self::Text,
            Some("stats") => Self::Stats,
            Some("info") => Self::Info,
            Some("selftest") => Self::SelfTest,
            Some("max") => Self::Max(number(words.next())?),
            Some("beam") => Self::Beam(number(words.next())?),
            Some("model") => Self::Model(number(words.next())?),
            Some("stream") => Self::Stream,
            Some("whole") => Self::Around(true),
            Some("raw") => Self::Around(false),
            Some("help") => Self::Help,
            Some("exit") => Self::Exit,
            _ => return Err(Refusal::UnknownCommand),
        };
        if words.next().is_some() { Err(Refusal::UnknownCommand) } else { Ok(request) }
    }
}

fn number(word: Option<&str>) -> Result<usize, Refusal> {
    word.and_then(|word| word.parse().ok()).filter(|&n| n > 0).ok_or(Refusal::NotANumber)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong => write!(f, "line longer than {} bytes: shorten or split it", crate::LINE_BYTES),
            Self::NotUtf8 => f.write_str("line is not UTF-8"),
            Self::UnknownCommand => f.write_str("unknown command: try :help"),
            Self::NotANumber => f.write_str("the command needs a number of at least 1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_phrases() {
        assert_eq!(Request::parse("hello"), Ok(Request::Phrase("hello")));
        assert_eq!(Request::parse(""), Ok(Request::Phrase("")));
        assert_eq!(Request::parse("::json"), Ok(Request::Phrase(":json")));
        assert_eq!(Request::parse(":json"), Ok(Request::Json));
        assert_eq!(Request::parse(":stats  "), Ok(Request::Stats));
        assert_eq!(Request::parse(":max 12"), Ok(Request::Max(12)));
        assert_eq!(Request::parse(":beam 4"), Ok(Request::Beam(4)));
        assert_eq!(Request::parse(":model 2"), Ok(Request::Model(2)));
        assert_eq!(Request::parse(":trace  I am :here "), Ok(Request::Trace(" I am :here ")));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for line in [":max", ":beam", ":beam 0", ":max 0", ":max -1", ":max many", ":max 99999999999999999999"] {
            assert_eq!(Request::parse(line), Err(Refusal::NotANumber), "{line}");
        }
        for line in [":", ":JSON", ":json now", ":max 1 2", ":)", ":trace"] {
            assert_eq!(Request::parse(line), Err(Refusal::UnknownCommand), "{line}");
        }
    }
}
