//! Loops: what a hypothesis may not say again.
//!
//! Small models fall into loops on what they know little of. A token is forbidden, and the next best taken, where it would
//! complete
//!
//! * a run of up to [`BLOCK`] tokens that has just been said, as often as the source itself repeats something;
//! * four tokens that have been said before in this order;
//! * in the translation of a word or two, a word at all that has been said.
//!
//! Digits are never forbidden: they repeat by chance.

/// Longest run that is told from a repetition of it.
const BLOCK: usize = 6;
/// Tokens of a history that are looked at for runs.
const WINDOW: usize = 24;
/// Tokens that, said again in the same order, are a loop.
const NGRAM: usize = 4;

/// What may be said again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    /// How often a run may be said in a row; zero where nothing is forbidden.
    pub runs: u8,
    /// Whether no four tokens may be said again: not where the source repeats two of its own.
    pub phrases: bool,
    /// Whether no word may be said again.
    pub words: bool,
}

/// What a token is, to a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// The start of a word.
    Start,
    /// More of a word.
    Inside,
    /// A numeral, or nothing that is written.
    Free,
}

impl Guard {
    /// Forbids nothing.
    pub const OFF: Guard = Guard { runs: 0, phrases: false, words: false };

    /// The guard for a source's ids, which are `words` words.
    pub fn of(source: &[u16], words: usize) -> Self {
        let (mut runs, mut again) = (1, false);
        for start in 0..source.len() {
            let rest = source.get(start..).unwrap_or_default();
            runs = (1..=BLOCK).fold(runs, |runs, len| runs.max(run_count(rest, len)));
            let pair = rest.get(..2);
            again |= pair.is_some() && rest.windows(2).skip(1).any(|other| Some(other) == pair);
        }
        // What repeats inside a word makes no repeated words.
        (runs, again) = (runs.min(words.max(1)), again && words > 1);
        Guard { runs: runs.min(u8::MAX as usize) as u8, phrases: !again, words: words <= 2 && !again && runs == 1 }
    }

    /// Whether `id` may not follow a history, which comes the last first.
    pub fn forbids(self, id: u16, piece: Piece, history: impl Iterator<Item = u16>) -> bool {
        if self.runs == 0 || piece == Piece::Free {
            return false;
        }
        let mut recent = Recent::default();
        recent.push(id);
        let (mut last, mut passing, mut seen) = ([id; NGRAM], [id; NGRAM], 1);
        for earlier in history {
            if self.words && piece == Piece::Start && earlier == id {
                return true;
            }
            recent.push(earlier);
            // The last four with the new one, and every four before as they pass, the earliest first.
            passing.rotate_right(1);
            passing[0] = earlier;
            if let Some(slot) = last.get_mut(seen) {
                *slot = earlier;
            } else if self.phrases && passing.iter().rev().eq(&last) {
                return true;
            }
            seen += 1;
        }
        // A letter may be doubled inside a word.
        let least = |len| if len == 1 && piece == Piece::Inside { 2 } else { 1 };
        (1..=BLOCK).any(|len| run_count(recent.ids(), len) > least(len).max(self.runs as usize))
    }
}

/// The latest tokens, the last first.
#[derive(Clone, Copy, Default)]
struct Recent {
    ids: [u16; WINDOW],
    len: usize,
}

impl Recent {
    /// One that comes before those that are there; what is too long ago is dropped.
    fn push(&mut self, id: u16) {
        if let Some(slot) = self.ids.get_mut(self.len) {
            *slot = id;
            self.len += 1;
        }
    }

    fn ids(&self) -> &[u16] {
        self.ids.get(..self.len).unwrap_or_default()
    }
}

/// How often the first `len` ids stand there in a row.
fn run_count(ids: &[u16], len: usize) -> usize {
    let mut runs = ids.chunks_exact(len.max(1));
    let Some(first) = runs.next() else { return 0 };
    1 + runs.take_while(|run| *run == first).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids of a text's letters, and whether its last may follow the others.
    fn may(source: &str, said: &str) -> bool {
        let ids = |text: &str| -> std::vec::Vec<u16> { text.bytes().map(u16::from).collect() };
        let words = source.len();
        let (last, before) = said.as_bytes().split_last().unwrap();
        let piece = match last {
            b'0'..=b'9' => Piece::Free,
            b'a'..=b'z' => Piece::Inside,
            _ => Piece::Start,
        };
        let history = ids(std::str::from_utf8(before).unwrap());
        !Guard::of(&ids(source), words).forbids((*last).into(), piece, history.into_iter().rev())
    }

    #[test]
    fn runs_are_said_as_often_as_the_source_says_them() {
        assert!(!may("ABC", "XX") && !may("ABC", "XYXY") && !may("ABC", "WABCDEFABCDEF"));
        assert!(may("ABC", "XYX") && may("ABC", "XYZXY"));
        assert!(may("AAB", "XX") && !may("AAB", "XXX") && may("AAAB", "XXX") && may("ZABABZ", "XYXY"));
    }

    #[test]
    fn letters_double_and_digits_repeat() {
        assert!(may("ABC", "Xll") && !may("ABC", "Xlll") && may("ABC", "0000000"));
    }

    #[test]
    fn phrases_do_not_come_again_unless_the_source_does() {
        assert!(!may("ABC", "WXYZAWXYZ") && may("ABC", "WXYZAWXY"));
        assert!(may("ABCAB", "WXYZAWXYZ"));
    }

    #[test]
    fn a_word_has_no_word_twice() {
        assert!(!may("A", "XYZX") && !may("AB", "XYX") && may("ABC", "XYZX") && may("A", "Xab-a"));
    }

    #[test]
    fn off_forbids_nothing_and_long_histories_are_bounded() {
        let long = std::vec![7; 600];
        assert!(!Guard::OFF.forbids(7, Piece::Start, long.iter().copied()));
        assert_eq!(Guard::of(&long, 600).runs, 255);
        assert!(Guard::of(&[1, 2, 3], 3).forbids(7, Piece::Start, long.iter().copied()));
        assert_eq!(Guard::of(&[], 0), Guard { runs: 1, phrases: true, words: true });
    }
}
