//! Translations of single words, learned from pairs of sentences: what stands for a word most often, by word alignment, or what it
//! is translated to where it is a sentence of its own.

use super::words::Vocabulary;
use super::{Entries, key_of};
use crate::align::{Aligner, Pair};
use crate::score::pairs::Phrase;
use anyhow::Result;
use latimer::blob::glossary::GlossaryKind;
use std::collections::HashMap;
use std::fmt::Write;

/// Links that are less likely are none.
const LEAST_LINK: f32 = 0.5;
/// Probability, at least, of the source word given a word of its translation: less has what merely stands nearby.
const LEAST_REVERSE: f32 = 0.05;
/// How many times as many links two words must have as one of them alone: a noun with its article has fewer.
const TWO: f64 = 3.0;
/// How much less a translation must have of a word's links where it is that of the word as a sentence.
const ALONE: f64 = 8.0;

/// A lexicon of single words.
#[derive(Debug)]
pub struct Learned {
    /// Words and their translations, the most frequent first.
    pub words: Vec<(String, String)>,
    /// How many words were looked at.
    pub of: usize,
}

/// What pairs say of a source word.
#[derive(Debug, Default)]
struct Votes {
    /// Translations that its links are to.
    links: HashMap<Vec<u16>, usize>,
    /// Translations where it is all of a sentence, and of these the number of the first.
    alone: HashMap<Vec<u16>, (usize, usize)>,
    /// Links to translations of one or two words.
    all: usize,
}

/// Learns translations of the `count` most frequent source words. One must have a share of at least `least` of the word's links;
/// an eighth of that suffices where the word is a sentence of some pair and this its translation. `done` is called after each of
/// twice [`ALL_PASSES`](crate::align::ALL_PASSES) passes.
pub fn learn(phrases: &[Phrase], count: usize, least: f64, done: impl Fn()) -> Learned {
    let both = || phrases.iter().flat_map(|phrase| phrase.references.iter().map(|target| (&phrase.source, target)));
    let source = Vocabulary::of(phrases.iter().map(|phrase| phrase.source.as_str()));
    let target = Vocabulary::of(both().map(|(_, target)| target.as_str()));
    let pairs: Vec<Pair> =
        both().map(|(text, to)| Pair { source: source.encode(text), target: target.encode(to) }).collect();
    let turned: Vec<Pair> =
        pairs.iter().map(|pair| Pair { source: pair.target.clone(), target: pair.source.clone() }).collect();
    let aligner = Aligner::learn(&pairs, &done);
    let reverse = Aligner::learn(&turned, &done);

    let wanted = source.words().iter().enumerate().filter(|(_, word)| is_plain(&word.text)).take(count);
    let ids: Vec<u16> = wanted.map(|(id, _)| id as u16).collect();
    let mut votes: HashMap<u16, Votes> = ids.iter().map(|id| (*id, Votes::default())).collect();
    for pair in &pairs {
        vote(&aligner, pair, &mut votes);
    }
    let mut words = Vec::new();
    for id in &ids {
        let likely =
            |to: &[u16]| to.iter().any(|word| reverse.lexicon().probability(Some(*word), *id) >= LEAST_REVERSE);
        let Some(found) = votes.get(id).and_then(|votes| votes.best(least, likely)) else { continue };
        let (Some(from), Some(to)) = (source.decode(&[*id]), target.decode(found)) else { continue };
        // Names that stay as they are need no entry.
        if from != to || from.chars().all(char::is_lowercase) {
            words.push((from, to));
        }
    }
    Learned { words, of: ids.len() }
}

/// Whether a word is of letters alone.
fn is_plain(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
}

/// Counts what each source word of a pair stands for: one word, or two that are neighbours.
fn vote(aligner: &Aligner, pair: &Pair, votes: &mut HashMap<u16, Votes>) {
    let links = aligner.links(pair);
    for (i, id) in pair.source.iter().enumerate() {
        let Some(votes) = votes.get_mut(id) else { continue };
        let linked = links.iter().filter(|link| link.source == Some(i) && link.probability >= LEAST_LINK);
        let places: Vec<usize> = linked.map(|link| link.target).collect();
        if matches!(places[..], [_]) || matches!(places[..], [a, b] if b == a + 1) {
            let words = places.iter().map(|place| pair.target[*place]).collect();
            *votes.links.entry(words).or_default() += 1;
            votes.all += 1;
        }
        if pair.source.len() == 1 && (1..3).contains(&pair.target.len()) {
            let first = votes.alone.len();
            votes.alone.entry(pair.target.clone()).or_insert((0, first)).0 += 1;
        }
    }
}

