//! What a linked firmware takes of flash and RAM, by its sections and symbols.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::elf::{self, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind};

/// Bytes of a firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Instructions, with the constants among them.
    pub code: u64,
    /// Other constants, without models.
    pub constants: u64,
    /// In flash, what statics hold at the start.
    pub values: u64,
    /// Models, as `include_blob!` links them.
    pub model: u64,
    /// Static RAM, the two below among it.
    pub statics: u64,
    /// The arena.
    pub arena: u64,
    /// What phrases come and go through.
    pub buffers: u64,
    /// Code and constants by who they are from; those without a name are not among them.
    pub owners: BTreeMap<&'static str, u64>,
}

impl Sizes {
    /// Reads a linked file.
    pub fn read(elf: &Path) -> Result<Self> {
        let bytes = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
        let file = object::File::parse(&*bytes).with_context(|| format!("`{}` is no ELF file", elf.display()))?;
        let mut sizes = Self::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let has = |flag: elf::SectionFlags| sh_flags.0 & flag.0 != 0;
            // What linker scripts leave for the stack is told apart.
            if !has(SHF_ALLOC) || section.name()?.starts_with(".stack") {
                continue;
            }
            let (size, stored) = (section.size(), section.kind() != SectionKind::UninitializedData);
            match (stored, has(SHF_WRITE)) {
                (true, false) if has(SHF_EXECINSTR) => sizes.code += size,
                (true, false) => sizes.constants += size,
                (true, true) => sizes.values += size,
                (false, _) => {}
            }
            if has(SHF_WRITE) {
                sizes.statics += size;
            }
        }
        for symbol in file.symbols().filter(|symbol| symbol.is_definition() && symbol.size() > 0) {
            let size = symbol.size();
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
            match name.rsplit("::").next() {
                Some("ALIGNED") => sizes.model += size,
                Some("ARENA") => sizes.arena += size,
                Some("BUFFERS") => sizes.buffers += size,
                _ if is_kept(&file, &symbol) => *sizes.owners.entry(owner(&name)).or_default() += size,
                _ => {}
            }
        }
        sizes.constants = sizes.constants.saturating_sub(sizes.model);
        Ok(sizes)
    }

    /// Static RAM that is neither arena nor buffers.
    pub fn rest(&self) -> u64 {
        self.statics.saturating_sub(self.arena + self.buffers)
    }

    /// Flash without models.
    pub fn flash(&self) -> u64 {
        self.code + self.constants + self.values
    }
}

/// Whether a symbol is code or a constant.
fn is_kept<'f>(file: &object::File<'f>, symbol: &object::Symbol<'f, '_>) -> bool {
    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
    section.is_some_and(|section| matches!(section.kind(), SectionKind::Text | SectionKind::ReadOnlyData))
}

/// Whose a symbol is.
fn owner(name: &str) -> &'static str {
    const CORE: &[&str] = &["core", "alloc", "compiler_builtins"];
    // Of a type, the crate that it is from; of an operation of the language's, none.
    let path = name.trim_start_matches(['<', '&', '[', '(']);
    let path = ["mut ", "dyn "].iter().fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let runtime = ["mem", "bcmp", "__aeabi", "__u", "__d", "__m", "__a", "__l"];
    match path.split_once("::") {
        // Jump tables and constants have the function that they are for in their names, mangled.
        _ if name.contains("latimer_") || name.contains("7latimer") => "latimer",
        Some(("latimer", _)) => "latimer",
        Some(("heapless", _)) => "heapless",
        Some((name, _)) if CORE.contains(&name) => "core and compiler-builtins",
        None if runtime.iter().any(|start| path.starts_with(start)) => "core and compiler-builtins",
        _ if name.starts_with(".L") => "constants without a name",
        _ => "the firmware's own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_owners() {
        let names = [
            ("latimer::layer::look_up", "latimer"),
            ("<latimer::op::int8::Int8 as latimer::engine::Engine>::embed", "latimer"),
            ("<&mut latimer::x::Y as core::fmt::Display>::fmt", "latimer"),
            ("latimer_dsp_panel", "latimer"),
            (".Lswitch.table._ZN7latimer4blob5check7Tensors12check_tensor17hdaE", "latimer"),
            ("<heapless::string::StringInner<S> as core::fmt::Write>::write_str", "heapless"),
            ("<core::fmt::Formatter>::pad", "core and compiler-builtins"),
            ("__aeabi_memclr4", "core and compiler-builtins"),
            ("__udivmoddi4", "core and compiler-builtins"),
            ("__INTERRUPTS", "the firmware's own"),
            ("Reset", "the firmware's own"),
            ("minimal::say", "the firmware's own"),
            (".Lanon.f5ff8d.7", "constants without a name"),
        ];
        for (name, wanted) in names {
            assert_eq!(owner(name), wanted, "{name}");
        }
    }
}
