//! Numbers in five hundred phrases made from templates.

use super::check::{digits, lost_digits};
use super::{each, none_wrong, say};
use latimer::{Limits, TextOptions};
use model_gen::testing::SplitMix64;

/// Of a hundred phrases, so many keep all their numbers.
const SHARE: f64 = 99.0;
const COUNT: usize = 500;

/// Each capital stands for a number of a kind.
const TEMPLATES: [&str; 32] = [
    "It costs P.",
    "I paid P for N books.",
    "The bill is P, please.",
    "Could you lend me P until D?",
    "Is P too much for N tickets?",
    "The train leaves at T.",
    "The shop is open from T to T.",
    "We meet at T on D.",
    "My flight at T was cancelled!",
    "He was born on D.",
    "The museum opened on D and closed on D.",
    "I have N brothers and N sisters.",
    "There are N people in the room.",
    "She is N years old, he is N.",
    "Take N pills every N hours.",
    "The room number is N.",
    "Turn left after N meters.",
    "About Q of the N students passed.",
    "Prices fell by Q in N weeks.",
    "The code is C.",
    "Enter C and then N at the door.",
    "Your order C of D costs P.",
    "Call F before T.",
    "My phone number is F.",
    "In Y there were N houses here.",
    "Between Y and Y he lived in Paris.",
    "The answer is N, not N!",
    "please send N boxes to gate C",
    "ONLY N DAYS LEFT",
    "Chapter N, page N",
    "N times N is N.",
    "N plus N",
];

/// A number of a template's kind.
fn number(kind: char, random: &mut SplitMix64) -> String {
    let mut below = |count| random.below(count);
    match kind {
        'P' => match below(4) {
            0 => format!("${}", below(500)),
            1 => format!("${}.{:02}", below(100), below(100)),
            2 => format!("{} €", below(1000)),
            _ => format!("£{},{:03}", 1 + below(9), below(1000)),
        },
        'T' => match below(3) {
            0 => format!("{}:{:02}", below(24), below(60)),
            1 => format!("{} pm", 1 + below(12)),
            _ => format!("{}:{:02} am", 1 + below(12), below(60)),
        },
        'D' => match below(4) {
            0 => format!("{}/{}/{}", 1 + below(12), 1 + below(28), 1950 + below(100)),
            1 => format!("{}-{:02}-{:02}", 1950 + below(100), 1 + below(12), 1 + below(28)),
            2 => format!("May {}, {}", 1 + below(31), 1950 + below(100)),
            _ => format!("October {}", 1 + below(31)),
        },
        'Q' => format!("{}{}%", below(100), ["", ".5"][below(2)]),
        'C' => format!("{}{}-{}", ['A', 'K', 'X'][below(3)], below(10), below(10_000)),
        'F' => match below(3) {
            0 => format!("{:03}-{:04}", 100 + below(900), below(10_000)),
            1 => format!("+{} {:03} {:03} {:03}", 1 + below(99), below(1000), below(1000), below(1000)),
            _ => format!("({:03}) {:03}-{:04}", 100 + below(900), below(1000), below(10_000)),
        },
        'Y' => format!("{}", 1700 + below(330)),
        _ => match below(4) {
            0 => format!("{}", below(10)),
            1 => format!("{}", below(1000)),
            2 => format!("{},{:03}", 1 + below(99), below(1000)),
            _ => format!("{}.{}", below(100), below(10)),
        },
    }
}

/// A template with numbers in place of its capitals that stand alone.
fn phrase(template: &str, random: &mut SplitMix64) -> String {
    let mut chars = template.chars().peekable();
    let (mut phrase, mut before) = (String::new(), ' ');
    while let Some(c) = chars.next() {
        let alone = !before.is_alphabetic() && chars.peek().is_none_or(|next| !next.is_alphabetic());
        match c {
            'P' | 'T' | 'D' | 'Q' | 'C' | 'F' | 'Y' | 'N' if alone => phrase.push_str(&number(c, random)),
            _ => phrase.push(c),
        }
        before = c;
    }
    phrase
}

#[test]
fn numbers_stand_in_the_translation() {
    let mut random = SplitMix64::new(500);
    let phrases: Vec<String> = (0..COUNT).map(|n| phrase(TEMPLATES[n % TEMPLATES.len()], &mut random)).collect();
    assert!(phrases.iter().all(|phrase| digits(phrase).next().is_some()));
    let said =
        each(Limits::DEFAULT, &phrases, |translator, phrase| say(translator, phrase.as_bytes(), TextOptions::DEFAULT));
    let (mut kept, mut wrong) = (0, Vec::new());
    for (phrase, said) in phrases.iter().zip(&said) {
        let lost: Vec<&str> = lost_digits(phrase, said).collect();
        let names: Vec<&str> = said.warnings.names().collect();
        if std::env::var_os("LATIMER_SHOW").is_some() {
            println!("{phrase} -> {} {names:?}", said.text);
        }
        if !lost.is_empty() {
            wrong.push(format!("{phrase} -> {}: {lost:?} lost in silence", said.text));
        } else if !names.contains(&"lost") {
            kept += 1;
        }
    }
    let apart = said.iter().filter(|said| said.warnings.names().any(|warning| warning == "apart")).count();
    let share = f64::from(kept) / COUNT as f64 * 100.0;
    println!("{kept} of {COUNT} phrases keep all their numbers: {share:.1} %; {apart} in parts around them");
    none_wrong(wrong);
    assert!(share >= SHARE, "{share:.1} %");
}
