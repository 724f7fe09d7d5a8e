//! Proves that a linked firmware computes with integers only: no float routine in its symbol table, no FPU
//! instruction in its code.
//!
//! The code is decoded here, as far as telling float instructions needs: mapping symbols (`$t`, `$d`, `$x`) say what
//! is code, the length of each instruction follows from its first halfword, and the float ones have encoding spaces
//! of their own. So the check needs no disassembler, and an encoding it does not know can't slip through as text
//! that does not match.
//!
//! `cortex-m-rt` turns the FPU on at reset on `-eabihf` targets. That is a store to CPACR, an integer instruction, and
//! it makes the hardware reserve room for FPU registers when an interrupt is taken (lazy stacking), but only once an
//! FPU instruction has run (CONTROL.FPCA): with none in the firmware, that never happens.

//!
//! The one exception are `AT_START` functions of a chip's support crate, which are counted apart: where they are, an interrupt
//! reserves that room, and there is no further cost.

mod arm;
mod riscv;
mod symbols;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use object::elf::FileHeader32;
use object::read::elf::AttributesSection;
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

use crate::firmware::{Firmware, build_kernels};
use crate::hardware::HARDWARE;
use crate::machines::{Engine, KERNEL_MACHINES, MACHINES};

/// Something of floats in a firmware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A float routine.
    Routine {
        /// Its symbol.
        name: String,
    },
    /// A float instruction.
    Instruction {
        /// Its address.
        address: u64,
        /// Its bits.
        bits: u32,
        /// The function it is in.
        function: String,
    },
}

/// Paths of functions that compute with floats once, before the engine runs: an STM32H7's clocks, whose multiplier may have a
/// fraction.
const AT_START: &[&str] = &["embassy_stm32::rcc::"];

impl Finding {
    /// Whether it is in one of `AT_START`.
    fn is_at_start(&self) -> bool {
        let Self::Instruction { function, .. } = self else { return false };
        let path = format!("{:#}", rustc_demangle::demangle(function));
        AT_START.iter().any(|start| path.starts_with(start))
    }
}

/// What was checked and found.
#[derive(Debug, Default)]
pub struct Report {
    /// Float code.
    pub findings: Vec<Finding>,
    /// Whether the firmware is for a core with MVE, whose integer vectors share the FPU's registers.
    pub mve: bool,
    /// Functions in the symbol table.
    pub functions: usize,
    /// Instructions decoded.
    pub instructions: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Routine { name } => write!(f, "float routine {name}"),
            Finding::Instruction { address, bits, function } => {
                write!(f, "float instruction {bits:#010x} at {address:#x} in {function}")
            }
        }
    }
}

/// Checks the given files, or the int8 firmware of every board with the shipped model.
pub fn run(elfs: &[PathBuf]) -> Result<()> {
    let mut elfs = elfs.to_vec();
    if elfs.is_empty() {
        for machine in KERNEL_MACHINES {
            elfs.push(build_kernels(machine, &[])?);
        }
        for machine in MACHINES {
            elfs.push(Firmware::new(machine, None, Engine::Int8)?.build()?);
        }
        for hardware in HARDWARE {
            elfs.push(Firmware::for_hardware(hardware, None, Engine::Int8)?.build()?);
        }
    }
    let mut failed = 0;
    for elf in &elfs {
        let report = check(elf)?;
        let name = elf.file_name().unwrap_or_default().display();
        let Report { findings, functions, instructions, .. } = &report;
        let (at_start, findings): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_at_start());
        println!("{name}: {functions} functions, {instructions} instructions, {} of them float", findings.len());
        if !at_start.is_empty() {
            println!("  and {} that set the clocks at start", at_start.len());
        }
        for finding in findings.iter().take(10) {
            println!("  {finding}");
        }
        failed += usize::from(!findings.is_empty());
    }
    if failed > 0 {
        bail!("float code in {failed} of {} firmware files", elfs.len());
    }
    Ok(())
}

/// Checks one file.
pub fn check(elf: &Path) -> Result<Report> {
    let data = fs::read(elf).with_context(|| format!("cannot read `{}`", elf.display()))?;
    check_bytes(&data).with_context(|| format!("cannot check `{}`", elf.display()))
}

