//! Words that the model carries over as they are: names and numbers that stand as often in translations as in sources, tried in
//! sentences of all kinds.

use super::{Watch, run_all, spread};
use crate::score::pairs::Phrase;
use anyhow::Result;
use latimer::blob::guide::StandInKind;
use latimer::{Limits, Model};
use std::collections::HashMap;

/// Candidates that are tried, and sentences that each is tried in.
const CANDIDATES: usize = 24;
const FRAMES: usize = 150;
/// How many are kept.
const KEPT: usize = 8;
/// Sources that a candidate must stand in, and share of their translations that it must stand in too.
const LEAST_SOURCES: usize = 3;
const LEAST_SHARE: f64 = 0.8;

/// A word that is carried over.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    /// What it can stand for.
    pub kind: StandInKind,
    /// The word, on both sides.
    pub text: String,
    /// Share of the sentences that it was tried in whose translation has it once.
    pub share: f64,
}

pub(super) fn choose(model: &Model<'_>, train: &[Phrase], limits: Limits, watch: Watch) -> Result<Vec<Copied>> {
    let mut chosen = Vec::new();
    for kind in [StandInKind::Name, StandInKind::Number] {
        let candidates = candidates(train, kind);
        let frames = frames(train, &candidates);
        let tries: Vec<(usize, String)> = (0..candidates.len())
            .flat_map(|i| frames.iter().map(move |(before, after)| (i, before, after)))
            .map(|(i, before, after)| (i, format!("{before}{}{after}", candidates[i])))
            .collect();
        let kept = run_all(model, limits, &tries, |translator, (i, sentence)| {
            let mut text = String::new();
            let done = translator.translate_phrase(sentence.as_bytes(), &mut (), &mut text).is_ok();
            watch("stand-ins");
            Ok(done && words(&text).filter(|word| *word == candidates[*i]).count() == 1)
        })?;
        let mut words: Vec<Copied> =
            candidates.iter().map(|text| Copied { kind, text: text.clone(), share: 0.0 }).collect();
        for ((i, _), kept) in tries.iter().zip(kept) {
            words[*i].share += f64::from(u8::from(kept)) / frames.len() as f64;
        }
        // Stable: of equals the more frequent.
        words.sort_by(|a, b| b.share.total_cmp(&a.share));
        words.retain(|word| word.share >= 0.5);
        words.truncate(KEPT);
        chosen.extend(words);
    }
    Ok(chosen)
}

/// Maximal runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn fits(kind: StandInKind, word: &str) -> bool {
    match kind {
        // No initial: it would be ambiguous.
        StandInKind::Name => {
            word.chars().next().is_some_and(char::is_uppercase)
                && word.chars().skip(1).all(char::is_lowercase)
                && word.chars().count() > 2
        }
        StandInKind::Number => word.len() < 5 && word.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// The most frequent words of a kind that pairs have on both sides, not at the start of a sentence.
fn candidates(train: &[Phrase], kind: StandInKind) -> Vec<String> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for phrase in train {
        let skipped = usize::from(kind == StandInKind::Name);
        for word in words(&phrase.source).skip(skipped).filter(|word| fits(kind, word)) {
            let (all, kept) = counts.entry(word).or_default();
            *all += 1;
            *kept += usize::from(phrase.references.iter().any(|reference| words(reference).any(|other| other == word)));
        }
    }
    counts.retain(|_, (all, kept)| *all >= LEAST_SOURCES && *kept as f64 >= LEAST_SHARE * *all as f64);
    let mut words: Vec<(&str, usize)> = counts.into_iter().map(|(word, (all, _))| (word, all)).collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    words.into_iter().take(CANDIDATES).map(|(word, _)| word.to_owned()).collect()
}

/// What is before and after a candidate in sentences that have just one.
fn frames(train: &[Phrase], candidates: &[String]) -> Vec<(String, String)> {
    let found: Vec<(String, String)> = train
        .iter()
        .filter_map(|phrase| {
            let mut places = words(&phrase.source).filter(|word| candidates.iter().any(|other| other == word));
            let (word, None) = (places.next()?, places.next()) else { return None };
            let at = word.as_ptr() as usize - phrase.source.as_ptr() as usize;
            let (before, after) = (&phrase.source[..at], &phrase.source[at + word.len()..]);
            // Other numbers would be taken for it.
            let plain = !before.bytes().chain(after.bytes()).any(|byte| byte.is_ascii_digit());
            plain.then(|| (before.to_owned(), after.to_owned()))
        })
        .collect();
    spread(&found, FRAMES).into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_stand_on_both_sides_and_frames_have_one() {
        let pair = |source: &str, target: &str| Phrase { source: source.into(), references: vec![target.into()] };
        let mut train = Vec::new();
        for _ in 0..3 {
            train.push(pair("I saw Tom at 10.", "Vi a Tom a las 10."));
            train.push(pair("Ask Mary or Tom.", "Pregunta a María o a Tom."));
        }
        assert_eq!(candidates(&train, StandInKind::Name), ["Tom"]);
        assert_eq!(candidates(&train, StandInKind::Number), ["10"]);
        let frames = frames(&train, &["Tom".to_owned()]);
        assert_eq!(frames.len(), 3, "a sentence with a number is no frame");
        assert_eq!(frames[0], ("Ask Mary or ".to_owned(), ".".to_owned()));
    }
}
