//! The table of hard inputs: of each kind a few, with what must hold of their translations.

/// A line of the table.
pub struct Row {
    /// Its kind, and its number among those.
    pub id: String,
    pub input: Vec<u8>,
    /// Names of checks, each with what follows its equals sign.
    pub checks: Vec<(String, Vec<u8>)>,
}

impl Row {
    /// The input as one line for a board, which takes neither line ends nor other bytes than UTF-8's.
    #[allow(dead_code, reason = "boards' tests use it")]
    pub fn line(&self) -> Option<String> {
        let line = String::from_utf8(self.input.clone()).ok()?;
        (!line.contains(['\n', '\r']) && line.len() <= 1024).then_some(line)
    }
}

/// All of the table.
pub fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in include_str!("rows.tsv").lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (kind, input) = (fields.next().unwrap(), fields.next().unwrap());
        let number = rows.iter().filter(|row| row.id.starts_with(&format!("{kind} "))).count() + 1;
        let checks = fields.map(|field| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (name.to_owned(), unescaped(value))
        });
        rows.push(Row { id: format!("{kind} {number}"), input: unescaped(input), checks: checks.collect() });
    }
    rows
}

/// What the escapes stand for: `\n \t \r \\`, `\xNN` a byte, `\u{N}` a character.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend(before.bytes());
        let (escape, after) = after.split_at(1);
        rest = after;
        match escape {
            "n" => bytes.push(b'\n'),
            "t" => bytes.push(b'\t'),
            "r" => bytes.push(b'\r'),
            "\\" => bytes.push(b'\\'),
            "x" => {
                bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
                rest = &after[2..];
            }
            "u" => {
                let (code, after) = after[1..].split_once('}').unwrap();
                let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
                bytes.extend(c.to_string().bytes());
                rest = after;
            }
            other => panic!("no escape: \\{other}"),
        }
    }
    bytes.extend(rest.bytes());
    bytes
}
