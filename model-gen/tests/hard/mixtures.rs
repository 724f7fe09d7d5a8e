//! Two thousand mixtures of fragments of all kinds, with random options, limits and beams.

use super::check::{Said, lost_digits};
use super::{blob, each, none_wrong};
use latimer::{Error, Limits, Model, TextOptions, Translator};
use model_gen::aligned::AlignedBytes;
use model_gen::testing::SplitMix64;

const COUNT: usize = 2000;

const FRAGMENTS: [&[u8]; 72] = [
    b"the",
    b"cat",
    b"Hello",
    b"I",
    b"don't",
    b"WHERE",
    b"station",
    b"Tom",
    b"seven",
    b"very",
    b"Good morning",
    b"is",
    b"a",
    b"of",
    b"please",
    b"zzz",
    b"McDonald",
    b"iPhone",
    b"12",
    b"$3.50",
    b"10:30",
    b"555-1234",
    b"(212) 555-0199",
    b"2025-01-31",
    b"50 %",
    b"3rd",
    b"v1.2",
    b"0xff",
    b"A4-B5",
    b"1,000,000",
    b"https://x.org/a?b=1",
    b"a@b.com",
    b"{x}",
    b"{{a.b}}",
    b"%1$s",
    b"%d",
    b"<b>",
    b"</b>",
    b"<a href=\"x\">",
    b"&amp;",
    b"\xf0\x9f\x98\x80",
    b"1\xef\xb8\x8f\xe2\x83\xa3",
    b"\xf0\x9f\x87\xaa\xf0\x9f\x87\xb8",
    b"\xe6\x97\xa5\xe6\x9c\xac",
    b"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    b"\xc3\xb1",
    b"e\xcc\x81",
    b".",
    b"!",
    b"?",
    b"...",
    b"\xe2\x80\xa6",
    b",",
    b":",
    b";",
    b"\"",
    b"'",
    b"(",
    b")",
    b"\xe2\x80\x94",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\t",
    b"   ",
    b"\xe3\x80\x80",
    b"\xc2\xa0",
    b"\x00",
    b"\xff",
    b"\xe2\x82",
    b"\xef\xbb\xbf",
    b">>spa<<",
];

/// Fragments next to each other, with a space between most.
fn mixture(random: &mut SplitMix64) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.below(12) {
        let times = if random.below(12) == 0 { 1 + random.below(6) } else { 1 };
        let fragment = FRAGMENTS[random.below(FRAGMENTS.len())];
        for _ in 0..times {
            text.extend(fragment);
            if random.below(4) > 0 {
                text.push(b' ');
            }
        }
    }
    text
}

/// Options, some of them off in half of the cases.
fn options(random: &mut SplitMix64) -> TextOptions {
    let mut on = |usual: bool| usual || random.below(2) == 0;
    let usual = on(false);
    let mut on = |_| on(usual);
    TextOptions {
        sentences: on(()),
        protect: on(()),
        casing: on(()),
        punctuation: on(()),
        guards: on(()),
        glossary: on(()),
        stream: true,
    }
}

/// The translation, and what is wrong with it.
fn check(translator: &mut Translator, text: &[u8], options: TextOptions) -> Vec<String> {
    let mut say = |text: &[u8]| {
        let mut target = String::new();
        let outcome = translator.translate_text(text, options, &mut (), &mut target)?;
        Ok::<_, Error>(Said { text: target, warnings: outcome.warnings })
    };
    if std::env::var_os("LATIMER_SHOW").is_some() {
        println!("{:?} {options:?}", String::from_utf8_lossy(text));
    }
    let said = say(text);
    // Something else in between leaves no trace.
    let _ = say(b"Another 3 words.");
    let mut wrong = Vec::new();
    if say(text) != said {
        wrong.push("another translation at the second time".to_owned());
    }
    match &said {
        Ok(said) => {
            let source = String::from_utf8_lossy(text);
            wrong.extend(lost_digits(&source, said).map(|digits| format!("{digits} is lost in silence")));
            let blank = source.trim().is_empty();
            if blank && said.text != source {
                wrong.push("white space is not kept".to_owned());
            }
            let lines = |text: &str| text.chars().filter(|c| matches!(c, '\n' | '\r')).count();
            if options.sentences && lines(&said.text) != lines(&source) {
                wrong.push("lines are not kept".to_owned());
            }
            if said.text.contains('\u{2047}') {
                wrong.push("the unknown piece is in it".to_owned());
            }
        }
        Err(error) => wrong.push(format!("refused: {error}")),
    }
    let said = said.map_or(String::new(), |said| format!("{:?} ({})", said.text, said.warnings));
    let show = |wrong| format!("{wrong}: {:?} -> {said} {options:?}", String::from_utf8_lossy(text));
    wrong.into_iter().map(show).collect()
}

/// `LATIMER_SEED=N` makes other mixtures.
fn random(seed: u64) -> SplitMix64 {
    SplitMix64::new(std::env::var("LATIMER_SEED").map_or(seed, |seed| seed.parse().expect("LATIMER_SEED is a number")))
}

#[test]
fn mixtures_of_all_kinds_keep_what_they_must() {
    let mut random = self::random(2000);
    let inputs: Vec<(Vec<u8>, TextOptions)> =
        (0..COUNT).map(|_| (mixture(&mut random), options(&mut random))).collect();
    let check =
        |translator: &mut Translator, (text, options): &(Vec<u8>, TextOptions)| check(translator, text, *options);
    none_wrong(each(Limits::DEFAULT, &inputs, check).concat());
}

/// Limits with room for little, and several hypotheses.
#[test]
fn so_do_they_where_there_is_little_room() {
    let mut random = self::random(16);
    let model = Model::from_bytes(blob()).unwrap();
    let mut wrong = Vec::new();
    for beams in 1..=4 {
        for _ in 0..8 {
            let limits = Limits {
                source_tokens: 4 + random.below(9) as u16,
                target_tokens: 8 + random.below(24) as u16,
                text_bytes: 16 + random.below(49) as u16,
                beams,
            };
            let mut arena = AlignedBytes::zeroed(model.arena_len(limits).unwrap());
            let mut translator = model.translator(&mut arena, limits).unwrap();
            for _ in 0..16 {
                let (text, options) = (mixture(&mut random), options(&mut random));
                let found = check(&mut translator, &text, options);
                wrong.extend(found.into_iter().map(|wrong| format!("{limits:?}: {wrong}")));
            }
        }
    }
    none_wrong(wrong);
}
