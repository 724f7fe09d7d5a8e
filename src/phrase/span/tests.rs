//! Spans of real texts, and of any bytes.

use super::SpanKind::*;
use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec;
use std::vec::Vec;

fn spans(text: &[u8], unknown: impl Fn(char) -> bool) -> Vec<(Range<usize>, SpanKind)> {
    let mut found = vec![];
    let mut at = 0;
    while let Some((range, kind)) = next(text, at..text.len(), &unknown) {
        at = range.end;
        found.push((range, kind));
    }
    found
}

/// Spans are written in `⟦⟧`, which are not in the text.
fn check_with(marked: &str, kinds: &[SpanKind], unknown: impl Fn(char) -> bool) {
    let text = marked.replace(['⟦', '⟧'], "");
    let mut shown = String::new();
    let mut at = 0;
    let found = spans(text.as_bytes(), unknown);
    for (range, _) in &found {
        shown.push_str(&text[at..range.start]);
        shown.push('⟦');
        shown.push_str(&text[range.clone()]);
        shown.push('⟧');
        at = range.end;
    }
    shown.push_str(&text[at..]);
    assert_eq!(shown, marked);
    assert_eq!(found.iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), kinds, "{marked}");
}

/// All spans of one kind.
fn check(marked: &str, kind: SpanKind) {
    check_with(marked, &vec![kind; marked.matches('⟦').count()], |_| false);
}

#[test]
fn numbers() {
    for text in [
        "I have ⟦3⟧ dogs, ⟦12⟧ cats and ⟦0⟧.",
        "It costs ⟦$12.50⟧, ⟦12€⟧, ⟦12 €⟧, ⟦US$3⟧ or ⟦£1,000.50⟧.",
        "Is it ⟦5⟧? No: ⟦6⟧: ⟦7⟧; ⟦8⟧! (⟦9⟧)…",
        "At ⟦10:30⟧, ⟦5:45⟧, ⟦17h30⟧, ⟦5pm⟧ or ⟦10:30am⟧, the ⟦3rd⟧, ⟦1º⟧, ⟦2ª⟧, ⟦1er⟧, ⟦2ème⟧.",
        "On ⟦2024-05-01⟧, ⟦1/2/2024⟧, ⟦01.02.2024⟧, in the ⟦1990s⟧, the ⟦3⟧. Mai ⟦2024⟧.",
        "Call ⟦555-1234⟧, ⟦+34 600 123 456⟧, ⟦(555) 123-4567⟧, ⟦+1 (555) 123-4567⟧.",
        "⟦5kg⟧, ⟦10cm⟧, ⟦3GB⟧, ⟦5m²⟧, ⟦50km/h⟧, ⟦20°C⟧, ⟦20 °C⟧, ⟦90°⟧, ⟦5кг⟧.",
        "⟦50%⟧ off, ⟦50 %⟧ de descuento, ⟦0.5‰⟧, ⟦-5%⟧, ⟦+3⟧, ⟦−7⟧, ⟦18+⟧, ⟦.5⟧, ⟦100%⟧.",
        "⟦1 000 000⟧ and ⟦1\u{202f}000,5⟧ and ⟦1'000'000⟧; ⟦1\u{a0}234⟧, in ⟦2024⟧ ⟦100⟧ people",
        "⟦3-5⟧ or ⟦3–5⟧ times, ⟦$5-$10⟧, ⟦4x4⟧, ⟦2×3⟧, ⟦5+5=10⟧, ⟦24/7⟧, ⟦192.168.1.1⟧",
        "a ⟦20⟧-year-old man, mid-⟦1990s⟧, ⟦5⟧ x ⟦6⟧, ⟦80⟧-jährig, <⟦3⟧",
        "⟦½⟧ cup, ⟦2½⟧ cups, Chapter ⟦Ⅳ⟧, ⟦①⟧ one",
        "價格⟦3⟧元，⟦５０％⟧，⟦2024⟧年⟦5⟧月⟦1⟧日，⟦￥500⟧，第⟦3⟧課",
        "الساعة ⟦٣:٣٠⟧ و⟦٥⟧ أيام، ⟦۱۲⟧، ⟦१२⟧ किताबें, ⟦5⟧시에, ⟦5⟧คน",
        "⟦№5⟧, ⟦§3⟧, ⟦5'11⟧\" tall",
    ] {
        check(text, Number);
    }
}

