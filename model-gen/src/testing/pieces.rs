//! The vocabulary of a random checkpoint.

use std::collections::BTreeSet;

use super::{RandomSpec, SplitMix64};

/// What a space looks like in a piece.
const SPACE: &str = "\u{2581}";

/// The source side's pieces by id, as the spec has them.
pub(super) fn source(spec: &RandomSpec, random: &mut SplitMix64) -> Vec<String> {
    let codes: Vec<String> = spec.languages.iter().map(|code| format!(">>{code}<<")).collect();
    let more = [codes, bytes(spec)].concat();
    arranged(spec, vocabulary(room(spec.vocab, &more), random), more)
}

/// The pieces of a target side of its own: other pieces, and those that both have under other ids.
pub(super) fn target(spec: &RandomSpec, size: usize, random: &mut SplitMix64) -> Vec<String> {
    let more = bytes(spec);
    let pieces = shuffled(vocabulary(room(size, &more), random), random);
    arranged(spec, pieces, more)
}

fn bytes(spec: &RandomSpec) -> Vec<String> {
    (0..=255u8).filter(|_| spec.bpe).map(|byte| format!("<0x{byte:02X}>")).collect()
}

fn room(size: usize, more: &[String]) -> usize {
    size.checked_sub(more.len()).expect("a vocabulary needs room for its codes and bytes")
}

/// `more` before `<pad>`, and the special pieces where the spec wants them.
fn arranged(spec: &RandomSpec, mut pieces: Vec<String>, more: Vec<String>) -> Vec<String> {
    let pad = pieces.len() - 1;
    pieces.splice(pad..pad, more);
    if spec.moved_ids {
        pieces.rotate_right(3);
    }
    pieces
}

/// Pieces by id: `</s>`, `<unk>`, the space, letters, digits, punctuation, then multi-letter pieces up to the size asked
/// for, and `<pad>` last, as Marian's converter numbers them.
fn vocabulary(size: usize, random: &mut SplitMix64) -> Vec<String> {
    assert!(size >= 8, "a vocabulary needs room for its special pieces and some letters");
    let single = ('a'..='z').chain('0'..='9').chain(".,?!'-¿ñ".chars()).map(String::from);
    let fixed = ["</s>", "<unk>", SPACE].map(String::from).into_iter().chain(single);
    let mut pieces: Vec<String> = fixed.take(size - 1).collect();
    let mut seen: BTreeSet<String> = pieces.iter().cloned().collect();
    while pieces.len() < size - 1 {
        let piece = multi_letter(random);
        if seen.insert(piece.clone()) {
            pieces.push(piece);
        }
    }
    pieces.push("<pad>".to_owned());
    pieces
}

/// The same pieces under other ids, `</s>`, `<unk>` and `<pad>` excepted: an id of the other side gives another piece.
fn shuffled(mut pieces: Vec<String>, random: &mut SplitMix64) -> Vec<String> {
    for i in (3..pieces.len() - 1).rev() {
        pieces.swap(i, 2 + random.below(i - 1));
    }
    pieces
}

/// Two to four common letters, every second time at the beginning of a word.
fn multi_letter(random: &mut SplitMix64) -> String {
    let space = if random.below(2) == 0 { SPACE } else { "" };
    let letters = 2 + random.below(3);
    let word: String = (0..letters).map(|_| char::from(b"etaoinshrdlucm"[random.below(14)])).collect();
    format!("{space}{word}")
}
