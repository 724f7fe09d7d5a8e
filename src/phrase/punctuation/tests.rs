//! Endings of many languages, and of any bytes.

use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

#[test]
fn classes() {
    use Final::*;
    for (class, texts) in [
        (None, &["", "Hello", "Hello 😀", "\"Hello\"", "(hi)", "3.5", "5%", "你好", " "][..]),
        (
            Stop,
            &[
                "Hello.",
                "\"Hello.\"",
                "Hello\".",
                "Hi. 😀",
                "(Yes.) ",
                "你好。",
                "“好。”",
                "ठीक हूँ।",
                "۔",
                "Բարեւ։",
                "« Oui. »",
                ".",
            ],
        ),
        (
            Question,
            &["Why?", "Why?!", "What?! ", "« Où ? »", "什么？", "كيف؟", "Πού;", "Τι\u{37e}", "\"Why?\".", "“Really‽”"]
                [..9],
        ),
        (Question, &["Really‽", "(¿Qué?)", "Vous plaisantez ? !"]),
        (Exclamation, &["No!", "No!!", "¡No!»", "好！", "Bonjour !", "Hi!😀"]),
        (Ellipsis, &["Well...", "Well…", "Well..", "嗯……", "\"So...\" "]),
        (Other, &["Name:", "Well,", "Yes;", "And —", "这个：", "ثم،"]),
    ] {
        for text in texts {
            let expected = if *text == "\"Why?\"." { Stop } else { class };
            assert_eq!(final_of(text.as_bytes()), expected, "{text}");
        }
    }
}

fn edited(text: &str, edit: Option<Edit>) -> String {
    let mut text = String::from(text);
    if let Some(edit) = edit {
        text.replace_range(edit.range, edit.put);
    }
    text
}

/// A draft, given how its source ends, becomes `expected`.
fn check(source: &str, draft: &str, expected: &str) {
    let adjusted = edited(draft, adjust(draft.as_bytes(), final_of(source.as_bytes())));
    assert_eq!(adjusted, expected, "{source} {draft}");
}

#[test]
fn marks_are_removed() {
    check("Station", "Estación.", "Estación");
    check("Station", "Estación", "Estación");
    check("Station", "Estación!", "Estación");
    check("Station", "Gare ?", "Gare");
    check("Station", "駅。", "駅");
    check("Station", "Estación…", "Estación");
    check("Station", "Estación...", "Estación");
    check("\"Station\"", "\"Estación.\"", "\"Estación\"");
    check("Hello 😀", "Hola. 😀", "Hola 😀");
    check("At 5 pm", "A las 5 p.m.", "A las 5 p.m.");
    check("In the US", "En EE. UU.", "En EE. UU.");
    check("Number five", "5.", "5");
    check("", "", "");
    check("x", ".", "");
}

#[test]
fn marks_are_put() {
    check("Hello.", "Hola", "Hola.");
    check("Hello.", "你好", "你好。");
    check("Hello!", "こんにちは", "こんにちは！");
    check("Hello.", "안녕", "안녕.");
    check("Why?", "为什么", "为什么？");
    check("How?", "كيف حالك", "كيف حالك؟");
    check("How?", "आप कैसे हैं", "आप कैसे हैं?");
    check("Fine.", "ठीक हूँ", "ठीक हूँ।");
    check("Where?", "Πού είναι", "Πού είναι;");
    check("Well...", "Bueno", "Bueno...");
    check("Hello.", "Hola 😀", "Hola. 😀");
    check("He said \"yes\".", "Dijo \"sí\"", "Dijo \"sí\".");
    check("At 5 pm?", "A las 5 p.m.", "A las 5 p.m.?");
    check("At 5.", "A las 5 p.m.", "A las 5 p.m.");
    check("At 5.", "A las 5", "A las 5.");
    check("你好。", "Hello", "Hello.");
}

#[test]
fn marks_are_replaced() {
    check("Why?", "Por qué.", "Por qué?");
    check("Why?", "为什么。", "为什么？");
    check("Stop!", "Alto.", "Alto!");
    check("Stop.", "Arrêtez !", "Arrêtez.");
    check("Stop!", "Arrêtez ?", "Arrêtez !");
    check("Why?", "Por qué...", "Por qué?");
    check("So...", "Así que.", "Así que...");
    check("\"Why?\"", "\"Por qué.\"", "\"Por qué?\"");
    check("Hello.", "Hola,", "Hola.");
}

