//! Text that is written while the rest is searched is the text that is there in the end.

use super::rows::rows;
use super::{each, none_wrong, say};
use latimer::{Limits, TextOptions};
use std::path::Path;

/// Sentences whose opening marks are not where they begin, and blanks of several bytes.
const SENTENCES: [&str; 12] = [
    "Excuse me, where is the bathroom?",
    "Good morning, how are you?",
    "If you are hungry, why don't you eat?",
    "I asked him \"What is it?\" and left the room.",
    "Well, what now?",
    "Tom said: wow, what a day!",
    "He said \u{ab}hello\u{bb} \u{2026}\u{2026}\u{2026}",
    "Hello\u{a0}my friend, how\u{3000}are you?",
    "HELLO, WHERE ARE YOU?",
    "Where Is My Big Red Book",
    "no, no, no, it is late",
    "I don't know what to do, but I know who does.",
];

#[test]
fn streamed_text_is_never_taken_back() {
    let mut inputs: Vec<Vec<u8>> = rows().into_iter().map(|row| row.input).collect();
    inputs.extend(SENTENCES.iter().map(|text| text.as_bytes().to_vec()));
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/en-es/dev.tsv");
    match std::fs::read_to_string(&shared) {
        Ok(text) => inputs.extend(text.lines().filter_map(|line| Some(line.split('\t').next()?.as_bytes().to_vec()))),
        Err(_) => println!("skipped: no {}", shared.display()),
    }
    for beams in [1, 3] {
        let limits = Limits { beams, ..Limits::DEFAULT };
        for punctuation in [true, false] {
            let all = TextOptions { punctuation, ..TextOptions::DEFAULT };
            let wrong = each(limits, &inputs, |translator, input| {
                let streamed = say(translator, input, all);
                let whole = say(translator, input, TextOptions { stream: false, ..all });
                (streamed != whole)
                    .then(|| format!("{:?}: {:?}, {:?}", String::from_utf8_lossy(input), streamed.text, whole.text))
            });
            none_wrong(wrong.into_iter().flatten().collect());
        }
    }
}
