//! What must hold of translations: of every one, and of single rows of the table.

use super::rows::Row;
use latimer::Warnings;

/// A translation as its user gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub warnings: Warnings,
}

/// What does not hold of any text's translation.
pub fn always(input: &[u8], said: &Said) -> Vec<String> {
    let source = String::from_utf8_lossy(input);
    let target = said.text.as_str();
    let mut wrong = Vec::new();
    if target.contains('\u{2047}') && !source.contains('\u{2047}') {
        wrong.push("the unknown piece is in it".to_owned());
    }
    if ends_of_lines(&source) != ends_of_lines(target) {
        wrong.push(format!("{} ends of lines, not {}", ends_of_lines(target).len(), ends_of_lines(&source).len()));
    }
    if edges(&source) != edges(target) {
        wrong.push("white space around it is another".to_owned());
    }
    wrong.extend(lost_digits(&source, said).map(|digits| format!("{digits} is lost in silence")));
    if let Some(word) = runs(target).next().filter(|_| runs(&source).next().is_none()) {
        wrong.push(format!("`{word}` three times in a row"));
    }
    wrong
}

/// What does not hold of a row's.
pub fn row(row: &Row, said: &Said) -> Vec<String> {
    let source = String::from_utf8_lossy(&row.input);
    let target = said.text.as_str();
    let holds = |(name, value): &(String, Vec<u8>)| {
        let value = std::str::from_utf8(value).expect("what is looked for is UTF-8");
        match name.as_str() {
            "keeps" => {
                assert!(source.contains(value), "{}: `{value}` is not in the input", row.id);
                said.warnings.contains(Warnings::LOST) || count(target, value) == count(&source, value)
            }
            "equals" => target == value,
            "contains" => target.contains(value),
            "space" => edges(target) == edges(&source),
            "starts" => target.starts_with(value),
            "ends" => ends(target, value),
            "case" => has_case(target, value),
            "lines" => blank_lines(target) == blank_lines(&source),
            "warns" => said.warnings.names().any(|warning| warning == value),
            "max_words" => words(target).count() <= value.parse().unwrap(),
            "no_repeat" => !repeats(target),
            other => panic!("{}: no check is called `{other}`", row.id),
        }
    };
    let wrong = row.checks.iter().filter(|check| !holds(check));
    wrong.map(|(name, value)| format!("{name} {}", String::from_utf8_lossy(value))).collect()
}

/// The digits that stand next to each other in the source, and not as often in the target; none where a warning says so.
pub fn lost_digits<'s>(source: &'s str, said: &'s Said) -> impl Iterator<Item = &'s str> {
    let excused = said.warnings.contains(Warnings::LOST);
    digits(source).filter(move |run| !excused && count_of(run, source) > count_of(run, &said.text))
}

/// Runs of ASCII digits.
pub fn digits(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty())
}

fn count_of(run: &str, text: &str) -> usize {
    digits(text).filter(|other| *other == run).count()
}

/// Lower-cased words.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let inside = |c: char| c.is_alphanumeric() || c == '\'' || c == '\u{2019}';
    text.split(move |c| !inside(c)).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Whether a word stands twice in a text.
pub fn repeats(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    words.iter().enumerate().any(|(at, word)| words[..at].contains(word))
}

/// Words that stand three times in a row.
fn runs(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<String> = words(text).collect();
    let runs: Vec<String> = words.windows(3).filter(|w| w[0] == w[1] && w[1] == w[2]).map(|w| w[0].clone()).collect();
    runs.into_iter()
}

fn ends_of_lines(text: &str) -> Vec<char> {
    text.chars().filter(|c| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')).collect()
}

fn blank_lines(text: &str) -> Vec<bool> {
    text.split('\n').map(|line| line.trim().is_empty()).collect()
}

/// The white space before and after a text.
fn edges(text: &str) -> (&str, &str) {
    let before = text.len() - text.trim_start().len();
    let after = text.trim_end().len().max(before);
    (&text[..before], &text[after..])
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// Whether a text ends with a mark, quotes and emoji after it aside; `none` of `none`.
fn ends(text: &str, mark: &str) -> bool {
    let behind =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '”' | '»' | '\u{200d}' | '\u{fe0f}') || c > '\u{1f000}';
    let text = if mark == ")" || mark == "'" { text } else { text.trim_end_matches(behind) };
    match mark {
        "none" => !text.ends_with(['.', '!', '?', '…', ',', ':', ';']),
        "..." => text.ends_with("...") || text.ends_with('…'),
        "." => text.ends_with('.') && !text.ends_with(".."),
        mark => text.ends_with(mark),
    }
}

fn has_case(text: &str, case: &str) -> bool {
    // Not of what must not be touched.
    let plain =
        text.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit() || "@{/".contains(c)));
    let letters = |word: &str| word.chars().filter(|c| c.is_alphabetic()).collect::<Vec<_>>();
    let mut words = plain.map(letters).filter(|letters| !letters.is_empty());
    match case {
        "upper" => words.all(|word| word.iter().all(|c| c.is_uppercase())),
        "lower" => words.all(|word| word.iter().all(|c| c.is_lowercase())),
        "title" => words.all(|word| word[0].is_uppercase()),
        other => panic!("no case is called `{other}`"),
    }
}
