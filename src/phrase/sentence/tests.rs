//! Sentences of many languages, and any bytes.

use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

fn sentences(text: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut at = 0;
    while let Some(range) = next(text.as_bytes(), at) {
        at = range.end;
        found.push(&text[range]);
    }
    found
}

/// Sentences are written with `|` between them, which is not in the text.
fn check(marked: &str) {
    let expected: Vec<&str> = marked.split('|').map(str::trim).filter(|sentence| !sentence.is_empty()).collect();
    assert_eq!(sentences(&marked.replace('|', "")), expected);
}

#[test]
fn simple_sentences() {
    check("");
    check(" \n\t\u{3000} ");
    check("Hello");
    check("  Hello.  ");
    check("Hello. |How are you? |I'm fine! |See you...");
    check("Where is the station?| I don't know.\n|\n  It's late");
    check("One line|\nanother line|\r\nand a third\u{85}|fourth\u{2028}|fifth");
    check("Really?! |Yes!!! |No way...| OK.");
    check("¿Dónde está el baño? |¡Ayuda! |No sé. |¿Y usted?");
    check("¿Qué?|¿Cómo?");
    check("Ja. |Nein. |Ich weiß es nicht. |Äpfel sind gut.");
    check("Привет! |Как дела? |Это я. |Спасибо.");
    check("Γεια σου. |Πού είναι ο σταθμός; |Δεν ξέρω.");
    check("Բարեւ։ |Ո՞ւր է կայարանը։");
    check("مرحبا. |كيف حالك؟ |أنا بخير!");
    check("आप कैसे हैं? |मैं ठीक हूँ। |धन्यवाद।|अच्छा");
    check("这是什么？|这是一本书。|好！|谢谢");
    check("駅はどこですか？| 右です。|ありがとう！！|行こう");
    check("你好!|今天好吗?|很好.");
    check("안녕하세요. |어디에 있어요?");
}

#[test]
fn quotes_and_brackets() {
    check("He said \"Stop!\" |Then he left.");
    check("\"Stop!\" she cried. |\"Why?\" he asked.");
    check("(I know.) |“Do you?” |‘Yes.’ |She nodded.");
    check("Er sagte: „Ich komme.“ |Dann ging er. |»Gut.« |Ende.");
    check("« Où est-il ? » |« Je ne sais pas. » |Il part.");
    check("« Oui ! » dit-il. |Bonjour ! |Ça va ?");
    check("Er schwieg. |»Komm«, sagte sie.");
    check("他说：“好。”|“走吧！”|完");
    check("「行く。」と彼は言った。|「はい。」|終わり");
    check("He left. |(She stayed.) |[End.]");
}

#[test]
fn marks_inside_sentences() {
    check("It costs 3.5 euros. |Or 1,000.50!");
    check("Mr. Smith and Mrs. Jones met Dr. Brown. |They talked.");
    check("MR. SMITH IS HERE. |HELLO.");
    check("J. Smith and J. R. R. Tolkien, the U.S. Army. |End.");
    check("So am I. |He left. |I. Newton was here.");
    check("We meet at 5 p.m. tomorrow. |At 6 a.m. |He left.");
    check("Open until 9 p.m. (or later), 5 p.m. 3 people.");
    check("Apples, pears, etc. are fruit. |Apples, pears, etc. |Then came tea.");
    check("Fruit, e.g. Apples, i.e. John. |See No. 5. |No. |I don't. |St. John.");
    check("Acme Inc. and Acme Ltd. |\nKing Jr. Day");
    check("El Sr. García y la Sra. López. |Ud. Es la Dra. Ruiz. |Uds. Son EE. UU. |Hoy.");
    check("M. Dupont et Mme. Durand. |Mlle. Petit, etc. |Oui.");
    check("Hr. Müller, z.B. Brot, z. B. Käse usw. |Dann Nr. 5, ca. Montag, Fr. Schmidt.");
    check("Am 3. Mai 2024. |Ich habe 3. |Sie hat 4.");
    check("1. Buy milk. |\n2. Buy bread.| 3.1. Cheese.");
    check("В 2024 г. Москва, ул. Ленина, т.е. Здесь и т.д. |Потом.");
    check("Wait... what? |Well... |OK. |So… maybe. |Hm… |Yes.");
    check("the end. of it");
    check("Wait . . . what ? ! |Yes.");
    check("Go to example.com now. |Mail a.b@c.de. |Version v1.2.3 is out.");
    check("原价３．５元。|现价２.５元");
}

