//! Classes of instructions, and counts by class.

/// What a region's line counts. The first ones are classes of instructions, of which each has one; the last ones are
/// what a model of cycles needs beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Class {
    Load,
    LoadMultiple,
    Store,
    StoreMultiple,
    Multiply,
    Alu,
    Branch,
    Divide,
    Vector,
    VectorMemory,
    Float,
    Other,
    /// Loads that follow no load nor store, which a Cortex-M4 can't overlap with the instruction before.
    FirstLoad,
    /// Words moved by load and store multiple.
    Words,
}

/// Names in order.
pub const NAMES: [&str; 14] = [
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
    "first_load",
    "words",
];

/// Classes of instructions come first.
const INSTRUCTIONS: usize = Class::FirstLoad as usize;

/// One instruction: its class, the words it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    pub class: Class,
    pub words: u32,
}

impl Decoded {
    pub fn of(class: Class) -> Self {
        Decoded { class, words: 0 }
    }

    /// Load or store multiple.
    pub fn multiple(load: bool, words: u32) -> Self {
        Decoded { class: if load { Class::LoadMultiple } else { Class::StoreMultiple }, words }
    }
}

/// A load, or a store.
pub fn memory(load: bool) -> Class {
    if load { Class::Load } else { Class::Store }
}

/// What the markers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Start,
    Stop,
}

/// Counts by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [i64; NAMES.len()]);

impl Counts {
    /// Counts an instruction; `after` is the one before it in the same block.
    pub fn add(&mut self, insn: Decoded, after: Option<Class>) {
        self.0[insn.class as usize] += 1;
        self.0[Class::Words as usize] += i64::from(insn.words);
        let overlaps = matches!(after, Some(Class::Load | Class::Store));
        self.0[Class::FirstLoad as usize] += i64::from(insn.class == Class::Load && !overlaps);
    }

    /// Adds `times` other counts.
    pub fn add_times(&mut self, other: &Counts, times: i64) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count * times;
        }
    }

    /// All instructions.
    pub fn instructions(&self) -> i64 {
        self.0[..INSTRUCTIONS].iter().sum()
    }
}
