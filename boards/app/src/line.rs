//! Splits a byte stream into lines of bounded length.

use core::mem::take;

use heapless::Vec;

/// The longest line taken, in bytes. Phrases may shrink when normalized, so this is more than `Limits::text_bytes`.
pub const LINE_BYTES: usize = 1024;

/// A line that ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its text, without its end.
    Text(&'a str),
    /// It had more than [`LINE_BYTES`] bytes and was dropped.
    TooLong,
    /// It was not UTF-8 and was dropped.
    NotUtf8,
}

/// Collects bytes until a line ends: with CR, LF, or CR LF, which is one end.
#[derive(Debug, Default)]
pub struct LineReader {
    bytes: Vec<u8, LINE_BYTES>,
    overlong: bool,
    after_cr: bool,
    ended: bool,
}

impl LineReader {
    /// No byte yet.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), overlong: false, after_cr: false, ended: false }
    }

    /// Takes a byte; tells whether a line ended with it. Then [`LineReader::line`] has it until the next byte.
    pub fn push(&mut self, byte: u8) -> bool {
        if take(&mut self.ended) {
            self.bytes.clear();
            self.overlong = false;
        }
        let after_cr = take(&mut self.after_cr);
        match byte {
            b'\n' if after_cr => {}
            b'\r' | b'\n' => {
                self.after_cr = byte == b'\r';
                self.ended = true;
            }
            _ => self.overlong |= self.bytes.push(byte).is_err(),
        }
        self.ended
    }

    /// The line so far.
    pub fn line(&self) -> Line<'_> {
        if self.overlong {
            return Line::TooLong;
        }
        core::str::from_utf8(&self.bytes).map_or(Line::NotUtf8, Line::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String, 16> {
        let mut reader = LineReader::new();
        let mut found = Vec::new();
        for &byte in bytes {
            if reader.push(byte) {
                found.push(format!("{:?}", reader.line())).unwrap();
            }
        }
        found
    }

    #[test]
    fn each_end_counts_once() {
        assert_eq!(lines(b"a\nb\rc\r\nd"), [r#"Text("a")"#, r#"Text("b")"#, r#"Text("c")"#]);
        assert_eq!(lines(b"\n\n"), [r#"Text("")"#; 2]);
        assert_eq!(lines(b"\r\r"), [r#"Text("")"#; 2]);
        assert_eq!(lines(b"\r\n\r\n"), [r#"Text("")"#; 2]);
        assert_eq!(lines(b"\n\r\n"), [r#"Text("")"#; 2]);
    }

    #[test]
    fn longest_line_passes_and_one_more_does_not() {
        let mut bytes = [b'x'; LINE_BYTES + 4];
        bytes[LINE_BYTES] = b'\n';
        bytes[LINE_BYTES + 3] = b'\n';
        let found = lines(&bytes);
        assert_eq!(found[0].len(), LINE_BYTES + r#"Text("")"#.len());
        assert_eq!(found[1], r#"Text("xx")"#);

        let mut bytes = [b'x'; LINE_BYTES + 4];
        bytes[LINE_BYTES + 1] = b'\n';
        bytes[LINE_BYTES + 3] = b'\n';
        assert_eq!(lines(&bytes), ["TooLong", r#"Text("x")"#]);
    }

    #[test]
    fn what_is_not_utf8_is_told_and_the_next_line_is_fine() {
        assert_eq!(lines(b"a\xFFb\nni\xC3\xB1o\n\xC3\nz\n"), ["NotUtf8", r#"Text("niño")"#, "NotUtf8", r#"Text("z")"#]);
    }
}
