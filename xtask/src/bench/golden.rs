//! The golden file: a floor and a ceiling for each count.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::paths;

/// The file: board, kernels, figure, floor, ceiling.
pub const FILE: &str = "xtask/bench.tsv";

/// Board, kernels and name of a figure.
pub type Key = (String, String, String);

/// Figures with their floors and ceilings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Golden(BTreeMap<Key, (u64, u64)>);

/// One per cent below and above, the count itself at least.
fn limits(count: u64) -> (u64, u64) {
    (count - count / 100, count + count / 100)
}

impl Golden {
    /// Reads the file; nothing where there is none yet.
    pub fn read() -> Result<Self> {
        let path = paths::root().join(FILE);
        match path.exists() {
            true => Self::parse(&fs::read_to_string(path)?).with_context(|| format!("`{FILE}`")),
            false => Ok(Golden::default()),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let mut golden = Golden::default();
        for line in text.lines().skip(1) {
            let read = |line: &str| -> Option<(Key, (u64, u64))> {
                let [board, kernels, name, floor, ceiling] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
                let key = (board.to_owned(), kernels.to_owned(), name.to_owned());
                Some((key, (floor.parse().ok()?, ceiling.parse().ok()?)))
            };
            let (key, limits) = read(line).with_context(|| {
                format!("`{line}` is not a figure; write the file again with `cargo xtask bench --bless`")
            })?;
            golden.0.insert(key, limits);
        }
        Ok(golden)
    }

    fn text(&self) -> String {
        let mut text = "board\tkernels\tfigure\tfloor\tceiling\n".to_owned();
        for ((board, kernels, name), (floor, ceiling)) in &self.0 {
            text.push_str(&format!("{board}\t{kernels}\t{name}\t{floor}\t{ceiling}\n"));
        }
        text
    }

    /// The count that was recorded for a figure: the middle of its limits.
    pub fn count(&self, board: &str, kernels: &str, figure: &str) -> Option<f64> {
        let key = (board.to_owned(), kernels.to_owned(), figure.to_owned());
        self.0.get(&key).map(|&(floor, ceiling)| (floor + ceiling) as f64 / 2.0)
    }

    /// What is wrong with these counts of a board: outside the limits, or not recorded. With `whole`, those recorded that
    /// are not among them, too.
    pub fn check(&self, board: &str, found: &BTreeMap<Key, u64>, whole: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, &count) in found {
            let (_, kernels, name) = key;
            match self.0.get(key) {
                None => wrong.push(format!("{board}, {kernels}: {name}: {count}, not recorded")),
                Some(&(floor, _)) if count < floor => {
                    wrong.push(format!("{board}, {kernels}: {name}: {count}, below {floor}: better, so record it"));
                }
                Some(&(_, ceiling)) if count > ceiling => {
                    wrong.push(format!("{board}, {kernels}: {name}: {count}, above {ceiling}"));
                }
                Some(_) => {}
            }
        }
        if whole {
            let lost = self.0.keys().filter(|key| key.0 == board && !found.contains_key(*key));
            wrong.extend(lost.map(|(_, kernels, name)| format!("{board}, {kernels}: {name}: recorded, not measured")));
        }
        wrong
    }

    /// Takes the counts of a board; with `whole`, in place of all that it had.
    pub fn bless(&mut self, board: &str, found: &BTreeMap<Key, u64>, whole: bool) {
        if whole {
            self.0.retain(|key, _| key.0 != board);
        }
        self.0.extend(found.iter().map(|(key, &count)| (key.clone(), limits(count))));
    }

    /// Writes the file.
    pub fn write(&self) -> Result<()> {
        fs::write(paths::root().join(FILE), self.text()).with_context(|| format!("cannot write `{FILE}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<Key, u64> {
        pairs.iter().map(|(name, count)| (("m4".into(), "portable".into(), (*name).into()), *count)).collect()
    }

    #[test]
    fn holds_counts_to_a_per_cent_either_way() {
        let mut golden = Golden::default();
        golden.bless("m4", &counts(&[("a", 1000), ("b", 10)]), true);
        assert_eq!(Golden::parse(&golden.text()).unwrap(), golden);
        let check = |pairs: &[_]| golden.check("m4", &counts(pairs), true);
        assert!(check(&[("a", 990), ("b", 10)]).is_empty() && check(&[("a", 1010), ("b", 10)]).is_empty());
        assert!(check(&[("a", 989), ("b", 10)])[0].contains("better"));
        assert!(check(&[("a", 1011), ("b", 10)])[0].contains("above 1010"));
        assert!(check(&[("a", 1000), ("b", 11)])[0].contains("above 10"));
        assert!(check(&[("a", 1000)])[0].contains("not measured"));
        assert!(check(&[("a", 1000), ("b", 10), ("c", 1)])[0].contains("not recorded"));
        assert!(golden.check("m4", &counts(&[("a", 1000)]), false).is_empty());
    }

    #[test]
    fn blessing_a_part_keeps_the_rest_and_other_boards() {
        let mut golden = Golden::default();
        golden.bless("m4", &counts(&[("a", 1000), ("b", 10)]), true);
        golden.bless("m4", &counts(&[("a", 500)]), false);
        assert!(golden.check("m4", &counts(&[("a", 500), ("b", 10)]), true).is_empty());
        golden.bless("m3", &BTreeMap::new(), true);
        assert!(golden.check("m4", &counts(&[("a", 500), ("b", 10)]), true).is_empty());
        assert!(Golden::parse("head\nm4\tportable\ta\t1").is_err());
    }
}