impl Votes {
    /// The best translation, if one is good enough.
    fn best(&self, least: f64, likely: impl Fn(&[u16]) -> bool) -> Option<&[u16]> {
        let share = |words: &[u16]| *self.links.get(words).unwrap_or(&0) as f64 / self.all.max(1) as f64;
        // Of equals the shorter, then the one that is more frequent itself.
        let order = |a: &&Vec<u16>, b: &&Vec<u16>| {
            share(a).total_cmp(&share(b)).then(b.len().cmp(&a.len())).then_with(|| b.cmp(a))
        };
        let alone = self.alone.keys().max_by(|a, b| {
            let ((more, first), (other, second)) = (self.alone[*a], self.alone[*b]);
            order(a, b).then(more.cmp(&other)).then(second.cmp(&first))
        });
        let likeliest = self.links.keys().filter(|words| likely(words)).max_by(order);
        let linked = likeliest.filter(|words| share(words) >= least).map(|words| {
            let within = |word: &&Vec<u16>| word.len() == 1 && words.contains(&word[0]) && likely(word);
            let single = self.links.keys().filter(within).max_by(order);
            single.filter(|word| TWO * share(word) >= share(words)).unwrap_or(words)
        });
        alone.filter(|words| share(words) >= least / ALONE).or(linked).or(alone).map(Vec::as_slice)
    }
}

impl Learned {
    /// Lines that [`Entries::read_tsv`] reads, behind comments.
    pub fn tsv(&self, comments: &[&str]) -> String {
        // Of a comment of several lines, each is one.
        let lines = comments.iter().flat_map(|comment| comment.split(['\n', '\r']));
        let mut text: String = lines.map(|line| format!("# {line}\n")).collect();
        for (from, to) in &self.words {
            let _ = writeln!(text, "{from}\t{to}");
        }
        text
    }

    /// The entries.
    pub fn entries(&self) -> Result<Entries> {
        let mut entries = Entries::default();
        for (from, to) in &self.words {
            entries.add(&key_of(from, GlossaryKind::Phrase)?, GlossaryKind::Phrase, to)?;
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_what_stands_beside_them() {
        let mut phrases = Vec::new();
        let things = [("dog", "perro"), ("cat", "gato"), ("car", "coche"), ("book", "libro")];
        let ways = [("I see the", "Veo el"), ("I buy the", "Compro el"), ("Tom has the", "Tom tiene el")];
        for (thing, cosa) in things {
            for (from, to) in ways {
                let (source, target) = (format!("{from} {thing}."), format!("{to} {cosa}."));
                phrases.push(Phrase { source, references: vec![target] });
            }
        }
        phrases.push(Phrase { source: "Hurry!".into(), references: vec!["\u{a1}Date prisa!".into()] });
        let learned = learn(&phrases, 50, 0.3, || ());
        for (from, to) in things.into_iter().chain([("the", "el"), ("hurry", "date prisa")]) {
            assert!(learned.words.contains(&(from.to_owned(), to.to_owned())), "{from}: {:?}", learned.words);
        }
        assert!(learned.words.iter().all(|(from, _)| from != "Tom"));
        let text = learned.tsv(&["comment"]);
        let entries = Entries::parse(std::path::Path::new("x"), text.as_bytes()).unwrap();
        assert_eq!(entries, learned.entries().unwrap());
        assert!(text.starts_with("# comment\n"), "{text}");
        let text = learned.tsv(&["comment\ndog\tgato\r\ncat\tperro"]);
        assert_eq!(Entries::parse(std::path::Path::new("x"), text.as_bytes()).unwrap(), entries, "{text}");
        assert_eq!(learn(&phrases, 50, 0.3, || ()).words, learned.words);
    }
}
