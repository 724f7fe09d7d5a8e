//! What the model must not touch stands in the output, or a warning says that it does not; and ids of parts that were asked about.

use super::{blob, each, none_wrong, say};
use latimer::{Limits, Model, TextOptions, Warnings};
use model_gen::run::{Choices, translate_all};

/// Signs that the normalizer makes letters of, drops, or has no piece for; addresses with something glued to them.
const KEPT: [(&str, &str); 16] = [
    ("Hello\u{2122}", "\u{2122}"),
    ("I like Coca-Cola\u{2122} a lot.", "\u{2122}"),
    ("Our Service\u{2120} is good!", "\u{2120}"),
    ("It is x\u{b2} and \u{bd} of it.", "\u{b2}"),
    ("It is x\u{b2} and \u{bd} of it.", "\u{bd}"),
    ("The \u{2103} is a unit.", "\u{2103}"),
    ("The 4\u{1d57}\u{2b0} house is big.", "\u{1d57}\u{2b0}"),
    ("A bag of 5 \u{338f} is here.", "\u{338f}"),
    ("Tom has x\u{207f} apples.", "\u{207f}"),
    ("Good\u{0} morning\u{7}.", "\u{7}"),
    ("\u{df}www.x.com", "\u{df}www.x.com"),
    ("See \u{df}www.x.berlin now.", "\u{df}www.x.berlin"),
    ("v1www.x.com", "v1www.x.com"),
    ("See v1www.x.berlin/a?b=1 now.", "v1www.x.berlin/a?b=1"),
    ("Go to v1.0https://x.berlin now.", "v1.0https://x.berlin"),
    ("Write to se\u{f1}or@example.com now.", "se\u{f1}or@example.com"),
];

#[test]
fn signs_and_glued_addresses_stay() {
    let wrong = each(Limits::DEFAULT, &KEPT, |translator, (text, kept)| {
        let said = say(translator, text.as_bytes(), TextOptions::DEFAULT);
        (said.text.matches(kept).count() != 1 || said.warnings.contains(Warnings::LOST))
            .then(|| format!("{text} -> {} ({})", said.text, said.warnings))
    });
    none_wrong(wrong.into_iter().flatten().collect());
}

/// What is written with letters that have other forms is translated as those.
#[test]
fn letters_of_other_forms_are_letters() {
    let texts = [("\u{fb01}sh", "fish"), ("\u{ff43}\u{ff41}\u{ff54}", "cat"), ("cafe\u{301}", "caf\u{e9}")];
    let texts = texts.map(|(text, plain)| [text, plain].map(|word| format!("I see a {word}.")));
    let wrong = each(Limits::DEFAULT, &texts, |translator, [text, plain]| {
        let [said, wanted] = [text, plain].map(|text| say(translator, text.as_bytes(), TextOptions::DEFAULT).text);
        (said != wanted).then(|| format!("{text} -> {said}, not {wanted}"))
    });
    none_wrong(wrong.into_iter().flatten().collect());
}

#[test]
fn a_number_does_not_swallow_the_words_beside_it() {
    let texts = ["1st hello", "1st place", "1st train"];
    let wrong = each(Limits::DEFAULT, &texts, |translator, text| {
        let said = say(translator, text.as_bytes(), TextOptions::DEFAULT);
        let letters = said.text.strip_prefix("1st").is_some_and(|rest| rest.contains(char::is_alphabetic));
        (!letters).then(|| format!("{text} -> {} ({})", said.text, said.warnings))
    });
    none_wrong(wrong.into_iter().flatten().collect());
}

/// Without protection the model may do what it likes with spans; that it did is said.
#[test]
fn without_protection_what_is_lost_is_told() {
    let texts = [
        ("Press <b>Start</b> now", "<b>"),
        ("Write to tom@example.com!", "tom@example.com"),
        ("PRESS <b>START</b> NOW", "<b>"),
        ("I love you \u{1f600}", "\u{1f600}"),
        ("Hello, {name}!", "{name}"),
        ("The word \u{65e5}\u{672c} is hard.", "\u{65e5}\u{672c}"),
        ("Hello\u{2122} Tom", "\u{2122}"),
        ("Call 555-1234 now, please.", "555-1234"),
        ("I am here.", "."),
    ];
    for casing in [true, false] {
        let options = TextOptions { protect: false, casing, ..TextOptions::DEFAULT };
        let wrong = each(Limits::DEFAULT, &texts, |translator, (text, span)| {
            let said = say(translator, text.as_bytes(), options);
            let lost = said.text.matches(span).count() < text.matches(span).count();
            (lost != said.warnings.contains(Warnings::LOST))
                .then(|| format!("{text} -> {} ({})", said.text, said.warnings))
        });
        none_wrong(wrong.into_iter().flatten().collect());
    }
}

/// What is copied behind a part that the model was asked about takes nothing from it.
#[test]
fn ids_are_those_of_the_last_part_that_was_asked_about() {
    let model = Model::from_bytes(blob()).unwrap();
    let choices = Choices { text: Some(TextOptions::DEFAULT), unknown: false, ..usize::MAX.into() };
    let long = format!("Good day to you. {}", "supercalifragilistic".repeat(9));
    let texts = ["Good day to you.", &long, "Good day to you. 12 \u{1f600}"];
    let said = translate_all(&model, Limits::DEFAULT, choices, &texts, || ()).unwrap();
    let said: Vec<_> = said.into_iter().map(Result::unwrap).collect();
    assert!(said[0].source_ids.len() > 3 && said[0].target_ids.len() > 3);
    for (said, of) in [(&said[1], &said[0]), (&said[2], &said[0])] {
        assert_eq!((&said.source_ids, &said.target_ids), (&of.source_ids, &of.target_ids), "{}", said.target);
        assert_eq!(said.outcome.parts, 1);
    }
}