#[test]
fn marks_and_emoji_alone() {
    for text in ["...", "?!", "!!! ... ???", "😀", "😀 😀. 🇪🇸!", "--- * ---", "。。。", "\"", "…\u{a0}."]
    {
        assert_eq!(sentences(text), [text]);
    }
    check("... Hello. |Bye.");
    check("Hello!😀 |Bye.❤\u{fe0f} |Yes 👍");
}

#[test]
fn cut_places() {
    let check = |marked: &str, most: usize| {
        let (head, tail) = marked.split_once('|').unwrap();
        let text = format!("{head}{tail}");
        assert_eq!(&text[..cut(text.as_bytes(), most)], head, "{marked} {most}");
    };
    check("Short enough.|", 13);
    check("When I came home,| he was there", 20);
    check("When I came home, he was there;| I left", 36);
    check("I went – as always –| to the sea", 27);
    check("One (of many)| was there today", 20);
    check("hello.| how are you", 12);
    check("this is Mr. Smith| over there", 19);
    check("we ate, and then we went to bed very| late today", 38);
    check("a, then there was| nothing at all", 20);
    check("it costs| 1 000 000 euros", 14);
    check("call| +34 600 123 456", 12);
    check("pay 1,000,000 now| or never", 18);
    check("昨天我在家，|今天我在公司", 30);
    check("昨天我在家今|天我在公司里", 20);
    check("OK 昨天我在家|今天我在公司", 20);
    check("Donaudampf|schifffahrt", 10);
    check("ée|\u{301}é".replace("|\u{301}", "\u{301}|").as_str(), 5);
    check("👍🏽|👍🏽".replace('|', "").replacen("🏽", "🏽|", 1).as_str(), 9);
    check("12345|67890", 5);
    check("é|é", 1);
    check("é|", 1);
    check("ab|", 9);
    assert_eq!(cut(b"", 0), 0);
}

fn check_any(text: &[u8], start: usize) {
    let boundaries: Vec<usize> = chars_from(text, start).map(|(range, _)| range.start).chain([text.len()]).collect();
    let mut at = start;
    while let Some(range) = next(text, at) {
        assert!(range.start >= at && range.start < range.end && range.end <= text.len());
        assert!(boundaries.contains(&range.start) && boundaries.contains(&range.end));
        let between = chars_from(&text[..range.start], at);
        assert!(between.into_iter().all(|(_, c)| is_space(c)));
        let last = char_before(text, range.end).unwrap();
        assert!(!is_space(char_at(text, range.start).unwrap()) && !is_space(last));
        for most in [0, 1, 5, 16, range.len()] {
            let sentence = &text[range.clone()];
            let len = cut(sentence, most);
            assert!(len > 0 && boundaries.contains(&(range.start + len)));
            assert!(len <= most || chars_from(sentence, 0).next().unwrap().0.end == len);
        }
        at = range.end;
    }
    assert!(chars_from(text, at).all(|(_, c)| is_space(c)));
}

proptest! {
    #[test]
    fn sentences_cover_any_bytes(text: Vec<u8>) {
        check_any(&text, 0);
    }

    #[test]
    fn sentences_cover_any_text(text in "([a-zA-Z]{0,4}[ .!?…。！»\"'(),;1-9😀Ω是\n\u{a0}]{0,3}){0,20}") {
        check_any(text.as_bytes(), 0);
    }

    #[test]
    fn sentences_cover_any_string(text: String) {
        check_any(text.as_bytes(), text.len() + 1);
        check_any(text.as_bytes(), 0);
    }
}
