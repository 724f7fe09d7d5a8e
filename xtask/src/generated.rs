//! Parts of Markdown files that a command writes, between two comments that name the command and the part:
//!
//! ```text
//! <!-- generated: cargo xtask docs header -->
//! ...
//! <!-- end -->
//! ```

use anyhow::{Context, Result};

/// What ends a generated part.
const END: &str = "<!-- end -->";

/// The text with the part of `command` replaced; one line stands empty before and after it.
pub fn replace(text: &str, command: &str, part: &str) -> Result<String> {
    let start = format!("<!-- generated: {command} -->");
    let (before, rest) = text.split_once(&start).with_context(|| format!("no `{start}`"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("no `{END}` after `{start}`"))?;
    Ok(format!("{before}{start}\n\n{}\n\n{END}{after}", part.trim()))
}

/// A Markdown table.
pub fn table<R: IntoIterator<Item = String>>(head: &[&str], rows: impl IntoIterator<Item = R>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut table = line(head.iter().map(|&cell| cell.to_owned()).collect());
    table.push_str(&line(head.iter().map(|_| "---".to_owned()).collect()));
    rows.into_iter().for_each(|row| table.push_str(&line(row.into_iter().collect())));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_one_part_and_keeps_the_rest() {
        let text = "a\n<!-- generated: x one -->\nold\n<!-- end -->\nb\n<!-- generated: x two -->\n<!-- end -->\nc\n";
        let new = replace(text, "x two", "new\n").unwrap();
        assert_eq!(new, text.replace("two -->\n", "two -->\n\nnew\n\n"));
        assert_eq!(replace(&new, "x two", "new").unwrap(), new, "stable");
        assert!(replace(text, "x three", "").unwrap_err().to_string().contains("x three"));
        assert!(replace("<!-- generated: x -->", "x", "").is_err());
    }

    #[test]
    fn draws_tables() {
        let rows = [["1".to_owned(), "2".to_owned()]];
        assert_eq!(table(&["a", "b"], rows), "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
    }
}
