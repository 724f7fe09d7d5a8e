//! The file of ceilings: board, what of it, bytes at most.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use model_gen::cost::STACK_BOUND;

use crate::paths;

/// The file.
pub const FILE: &str = "xtask/size.tsv";

/// Bytes, by firmware and what of it; those that have a ceiling.
pub type Figures = BTreeMap<(String, &'static str), u64>;

/// Ceilings, by firmware and what of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ceilings(BTreeMap<(String, String), u64>);

impl Ceilings {
    /// Reads the file; nothing where there is none yet.
    pub fn read() -> Result<Self> {
        let path = paths::root().join(FILE);
        match path.exists() {
            true => Self::parse(&fs::read_to_string(path)?).with_context(|| format!("`{FILE}`")),
            false => Ok(Self::default()),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let mut ceilings = BTreeMap::new();
        for line in text.lines().skip(1) {
            let read = || {
                let [firmware, what, ceiling] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
                Some(((firmware.to_owned(), what.to_owned()), ceiling.parse().ok()?))
            };
            let (key, ceiling) = read().with_context(|| {
                format!("`{line}` is not a ceiling; write the file again with `cargo xtask size --bless`")
            })?;
            ceilings.insert(key, ceiling);
        }
        Ok(Self(ceilings))
    }

    fn text(&self) -> String {
        let line = |((firmware, what), ceiling): (&(String, String), &u64)| format!("{firmware}\t{what}\t{ceiling}\n");
        "firmware\twhat\tceiling\n".to_owned() + &self.0.iter().map(line).collect::<String>()
    }

    /// What is above its ceiling, or has none.
    pub fn check(&self, figures: &Figures) -> Vec<String> {
        let wrong = figures.iter().filter_map(|((firmware, what), &bytes)| {
            match self.0.get(&(firmware.clone(), (*what).to_owned())) {
                Some(&ceiling) if bytes <= ceiling => None,
                Some(ceiling) => Some(format!("{firmware}: {what}: {bytes} bytes, above {ceiling}")),
                None => Some(format!("{firmware}: {what}: {bytes} bytes, not recorded")),
            }
        });
        wrong.collect()
    }

    /// Takes figures, with room for 1 % more each, on a stack never more than is promised.
    pub fn bless(&mut self, figures: &Figures) {
        for ((firmware, what), &bytes) in figures {
            let room = bytes + bytes / 100;
            let ceiling = if *what == "stack" { room.min(bytes.max(STACK_BOUND as u64)) } else { room };
            self.0.insert((firmware.clone(), (*what).to_owned()), ceiling);
        }
    }

    /// Writes the file.
    pub fn write(&self) -> Result<()> {
        fs::write(paths::root().join(FILE), self.text()).with_context(|| format!("cannot write `{FILE}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `model-gen boards` keeps for the firmware is enough for what was measured.
    #[test]
    fn firmware_has_no_more_ram_than_is_kept_for_it() {
        let Ceilings(ceilings) = Ceilings::read().unwrap();
        let statics = |(firmware, what): &(String, String)| {
            let others = ceilings.get(&(firmware.clone(), "other statics".to_owned())).copied().unwrap_or(0);
            (what == "buffers").then(|| ceilings[&(firmware.clone(), what.clone())] + others)
        };
        let measured: Vec<u64> = ceilings.keys().filter_map(statics).collect();
        assert!(!measured.is_empty());
        assert!(measured.iter().all(|&bytes| bytes <= model_gen::boards::FIRMWARE_RAM as u64), "{measured:?}");
    }

    #[test]
    fn growth_past_a_ceiling_is_named() {
        let figures = |flash, stack| Figures::from([(("m4".into(), "flash"), flash), (("m4".into(), "stack"), stack)]);
        let mut ceilings = Ceilings::default();
        ceilings.bless(&figures(1000, 4090));
        assert_eq!(Ceilings::parse(&ceilings.text()).unwrap(), ceilings);
        assert_eq!(ceilings.check(&figures(1010, STACK_BOUND as u64)), [""; 0]);
        assert_eq!(ceilings.check(&figures(1011, 1)), ["m4: flash: 1011 bytes, above 1010"]);
        assert_eq!(ceilings.check(&figures(1, 4097)), ["m4: stack: 4097 bytes, above 4096"]);
        let other = Figures::from([(("m7".into(), "flash"), 5)]);
        assert_eq!(ceilings.check(&other), ["m7: flash: 5 bytes, not recorded"]);
        assert!(Ceilings::parse("head\nm4\tflash").is_err());
    }
}