/// Checks a linked ELF file's bytes.
pub fn check_bytes(data: &[u8]) -> Result<Report> {
    let file = object::File::parse(data)?;
    let mve = file.architecture() == Architecture::Arm && has_mve(&file)?;
    let scan = match file.architecture() {
        Architecture::Arm if mve => arm::scan_mve,
        Architecture::Arm => arm::scan,
        Architecture::Riscv32 => riscv::scan,
        other => bail!("{other:?} is not an architecture of the boards"),
    };
    let mut report = Report { mve, ..Report::default() };
    let mut functions: Vec<(u64, String)> = Vec::new();
    for symbol in file.symbols().filter(ObjectSymbol::is_definition) {
        let name = symbol.name()?;
        if symbols::is_float_routine(name) {
            report.findings.push(Finding::Routine { name: name.to_owned() });
        }
        if symbol.kind() == SymbolKind::Text && !name.starts_with('$') {
            // Arm marks Thumb functions in the lowest bit.
            functions.push((symbol.address() & !1, name.to_owned()));
        }
    }
    if functions.is_empty() {
        bail!("there is no symbol table: it was stripped, so nothing can be proven");
    }
    functions.sort();
    report.functions = functions.len();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let bytes = section.uncompressed_data()?;
        for (start, code) in code_ranges(&file, section.address(), &bytes) {
            report.instructions += scan(code, &mut |offset, bits| {
                let address = start + offset as u64;
                let before = functions.partition_point(|function| function.0 <= address);
                let function = before.checked_sub(1).map_or("?", |index| &functions[index].1).to_owned();
                report.findings.push(Finding::Instruction { address, bits, function });
            });
        }
    }
    if report.instructions == 0 {
        bail!("there is no code");
    }
    Ok(report)
}

/// Whether an Arm firmware was built for a core with MVE, by its build attributes (Arm IHI 0045, Tag_MVE_arch).
fn has_mve(file: &object::File<'_>) -> Result<bool> {
    const TAG_MVE_ARCH: u64 = 48;
    let Some(section) = file.section_by_name(".ARM.attributes") else { return Ok(false) };
    let sections = AttributesSection::<FileHeader32<Endianness>>::new(file.endianness(), section.data()?)?;
    let mut sections = sections.subsections()?;
    while let Some(section) = sections.next()? {
        let mut parts = section.subsubsections();
        while let Some(part) = parts.next()? {
            let mut attributes = part.attributes();
            while let Some(tag) = attributes.read_tag()? {
                match tag {
                    TAG_MVE_ARCH => return Ok(attributes.read_integer()? != 0),
                    // The two names of the processor, and by the rule for later tags the odd ones, are strings; tag 32 is
                    // a number and a string.
                    4 | 5 => _ = attributes.read_string()?,
                    32 => _ = (attributes.read_integer()?, attributes.read_string()?),
                    33.. if tag % 2 == 1 => _ = attributes.read_string()?,
                    _ => _ = attributes.read_integer()?,
                }
            }
        }
    }
    Ok(false)
}

/// The parts of a section that are code by its mapping symbols; all of it when there are none.
fn code_ranges<'a>(file: &object::File<'_>, address: u64, bytes: &'a [u8]) -> Vec<(u64, &'a [u8])> {
    let end = address + bytes.len() as u64;
    let mut marks: Vec<(u64, bool)> = file
        .symbols()
        .filter(|symbol| (address..end).contains(&symbol.address()))
        .filter_map(|symbol| {
            let name = symbol.name().ok()?.strip_prefix('$')?;
            let is_code = name.starts_with(['t', 'x', 'a']);
            (is_code || name.starts_with('d')).then_some((symbol.address(), is_code))
        })
        .collect();
    marks.sort();
    if marks.is_empty() {
        marks.push((address, true));
    }
    let ends = marks.iter().skip(1).map(|mark| mark.0).chain([end]);
    let ranges = marks.iter().zip(ends).filter(|(mark, _)| mark.1);
    ranges.map(|(mark, to)| (mark.0, &bytes[(mark.0 - address) as usize..(to - address) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instructions_that_set_clocks_are_let_pass() {
        let instruction = |function: &str| Finding::Instruction { address: 0, bits: 0, function: function.to_owned() };
        assert!(instruction("_ZN13embassy_stm323rcc8_version8init_pll17h9302adab1dd96281E").is_at_start());
        for function in ["?", "_ZN7latimer3num8embassy_stm323rcc17h9302adab1dd96281E", "embassy_stm32"] {
            assert!(!instruction(function).is_at_start(), "{function}");
        }
        assert!(!Finding::Routine { name: "__aeabi_fmul".into() }.is_at_start());
    }

    #[test]
    fn what_is_no_firmware_is_refused() {
        assert!(check_bytes(b"").is_err());
        assert!(check_bytes(b"\x7fELF and then nothing of use").is_err());
        let own = std::env::current_exe().unwrap();
        assert!(check(&own).unwrap_err().root_cause().to_string().contains("not an architecture"));
    }
}
