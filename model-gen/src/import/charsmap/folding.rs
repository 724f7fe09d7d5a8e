//! Which characters may stand for what replaces them inside longer keys.
//!
//! NFKC has "A" + U+0300, and the same again for each of 20 compatibility forms of "A". A character *folds* if the
//! longer keys treat it just as the character that replaces it: the same text before, the same after, the same values.
//! Then one key in terms of the latter serves all, and no key comes to be that was not there.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is known of a character that is a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// It folds.
    Yes,
    /// It must not.
    No,
    /// Neither it nor what replaces it is part of a longer key.
    Either,
}

/// What every character that is a key folds to.
pub(super) struct Folding {
    known: HashMap<u32, (Fold, u32)>,
}

impl Folding {
    /// From the keys of one character and from all others.
    pub(super) fn find(singles: &BTreeMap<u32, u32>, longer: &BTreeMap<&[u8], u32>) -> Self {
        // A fingerprint of where a character occurs; `verify` would notice if two were equal by chance.
        let mut contexts: HashMap<u32, u64> = HashMap::new();
        for (key, value) in longer {
            // A key that ends inside a character matches bytes, which a folded character does not have.
            let Ok(text) = str::from_utf8(key) else { return Self { known: HashMap::new() } };
            for (at, char) in text.char_indices() {
                let mut hasher = DefaultHasher::new();
                (&text[..at], &text[at + char.len_utf8()..], value).hash(&mut hasher);
                let context = contexts.entry(char.into()).or_default();
                *context = context.wrapping_add(hasher.finish());
            }
        }
        let fold = |char: u32, value: u32| match (contexts.get(&char), contexts.get(&value)) {
            _ if char::from_u32(value).is_none() || char == value => Fold::No,
            (None, None) => Fold::Either,
            (of_char, of_value) if of_char == of_value => Fold::Yes,
            _ => Fold::No,
        };
        Self { known: singles.iter().map(|(&char, &value)| (char, (fold(char, value), value))).collect() }
    }

    /// Whether a character folds.
    pub(super) fn of(&self, char: u32) -> Fold {
        self.known.get(&char).map_or(Fold::No, |(fold, _)| *fold)
    }

    /// The least character that folds.
    pub(super) fn least(&self) -> Option<u32> {
        self.pairs().map(|(from, _)| from).min()
    }

    /// Characters that fold, and to what.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.known.iter().filter(|(_, (fold, _))| *fold == Fold::Yes).map(|(from, (_, to))| (*from, *to))
    }

    /// A key with every character folded, once.
    pub(super) fn apply(&self, key: &[u8]) -> Vec<u8> {
        let Ok(text) = str::from_utf8(key) else { return key.to_vec() };
        let fold = |char: char| match self.known.get(&u32::from(char)) {
            Some((Fold::Yes, value)) => char::from_u32(*value).unwrap_or(char),
            _ => char,
        };
        text.chars().map(fold).collect::<String>().into_bytes()
    }
}