#[test]
fn agreeing_ends_stay() {
    check("Why?", "¿Por qué?!", "¿Por qué?!");
    check("Why?!", "¿Por qué?", "¿Por qué?");
    check("No!", "No!!!", "No!!!");
    check("He said \"yes.\"", "Dijo «sí».", "Dijo «sí».");
    check("你好。", "Hello.", "Hello.");
    check("Name:", "Nombre:", "Nombre:");
    check("Name:", "Nombre", "Nombre");
    check("Name", "Nombre:", "Nombre:");
    check("Oh…", "Ay...", "Ay...");
}

#[test]
fn spanish_opens_what_it_closes() {
    let check = |draft: &str, expected: &str| {
        let found = edited(draft, opening(draft.as_bytes(), final_of(draft.as_bytes()), true));
        assert_eq!(found, expected);
    };
    check("Dónde está?", "¿Dónde está?");
    check("¿Dónde está?", "¿Dónde está?");
    check("Hola, ¿qué tal?", "Hola, ¿qué tal?");
    check("Ayuda!", "¡Ayuda!");
    check("¡Ayuda!", "¡Ayuda!");
    check("\"Ayuda!\"", "\"¡Ayuda!\"");
    check("— Quién? 😀", "— ¿Quién? 😀");
    check("...y tú?", "...¿y tú?");
    check("¿Dónde está.", "Dónde está.");
    check("Hola, ¡mundo", "Hola, mundo");
    check("¿Ayuda!", "¡Ayuda!");
    check("¡Qué?", "¿Qué?");
    check("¡¿Qué?!", "¡¿Qué?!");
    check("¿Qué? Bien.", "¿Qué? Bien.");
    check("Hola.", "Hola.");
    check("", "");
    check("!Qué alto!", "¡Qué alto!");
    check("... ?Qué?", "... ¿Qué?");
    check("?", "¿?");
}

#[test]
fn other_languages_open_nothing() {
    let check = |draft: &str, expected: &str| {
        assert_eq!(edited(draft, opening(draft.as_bytes(), final_of(draft.as_bytes()), false)), expected);
    };
    check("¿Where is it?", "Where is it?");
    check("\"¡Help!\"", "\"Help!\"");
    check("Where is it?", "Where is it?");
    check("The ¿ mark", "The ¿ mark");
    check("", "");
}

const CLASSES: [Final; 6] =
    [Final::None, Final::Stop, Final::Question, Final::Exclamation, Final::Ellipsis, Final::Other];

fn check_any(draft: &[u8]) {
    let boundaries: Vec<usize> = chars(draft).map(|(range, _)| range.start).chain([draft.len()]).collect();
    for source in CLASSES {
        let edits = [adjust(draft, source), opening(draft, source, true), opening(draft, source, false)];
        for edit in edits.into_iter().flatten() {
            assert!(edit.range.start <= edit.range.end && !(edit.range.is_empty() && edit.put.is_empty()));
            assert!(boundaries.contains(&edit.range.start) && boundaries.contains(&edit.range.end));
        }
    }
}

proptest! {
    #[test]
    fn edits_of_any_bytes_are_at_boundaries(draft: Vec<u8>) {
        check_any(&draft);
    }

    #[test]
    fn edits_of_any_text_are_at_boundaries(draft in "[a-cñ是。¿¡?!.… \"»)😀ж;:,\u{a0}]{0,12}") {
        check_any(draft.as_bytes());
    }

    /// Adjusted drafts end as their source does.
    #[test]
    fn ends_agree(draft in "[a-d是]{1,5}[.!?…,]{0,2}[\")]?", source in 1usize..5) {
        let source = CLASSES[source];
        let adjusted = edited(&draft, adjust(draft.as_bytes(), source));
        prop_assert_eq!(final_of(adjusted.as_bytes()), source);
        prop_assert_eq!(adjust(adjusted.as_bytes(), source), None);
    }
}
