//! Letter case of a whole phrase: models are trained on sentences, so a phrase in capitals or a title is translated as
//! a sentence, and its case is put back as the translation is written.

use super::chars::{chars, is_letter, is_listed, is_lower, is_upper, upper};
use super::punctuation::{Final, final_of};
use core::ops::Range;

/// Case of a phrase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Case {
    /// A sentence, or what cannot be told from one.
    #[default]
    AsIs,
    /// All in capitals.
    Upper,
    /// A capital at the start of every word but the small ones.
    Title,
}

/// Fewest letters of a single word in capitals that is not taken for an acronym.
const SHORTEST_UPPER: usize = 5;
/// Words that titles write small in English, Spanish, French, Italian and Portuguese. German has none here: its
/// sentences look like titles otherwise, "Der Hund und die Katze".
const SMALL: &str = "a an the and or nor but of in on at to by for as vs via per de del la el los las le les y e o u \
    et ou en du des di da do dos das al";

/// What the words of a phrase have been so far.
#[derive(Default)]
struct Words {
    /// Words with cased letters.
    count: usize,
    /// Letters of the longest word.
    longest: usize,
    has_lower: bool,
    /// Words that titles are told by: not "I", which is a capital anyway.
    titled: usize,
    /// Words that titles write small.
    small: usize,
    /// Whether a word starts small that titles don't write so.
    is_sentence: bool,
}

/// Case of a phrase. Letters at bytes that `is_in_span` holds for don't count: a model does not see them.
pub(crate) fn case_of(text: &[u8], is_in_span: impl Fn(usize) -> bool) -> Case {
    let mut words = Words::default();
    let mut word = 0..0;
    for (range, c) in chars(text) {
        let goes_on = is_letter(c) || (!word.is_empty() && is_joint(c));
        if goes_on && !is_in_span(range.start) {
            word = if word.is_empty() { range } else { word.start..range.end };
        } else {
            words.add(text, core::mem::take(&mut word));
        }
    }
    words.add(text, word);
    match words {
        Words { has_lower: false, count, longest, .. } if count >= 2 || longest >= SHORTEST_UPPER => Case::Upper,
        Words { has_lower: true, is_sentence: false, titled, small, .. } => {
            // A title has no stop; a sentence of names may look like one: "Vi a Tom y Mary.", "Kennen Sie Herrn Tom?"
            let is_title = match final_of(text) {
                Final::None | Final::Other => titled >= 3,
                _ => titled >= 5 && small == 0,
            };
            if is_title { Case::Title } else { Case::AsIs }
        }
        _ => Case::AsIs,
    }
}

impl Words {
    #[inline(never)]
    fn add(&mut self, text: &[u8], range: Range<usize>) {
        let word = text.get(range).unwrap_or_default();
        let cased = || chars(word).filter(|(_, c)| is_upper(*c) || is_lower(*c));
        let Some((_, first)) = cased().next() else { return };
        self.count = self.count.saturating_add(1);
        self.longest = self.longest.max(cased().count());
        self.has_lower |= cased().any(|(_, c)| is_lower(c));
        let is_small = is_listed(SMALL, word);
        let is_pronoun = first == 'I' && chars(word).nth(1).is_none_or(|(_, c)| !is_letter(c));
        if is_upper(first) {
            self.titled = self.titled.saturating_add(usize::from(!is_pronoun));
        } else if is_small && self.count > 1 {
            self.small = self.small.saturating_add(1);
        } else {
            self.is_sentence = true;
        }
    }
}

/// Whether `c` is inside words.
fn is_joint(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '-')
}

/// Whether a word or a few, alone, are in capitals: "DOG", "THE END", but not "I".
pub(crate) fn is_shouted(text: &[u8]) -> bool {
    let mut capitals = 0usize;
    chars(text).all(|(_, c)| {
        capitals = capitals.saturating_add(usize::from(is_upper(c)));
        !is_lower(c)
    }) && capitals > 1
}

/// Writes a glossary's text in the letter case of what it is for.
pub(crate) struct Lettering<'r> {
    /// Of the phrase.
    pub(crate) restore: &'r mut Restore,
    /// Whether its first letter becomes a capital.
    pub(crate) capital: bool,
}

impl Lettering<'_> {
    /// The next character of the text, as it is to be written.
    pub(crate) fn push(&mut self, c: char) -> char {
        let written = self.restore.push(c);
        if is_letter(c) && core::mem::take(&mut self.capital) { upper(written) } else { written }
    }
}

/// Puts a phrase's case back into its translation, a character at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restore {
    case: Case,
    /// Whether the next letter is inside a word.
    in_word: bool,
}

impl Restore {
    /// Of a translation that begins.
    pub(crate) const fn new(case: Case) -> Self {
        Restore { case, in_word: false }
    }

