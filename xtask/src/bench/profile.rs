//! Where a phrase's instructions go: counts by function.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSymbol, SymbolKind};

/// Functions of a linked file by address.
#[derive(Debug)]
pub struct Functions(Vec<(u64, String)>);

impl Functions {
    /// Reads the symbol table.
    pub fn read(elf: &Path) -> Result<Self> {
        let data = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
        let file = object::File::parse(&*data)?;
        let mut functions = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.kind() != SymbolKind::Section) {
            let name = symbol.name()?;
            // Labels of assembly are functions here too; mapping symbols and what the assembler made up are not.
            if !name.is_empty() && !name.starts_with(['$', '.']) && symbol.kind() != SymbolKind::Data {
                let name = format!("{:#}", rustc_demangle::demangle(name));
                // Arm marks Thumb functions in the lowest bit.
                functions.push((symbol.address() & !1, name));
            }
        }
        functions.sort();
        Ok(Functions(functions))
    }

    fn at(&self, address: u64) -> &str {
        let before = self.0.partition_point(|function| function.0 <= address);
        before.checked_sub(1).map_or("?", |index| &self.0[index].1)
    }

    /// Functions with their instructions, the hottest first.
    pub fn hottest(&self, places: &[(u64, i64)]) -> Vec<(String, i64)> {
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for &(address, instructions) in places {
            *sums.entry(self.at(address)).or_default() += instructions;
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect();
        sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_by_function_the_hottest_first() {
        let functions = Functions(vec![(0x10, "a".into()), (0x20, "b".into()), (0x30, "c".into())]);
        let places = [(0x10, 5), (0x2e, 9), (0x20, -1), (0x1c, 1), (0x8, 2)];
        let wanted = [("b", 8), ("a", 6), ("?", 2)].map(|(name, sum)| (name.to_owned(), sum));
        assert_eq!(functions.hottest(&places), wanted);
    }
}
