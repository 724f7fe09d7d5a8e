//! Every row of the table.

use super::rows::rows;
use super::{check, each, none_wrong, say};
use latimer::{Limits, TextOptions};

#[test]
fn every_row_holds() {
    let rows = rows();
    assert!(rows.len() >= 90, "{} rows", rows.len());
    let wrong = each(Limits::DEFAULT, &rows, |translator, row| {
        let mut say = |text: &[u8]| say(translator, text, TextOptions::DEFAULT);
        let said = say(&row.input);
        let mut wrong = check::always(&row.input, &said);
        wrong.extend(check::row(row, &said));
        say("Another phrase of 3 words, <b>bold</b>.".as_bytes());
        if say(&row.input) != said {
            wrong.push("another translation at the second time".to_owned());
        }
        let (input, warnings) = (String::from_utf8_lossy(&row.input), said.warnings);
        if std::env::var_os("LATIMER_SHOW").is_some() {
            println!("{}: {input:?} -> {:?} {warnings}", row.id, said.text);
        }
        let show = |wrong| format!("{}: {wrong}: {input:?} -> {:?} ({warnings})", row.id, said.text);
        wrong.into_iter().map(show).collect::<Vec<_>>()
    });
    none_wrong(wrong.concat());
}
