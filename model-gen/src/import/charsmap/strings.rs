//! Numbers for replacements: code points where they are one character, else offsets into a pool of strings.

use super::one_char;
use latimer::blob::charsmap::STRINGS;
use std::collections::{BTreeSet, HashMap};

/// The pool, each string ended by a zero byte, and the number of each replacement. A string that ends another one is
/// not stored again.
pub(super) fn pool<'k>(replacements: impl Iterator<Item = &'k Vec<u8>>) -> (Vec<u8>, HashMap<&'k [u8], u32>) {
    let mut numbers = HashMap::new();
    let mut strings: Vec<&[u8]> = Vec::new();
    for text in replacements {
        let number = one_char(text).unwrap_or_else(|| {
            strings.push(text);
            STRINGS
        });
        numbers.insert(text.as_slice(), number);
    }
    let reversed: BTreeSet<Vec<u8>> = strings.iter().map(|text| text.iter().rev().copied().collect()).collect();
    let reversed: Vec<Vec<u8>> = reversed.into_iter().collect();
    // Backwards, so that what a string ends in is known: it sorts right behind, as prefixes do.
    let mut owner_of: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut after: Option<&[u8]> = None;
    for text in reversed.iter().rev() {
        let forward = |text: &[u8]| -> Vec<u8> { text.iter().rev().copied().collect() };
        let owner = after.filter(|after| after.starts_with(text)).unwrap_or(text);
        owner_of.insert(forward(text), forward(owner));
        after = Some(owner);
    }
    let mut bytes = Vec::new();
    let mut placed: HashMap<&[u8], usize> = HashMap::new();
    for text in strings {
        let owner = owner_of[text].as_slice();
        let at = *placed.entry(owner).or_insert_with(|| {
            let at = bytes.len();
            bytes.extend_from_slice(owner);
            bytes.push(0);
            at
        });
        numbers.insert(text, STRINGS + (at + owner.len() - text.len()) as u32);
    }
    (bytes, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_shared_and_characters_cost_nothing() {
        let texts: Vec<Vec<u8>> = [&b"bc"[..], b"", "é".as_bytes(), b"abc", b"xb", b"bc"].map(<[u8]>::to_vec).into();
        let (bytes, numbers) = pool(texts.iter());
        assert_eq!(bytes, b"abc\0xb\0");
        let wanted = [(&b"bc"[..], STRINGS + 1), (b"abc", STRINGS), (b"xb", STRINGS + 4), ("é".as_bytes(), 0xe9)];
        for (text, number) in wanted {
            assert_eq!(numbers[text], number, "{text:?}");
        }
        assert_eq!(bytes[(numbers[&b""[..]] - STRINGS) as usize], 0);
    }
}
