//! Words of pairs: runs of letters, written small unless they are names, and the ids that the aligner takes.

use std::collections::HashMap;

/// Words that have an id; the others share one.
const MOST: usize = 60_000;

/// Words of a text, and whether each stands where sentences and quotes begin.
pub fn split(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut end = 0;
    let inside = |c: char| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}');
    text.split(move |c: char| !inside(c)).map(|word| word.trim_matches(['\'', '\u{2019}'])).filter_map(move |word| {
        if word.is_empty() {
            return None;
        }
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        let between = &text[end..at];
        let starts = end == 0 || between.contains(['.', '!', '?', '\u{bf}', '\u{a1}', ':', '"', '\u{ab}', '\u{201c}']);
        end = at + word.len();
        Some((word, starts))
    })
}

/// The words of one side of all pairs, the most frequent first.
#[derive(Debug)]
pub struct Vocabulary {
    ids: HashMap<String, u16>,
    words: Vec<Word>,
}

/// A word.
#[derive(Clone, Debug)]
pub struct Word {
    /// As it is written inside sentences.
    pub text: String,
    /// How often it stands in the texts.
    pub count: usize,
}

impl Vocabulary {
    /// Of texts.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        // Count, then forms inside sentences: a name has a capital there.
        let mut found: HashMap<String, (usize, HashMap<&str, usize>)> = HashMap::new();
        for (word, starts) in texts.flat_map(split) {
            let (count, forms) = found.entry(word.to_lowercase()).or_default();
            *count += 1;
            if !starts {
                *forms.entry(word).or_default() += 1;
            }
        }
        let mut words: Vec<(String, Word)> = found
            .into_iter()
            .map(|(key, (count, forms))| {
                let all: usize = forms.values().sum();
                let small = forms.get(key.as_str()).copied().unwrap_or(0);
                let large = forms.into_iter().filter(|(form, _)| *form != key);
                let text = large.max_by_key(|(form, count)| (*count, *form)).filter(|_| 2 * small < all);
                let text = text.map_or_else(|| key.clone(), |(form, _)| form.to_owned());
                (key, Word { text, count })
            })
            .collect();
        words.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
        let ids = words.iter().take(MOST).enumerate().map(|(id, (key, _))| (key.clone(), id as u16)).collect();
        Vocabulary { ids, words: words.into_iter().take(MOST).map(|(_, word)| word).collect() }
    }

    /// Ids of a text's words.
    pub fn encode(&self, text: &str) -> Vec<u16> {
        split(text).map(|(word, _)| self.ids.get(&word.to_lowercase()).copied().unwrap_or(MOST as u16)).collect()
    }

    /// All words, by id.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The words of ids; nothing where one has no word of its own.
    pub fn decode(&self, ids: &[u16]) -> Option<String> {
        let words: Option<Vec<&str>> =
            ids.iter().map(|id| self.words.get(usize::from(*id)).map(|word| word.text.as_str())).collect();
        words.map(|words| words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_capitals_and_other_words_do_not() {
        let texts = ["Don't ask Tom, dog!", "Dogs? The dog saw Tom.", "Tom's here. Here I am."];
        let vocabulary = Vocabulary::of(texts.into_iter());
        let ids = vocabulary.encode("TOM'S DOG: i don't unknown 5 'Tom'");
        assert_eq!(ids.len(), 6);
        assert_eq!(vocabulary.decode(&ids[1..4]), Some("dog I don't".to_owned()));
        assert_eq!((ids[4], vocabulary.decode(&ids[4..5])), (MOST as u16, None));
        assert_eq!(vocabulary.decode(&ids[5..]), Some("Tom".to_owned()));
        assert_eq!(vocabulary.words()[0].count, 2);
    }
}
