//! Words alone, which small models like to repeat.

use super::check::{repeats, words};
use super::{each, none_wrong, say};
use latimer::{Limits, TextOptions};
use std::collections::HashMap;
use std::path::Path;

/// Words of a translation of one at most, unless a reference has more.
const MOST: usize = 4;
/// Commonest words of the training text.
const COMMONEST: usize = 1000;
/// Of those, so many with a beam search.
const BY_BEAMS: usize = 200;

/// Words that every checkout has.
const FEW: &str = "i you the to a is of tom he in that it was do she have what my for me we be this don't know are want \
    your on with yes no please thanks hello house water love zebra antelope photosynthesis";

/// The commonest words of the training text, and those of a reference's words for any of them alone.
fn commonest() -> (Vec<String>, HashMap<String, usize>) {
    let mut references = HashMap::new();
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/en-es/train.tsv"));
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("skipped: the training text is not here, a few words without it");
        return (FEW.split_whitespace().map(str::to_owned).collect(), references);
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (source, target) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let mut alone = Vec::new();
        for word in source.split_whitespace() {
            let word = word.trim_matches(|c: char| !c.is_alphabetic()).to_lowercase();
            if !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '\'') {
                alone.push(word.clone());
                *counts.entry(word).or_default() += 1;
            }
        }
        if let [word] = &alone[..] {
            let most = references.entry(word.clone()).or_default();
            *most = words(target).count().max(*most);
        }
    }
    let mut counted: Vec<(String, usize)> = counts.into_iter().collect();
    counted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    (counted.into_iter().take(COMMONEST).map(|(word, _)| word).collect(), references)
}

/// What is wrong with the translations of the first `count`.
fn check(beams: u16, count: usize) {
    let (all, references) = commonest();
    let all = &all[..count.min(all.len())];
    let limits = Limits { beams, ..Limits::DEFAULT };
    let said = each(limits, all, |translator, word| say(translator, word.as_bytes(), TextOptions::DEFAULT));
    let mut wrong = Vec::new();
    for (word, said) in all.iter().zip(&said) {
        let most = references.get(word).copied().unwrap_or(0).max(MOST);
        if std::env::var_os("LATIMER_SHOW").is_some() {
            println!("{word} -> {} ({})", said.text, said.warnings);
        }
        if words(&said.text).count() > most || repeats(&said.text) || said.text.is_empty() {
            wrong.push(format!("{word} -> {:?} ({})", said.text, said.warnings));
        }
    }
    println!("{} words by {beams}, {} wrong", all.len(), wrong.len());
    none_wrong(wrong);
}

#[test]
fn a_word_alone_is_neither_repeated_nor_explained() {
    check(1, COMMONEST);
}

#[test]
fn nor_is_it_by_a_beam_search() {
    check(4, BY_BEAMS);
}