#[test]
fn code() {
    for text in [
        "Use ⟦abc123⟧, ⟦A4⟧, ⟦COVID-19⟧, ⟦MP3⟧, ⟦B2B⟧, ⟦F-16⟧, ⟦H₂O⟧ and ⟦A4-B5⟧.",
        "Call ⟦foo_bar⟧ or ⟦MAX_LEN⟧, ⟦__init__⟧, ⟦camelCase⟧, ⟦iPhone⟧, ⟦print()⟧. _Very_ nice.",
        "The tag ⟦#latimer⟧, the user ⟦@some_one⟧, ⟦#1⟧, ⟦@josé⟧: yes.",
        "Run ⟦`let x = 5;`⟧ and ⟦``a`b``⟧, not `this.",
        "Open ⟦src/main.rs⟧, ⟦report.pdf⟧, ⟦/etc/hosts⟧, ⟦~/x⟧, ⟦./run.sh⟧, ⟦C:\\Users\\me⟧, ⟦a\\b⟧.",
        "Version ⟦v1.2.3⟧, address ⟦0xFF⟧, code ⟦A4/B5⟧ (⟦X1⟧).",
        "我用⟦iPhone15⟧手机",
    ] {
        check(text, Code);
    }
    check(
        "He/she, McDonald in D.C. and/or the TV is OK, I'm in the USA. Well-known X-ray, AC/DC - e.g. this; C'est l'homme.",
        Code,
    );
}

#[test]
fn addresses() {
    for text in [
        "See ⟦https://example.com/a?b=c#d⟧.",
        "(⟦http://x.org/a_(b)⟧) or ⟦www.example.com⟧, ⟦ftp://a.b/c⟧!",
        "Is it ⟦example.com⟧? Or ⟦sub.example.co.uk/x/y.html⟧, ⟦localhost.dev:8080/x⟧; ⟦be.me/5⟧.",
        "去⟦https://a.com/x⟧看看，⟦https://b.cn⟧。",
        "<⟦https://a.com⟧> «⟦https://b.com⟧»",
        "⟦ßwww.x.com⟧ and ⟦ßwww.x.berlin⟧, ⟦StraßWWW.x.berlin/ß⟧; ⟦v1www.x.com⟧ or ⟦v1www.x.berlin⟧.",
        "⟦v1.0https://x.berlin⟧ ⟦$5www.x.berlin⟧ ⟦éhttp://x.berlin⟧ ⟦señor.es⟧ ⟦x.café.de⟧ ⟦5https://x.y⟧",
        "Awww.So sweet! www. Yes www",
        "I know.it is. That's all.Then no. Es bien.De nada. VISIT ⟦EXAMPLE.COM⟧ NOW",
    ] {
        check(text, Url);
    }
    check("Mail ⟦a.b+c@example.com⟧, ⟦x@y.de⟧. Or <⟦a-b@c.co.uk⟧>, ⟦señor@x.com⟧, ⟦a@straße.de⟧é", Email);
}

#[test]
fn placeholders() {
    for text in [
        "Hello ⟦{name}⟧, ⟦{}⟧ ⟦{0}⟧ ⟦{{a.b}}⟧ ⟦{{ user.name }}⟧ ⟦${x}⟧ ⟦%{count}⟧ ⟦#{id}⟧.",
        "⟦%s⟧ has ⟦%d⟧ ⟦%1$s⟧ ⟦%(name)s⟧ ⟦%@⟧ ⟦%.2f⟧ ⟦%%⟧ ⟦%lu⟧ ⟦%5d⟧ ⟦%-3s⟧ ⟦%PATH%⟧.",
        "⟦[[x]]⟧ ⟦:smile:⟧ ⟦:+1:⟧!",
        "Note: this {is text} and [[see there]]: yes :) :-( % de %discount",
    ] {
        check(text, Placeholder);
    }
    check_with("⟦50%⟧ discount for ⟦%s⟧", &[Number, Placeholder], |_| false);
}

#[test]
fn tags() {
    for text in [
        "⟦<b>⟧bold⟦</b>⟧⟦<br/>⟧⟦<br />⟧ ⟦<a href=\"x\">⟧link⟦</a>⟧ ⟦<x-y:z>⟧ ⟦<!-- no -->⟧",
        "Tom ⟦&amp;⟧ Jerry ⟦&#39;⟧⟦&#x27;⟧⟦&nbsp;⟧ R&D; AT&T & me;",
        "a < b and c > d, a <b and c> d, <- -> <>",
    ] {
        check(text, Tag);
    }
    check_with("I <⟦3⟧ you", &[Number], |_| false);
}

