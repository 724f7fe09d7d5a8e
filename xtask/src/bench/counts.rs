//! What the counting plugin writes about a region.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// Classes of instructions, as the plugin names them. Its other figures are not instructions of their own.
pub const CLASSES: [&str; 12] = [
    "load",
    "load_multiple",
    "store",
    "store_multiple",
    "multiply",
    "alu",
    "branch",
    "divide",
    "vector",
    "vector_memory",
    "float",
    "other",
];

/// The plugin's other figures.
const OTHERS: [&str; 6] = ["first_load", "words", "taken", "read", "fetched", "distinct"];

/// Counts of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    by_name: BTreeMap<String, u64>,
    /// Address of a block and the instructions of all its runs, where a profile was asked for.
    pub places: Vec<(u64, i64)>,
}

impl Counts {
    /// From the lines of one region: places, then the region itself.
    pub fn parse(lines: &[String]) -> Result<Self> {
        let mut counts = Counts::default();
        for line in lines {
            counts.read(line).with_context(|| format!("the plugin wrote `{line}`"))?;
        }
        Ok(counts)
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        let mut fields = rest.split(' ');
        let first = fields.next()?;
        for field in fields {
            let (name, count) = field.split_once('=')?;
            if kind == "at" {
                let address = u64::from_str_radix(first.strip_prefix("0x")?, 16).ok()?;
                self.places.push((address, count.parse().ok()?));
            } else if !CLASSES.contains(&name) && !OTHERS.contains(&name) {
                // A class that is not known here would be missing from every sum.
                return None;
            } else {
                self.by_name.insert(name.to_owned(), count.parse().ok()?);
            }
        }
        matches!(kind, "at" | "region").then_some(())
    }

    /// A figure by name; zero where the plugin left it out.
    pub fn get(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// Guest instructions.
    pub fn instructions(&self) -> u64 {
        CLASSES.iter().map(|class| self.get(class)).sum()
    }

    /// Estimated cycles of a Cortex-M4 without wait states: an instruction is one, a load that follows neither load nor
    /// store one more, each word of a load or store multiple one, a taken branch two, a division seven.
    pub fn m4_cycles(&self) -> u64 {
        let more = self.get("first_load") + self.get("words");
        self.instructions() + more + 2 * self.get("taken") + 7 * self.get("divide")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_region_and_estimates_cycles() {
        let lines =
            ["at 0x1f0 instructions=-2", "region 3 load=10 load_multiple=2 divide=1 first_load=4 words=9 taken=3"];
        let counts = Counts::parse(&lines.map(String::from)).unwrap();
        assert_eq!(counts.places, [(0x1f0, -2)]);
        assert_eq!((counts.instructions(), counts.m4_cycles()), (13, 13 + 4 + 9 + 6 + 7));
        assert_eq!(counts.get("float"), 0);
        for wrong in ["region 3 load", "region 3 load=1 cipher=2"] {
            let error = Counts::parse(&[wrong.to_owned()]).unwrap_err();
            assert!(error.to_string().contains(wrong));
        }
    }
}
