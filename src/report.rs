//! The JSON line that tells a translation, the same from a board and from `model-gen translate --json`.
//!
//! Written into a slice by `serde-json-core`, so that it needs no heap; strings are escaped as RFC 8259 asks.

use serde::Serialize;

use crate::{Error, Outcome, Warnings};

/// A translation: what went in, what came out, and a checksum of everything in between. The ids are those of the last part of the
/// text that the model was asked about, with stand-ins and marks as it read them, which mostly is all of it; what was copied
/// behind it has none. The checksums are over all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Report<'a> {
    /// The phrase as it was given.
    pub source: &'a str,
    /// Ids of the last part that the model was asked about, end of sentence included; none where it was not asked.
    pub source_ids: &'a [u16],
    /// What it made of them; none where it was stopped before the first.
    pub target_ids: &'a [u16],
    /// The translation of the whole phrase.
    pub target: &'a str,
    /// Checksum over every logit of every step.
    pub logits_crc: u32,
    /// Checksum over where every token comes from.
    pub alignment_crc: u32,
    /// Parts that the model was given.
    pub parts: usize,
    /// Confidence in percent, where the blob was calibrated and the model was asked.
    pub confidence: Option<u8>,
    /// What is to be known of the translation, a word each: see [`Warnings`].
    pub warnings: Warnings,
}

impl<'a> Report<'a> {
    /// The report of a phrase that was empty: nothing was run.
    pub fn empty(logits_crc: u32) -> Self {
        Self { logits_crc, ..Self::of("", "", &Outcome::default()) }
    }

    /// The report of a text, without ids and checksum.
    pub fn of(source: &'a str, target: &'a str, outcome: &Outcome) -> Self {
        let confidence = outcome.confidence.map(|q15| ((u32::from(q15) * 100 + (1 << 14)) >> 15) as u8);
        let (parts, warnings) = (outcome.parts, outcome.warnings);
        let (source_ids, target_ids) = (&[][..], &[][..]);
        let (logits_crc, alignment_crc) = (0, 0);
        Report { source, source_ids, target_ids, target, logits_crc, alignment_crc, parts, confidence, warnings }
    }

    /// Writes one line of JSON, without its end, to the start of `out` and returns its length in bytes.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, Error> {
        write_json(self, out)
    }
}

impl Serialize for Warnings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq;
        let mut names = serializer.serialize_seq(None)?;
        self.names().try_for_each(|name| names.serialize_element(name))?;
        names.end()
    }
}

/// A phrase that could not be translated, in place of its [`Report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorReport<'a> {
    /// What went wrong, in words.
    pub error: &'a str,
}

impl ErrorReport<'_> {
    /// Writes one line of JSON, without its end, to the start of `out` and returns its length in bytes.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, Error> {
        write_json(self, out)
    }
}

/// Writes any value as one line of JSON, without its end, to the start of `out` and returns its length in bytes.
pub fn write_json(value: &impl Serialize, out: &mut [u8]) -> Result<usize, Error> {
    serde_json_core::to_slice(value, out).map_err(|_| Error::OutputFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec;

    const REPORT: Report<'_> = Report {
        source: "the cat",
        source_ids: &[5, 700, 0],
        target_ids: &[9, 65535, 0],
        target: "el gato",
        logits_crc: u32::MAX,
        alignment_crc: 8,
        parts: 2,
        confidence: Some(73),
        warnings: Warnings::LOOP,
    };

    fn written(report: &Report<'_>) -> String {
        let mut out = [0; 4096];
        let len = report.write(&mut out).unwrap();
        String::from_utf8(out[..len].to_vec()).unwrap()
    }

    #[test]
    fn fields_come_in_the_promised_order() {
        assert_eq!(
            written(&REPORT),
            r#"{"source":"the cat","source_ids":[5,700,0],"target_ids":[9,65535,0],"target":"el gato","logits_crc":4294967295,"alignment_crc":8,"parts":2,"confidence":73,"warnings":["loop"]}"#
        );
        assert_eq!(
            written(&Report::empty(7)),
            r#"{"source":"","source_ids":[],"target_ids":[],"target":"","logits_crc":7,"alignment_crc":0,"parts":0,"confidence":null,"warnings":[]}"#
        );
    }

    #[test]
    fn any_text_survives_a_json_parser() {
        let all: String = (0..0x300u32).chain([0x2028, 0xFFFD, 0x1F600]).filter_map(char::from_u32).collect();
        for text in [all.as_str(), r#"say "hi" \ \\ \n"#, "\u{0}\u{1f}\u{7f}", "\r\n\t\u{8}\u{c}", "¿dónde?"] {
            let json = written(&Report { source: text, target: text, ..REPORT });
            assert!(!json.contains(['\n', '\r']), "one line");
            let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(parsed["source"], text);
            assert_eq!(parsed["target"], text);
        }
        let mut out = [0; 64];
        let len = ErrorReport { error: "no \"such\"\nthing" }.write(&mut out).unwrap();
        let parsed: serde_json::Value = serde_json::from_slice(&out[..len]).unwrap();
        assert_eq!(parsed["error"], "no \"such\"\nthing");
    }

    #[test]
    fn too_small_a_buffer_is_told_at_every_length() {
        let whole = written(&REPORT);
        for len in 0..whole.len() {
            assert_eq!(REPORT.write(&mut vec![0; len]), Err(Error::OutputFull), "{len}");
        }
        assert_eq!(REPORT.write(&mut vec![0; whole.len()]), Ok(whole.len()));
    }
}