#[test]
fn emoji_sequences() {
    for text in [
        "Hi ⟦😀⟧! ⟦😀😂⟧ ⟦👨\u{200d}👩\u{200d}👧⟧ ⟦🇪🇸⟧, ⟦👍🏽⟧",
        "⟦5\u{fe0f}\u{20e3}⟧ ⟦#\u{20e3}⟧ ⟦❤\u{fe0f}⟧love ⟦©\u{fe0f}⟧ ⟦🏴\u{e0067}\u{e0062}\u{e007f}⟧ ⟦★⟧ © → क\u{94d}\u{200d}ष",
    ] {
        check(text, Emoji);
    }
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

#[test]
fn foreign_writing() {
    check_with("The word ⟦привет⟧ means hi.", &[Foreign], is_cyrillic);
    check_with("⟦Война и мир⟧, ⟦что-то⟧ - and ⟦я⟧ ", &[Foreign; 3], is_cyrillic);
    check_with("⟦дом⟧ ⟦5⟧ ⟦улица⟧", &[Foreign, Number, Foreign], is_cyrillic);
    check_with(
        "ok ⟦☃⟧⟦ж😀⟧".replace("⟦ж😀⟧", "⟦ж⟧⟦😀⟧").as_str(),
        &[Emoji, Foreign, Emoji],
        |c| is_cyrillic(c) || c > '\u{10000}',
    );
    check_with("⟦\u{200d}⟧a⟦ ⟧b", &[Foreign, Foreign], |c| c == '\u{200d}' || c == ' ');
}

fn check_any(text: &[u8], start: usize, unknown: impl Fn(char) -> bool) {
    let chars: Vec<_> = chars_from(text, start).collect();
    let mut at = start;
    let mut covered = vec![false; text.len()];
    while let Some((range, _)) = next(text, at..text.len(), &unknown) {
        assert!(range.start >= at && range.start < range.end && range.end <= text.len(), "{range:?}");
        assert!(chars.iter().any(|(found, _)| found.start == range.start));
        assert!(chars.iter().any(|(found, _)| found.end == range.end));
        covered[range.clone()].fill(true);
        at = range.end;
    }
    for (range, c) in chars {
        assert!(covered[range.start] || !(is_digit(c) || unknown(c)), "{c:?} at {range:?}");
        assert!(covered[range.clone()].iter().all(|&is| is == covered[range.start]));
    }
}

proptest! {
    #[test]
    fn spans_of_any_bytes(text: Vec<u8>, split in 2u32..5) {
        check_any(&text, 0, |c| u32::from(c).is_multiple_of(split));
    }

    #[test]
    fn spans_of_any_string(text: String, start in 0usize..9) {
        check_any(text.as_bytes(), start, |c| c > '\u{1000}');
    }

    #[test]
    fn spans_of_likely_text(
        text in "([a-cA-C]{0,2}[-0-9 .,:/'%$€(){}\\[\\]<>@#_`&;+=\\\\٣½é日ж😀\u{200d}\u{fe0f}\u{20e3}\u{a0}]{0,4}(www\\.|http://|\\.com|:\\\\)?){0,12}",
        start in 0usize..9,
    ) {
        check_any(text.as_bytes(), start, |_| false);
        check_any(text.as_bytes(), start, |c| is_cyrillic(c) || c == ' ');
    }
}

/// What only starts like a span is searched for its end within a bound: without it, these would take minutes.
#[test]
fn hostile_texts_take_linear_time() {
    for pattern in ["<", "`", "{{", "(", "a.", "%(", "<a ", "A-", "/x", ":ab", "&ab", " ", "a@", "http://", "ж "] {
        let text = pattern.repeat(20_000);
        check_count(text.as_bytes());
    }
}

fn check_count(text: &[u8]) {
    let mut at = 0;
    while let Some((range, _)) = next(text, at..text.len(), &is_cyrillic) {
        assert!(range.end > at);
        at = range.end;
    }
}

/// A run of unknown characters ends where something begins that is known by its form.
#[test]
fn unknown_characters_leave_tags_alone() {
    check_with(
        "\u{27e6}Привет мир\u{27e7} \u{27e6}<b>\u{27e7}\u{27e6}Том\u{27e7}\u{27e6}</b>\u{27e7} a",
        &[Foreign, Tag, Foreign, Tag],
        |c| !(c.is_ascii_alphabetic() || c == ' '),
    );
}