    /// The next character of the translation, as it is to be written.
    pub(crate) fn push(&mut self, c: char) -> char {
        let starts = is_letter(c) && !self.in_word;
        self.in_word = is_letter(c) || c.is_ascii_digit() || (self.in_word && is_joint(c) && c != '-');
        match self.case {
            Case::Upper => upper(c),
            Case::Title if starts => upper(c),
            _ => c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::String;
    use std::vec::Vec;

    fn of(text: &str) -> Case {
        case_of(text.as_bytes(), |_| false)
    }

    #[test]
    fn capitals() {
        for text in ["HELLO", "NO SMOKING", "I AM HERE.", "¿DÓNDE ESTÁ?", "GRÖSSE", "ПРИВЕТ, КАК ДЕЛА?", "ΓΕΙΑ ΣΟΥ"]
        {
            assert_eq!(of(text), Case::Upper, "{text}");
        }
        for text in [
            "",
            "I",
            "OK",
            "USA",
            "A",
            "NATO",
            "NO!",
            "STOP!",
            "Hello",
            "hello",
            "HELLO there",
            "123",
            "你好",
            "مرحبا بكم",
            "5 KG",
        ] {
            assert_eq!(of(text), Case::AsIs, "{text}");
        }
    }

    #[test]
    fn titles() {
        for text in [
            "Tom Smith Lives In New York",
            "The Lord of the Rings",
            "How to Train Your Dragon",
            "Don't Stop Believin' Now",
            "Cien Años de Soledad de Gabriel",
            "I Love New York",
            "Privacy Policy and Terms",
            "Спасти Рядового Райана",
            "Do You Know How It Works?",
        ] {
            assert_eq!(of(text), Case::Title, "{text}");
        }
        for text in [
            "I love New York",
            "I met Tom and Ann.",
            "I'm Tom Smith",
            "Tom and Ann Smith are here",
            "New York",
            "Vi a Tom y Mary.",
            "Haben Sie Hunger?",
            "Tomorrow is Christmas Day",
            "Where is the Red Cross?",
            "the New York Times",
            "Die Katze ist im Haus.",
            "Der Hund und die Katze",
            "Where is the station?",
            "Ich habe ein Auto und Geld",
        ] {
            assert_eq!(of(text), Case::AsIs, "{text}");
        }
    }

    #[test]
    fn spans_do_not_count() {
        let text = b"see https://x.org NOW PLEASE";
        assert_eq!(case_of(text, |_| false), Case::AsIs);
        assert_eq!(case_of(text, |at| at < 17), Case::Upper);
        assert_eq!(case_of(b"PRESS Ctrl NOW", |at| (6..10).contains(&at)), Case::Upper);
    }

    fn restored(case: Case, text: &str) -> String {
        let mut restore = Restore::new(case);
        text.chars().map(|c| restore.push(c)).collect()
    }

    #[test]
    fn restoring() {
        assert_eq!(restored(Case::AsIs, "Hola, señor."), "Hola, señor.");
        assert_eq!(restored(Case::Upper, "¿Dónde está el baño?"), "¿DÓNDE ESTÁ EL BAÑO?");
        assert_eq!(restored(Case::Upper, "straße, œuvre, ёж, ψάρι, ÿ"), "STRAßE, ŒUVRE, ЁЖ, ΨΆΡΙ, Ÿ");
        assert_eq!(restored(Case::Title, "don't stop, l’été à new york"), "Don't Stop, L’été À New York");
        assert_eq!(restored(Case::Title, "spider-man: \"el niño\" 3rd año"), "Spider-Man: \"El Niño\" 3rd Año");
    }

    #[test]
    fn shouts_and_capitals() {
        let found = ["DOG", "THE END!", "TV", "I", "Dog", "", "5", "\u{d1}U"].map(|text| is_shouted(text.as_bytes()));
        assert_eq!(found, [true, true, true, false, false, false, false, true]);
        let mut restore = Restore::new(Case::AsIs);
        let mut lettering = Lettering { restore: &mut restore, capital: true };
        assert_eq!("(\u{f1}u \u{f1}u)".chars().map(|c| lettering.push(c)).collect::<String>(), "(\u{d1}u \u{f1}u)");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_case(text: Vec<u8>) {
            case_of(&text, |at| at % 3 == 0);
        }

        #[test]
        fn restored_capitals_are_capitals(text in "[a-zäöüñéа-я]{5,9}( [a-zñé]{1,9}){0,4}") {
            assert_eq!(of(&restored(Case::Upper, &text)), Case::Upper);
            assert_eq!(restored(Case::Upper, &text), text.to_uppercase());
        }
    }
}
