//! What is measured: commands of the bench firmware, and what each figure is divided by.

/// A figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Table it stands in.
    pub group: Group,
    /// Its name there, and in the golden file.
    pub name: String,
    /// What the firmware is asked.
    pub command: String,
    /// Multiply-accumulates or elements.
    pub units: u64,
}

/// Tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Kernel,
    Linear,
    Attention,
    Element,
}

impl Group {
    pub const ALL: [Group; 4] = [Group::Linear, Group::Kernel, Group::Attention, Group::Element];

    /// Heading, and what a figure is divided by.
    pub const fn title(self) -> (&'static str, &'static str) {
        match self {
            Group::Linear => ("Linear layers: quantize, multiply, requantize, add the bias", "MAC"),
            Group::Kernel => ("The kernel alone", "MAC"),
            Group::Attention => ("Attention, head dimension 32, 4 heads", "MAC"),
            Group::Element => ("Operators", "element"),
        }
    }
}

/// Shapes of the peers' table, that of the second feed-forward layer, and one of 128 inputs for which the Cortex-M0 has room:
/// inputs, outputs.
const SHAPES: [(u64, u64); 6] = [(64, 64), (128, 128), (512, 128), (256, 256), (384, 128), SMALL];
const SMALL: (u64, u64) = (128, 32);

/// Weights: bits, columns of a group (0: a scale a row; 1: the same in pairs), bits of the activations measured with them.
const WEIGHTS: [(u64, u64, &[u64]); 4] = [(8, 0, &[8, 14]), (8, 1, &[8]), (8, 16, &[12]), (4, 32, &[14])];

/// Every figure of kernels and operators.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (weight_bits, group, activations) in WEIGHTS {
        for &bits in activations {
            for (cols, rows) in SHAPES {
                // Groups are there to be accurate: one shape of each kind shows what they cost.
                if (group > 1 && !matches!((cols, rows), (128, 128) | (256, 256)))
                    || (group > 0 && (cols, rows) == SMALL)
                {
                    continue;
                }
                for tokens in [1, 8] {
                    let vectors = if tokens == 1 { "one vector" } else { "8 vectors" };
                    let groups = match group {
                        0 => String::new(),
                        1 => " in pairs".to_owned(),
                        _ => format!(" in groups of {group}"),
                    };
                    let name = format!("{cols}x{rows}, {vectors}, int{weight_bits}{groups} x {bits} bits");
                    let arguments = format!("{cols} {rows} {tokens} {bits} {weight_bits} {group}");
                    let units = cols * rows * tokens;
                    let case = |group, command: &str| Case {
                        group,
                        name: format!("{command} {name}"),
                        command: format!("{command} {arguments}"),
                        units,
                    };
                    cases.push(case(Group::Linear, "linear"));
                    cases.push(case(Group::Kernel, "multiply"));
                }
            }
        }
    }
    cases.extend(attention());
    cases.extend(elements());
    cases
}

fn attention() -> Vec<Case> {
    let mut cases = Vec::new();
    for (part, name, products) in [("scores", "QK^T", 1), ("context", "A.V", 1), ("whole", "all, with softmax", 2)] {
        for (tokens, queries) in [(1, "one query"), (16, "16 queries")] {
            cases.push(Case {
                group: Group::Attention,
                name: format!("{name} over 16 positions, {queries}"),
                command: format!("attend {part} 16 32 4 {tokens}"),
                units: products * 16 * 32 * 4 * tokens,
            });
        }
    }
    cases
}

fn elements() -> Vec<Case> {
    let case = |name: &str, command: &str, units| Case {
        group: Group::Element,
        name: name.to_owned(),
        command: command.to_owned(),
        units,
    };
    vec![
        case("softmax, n = 16, 4 heads", "attend softmax 16 32 4 1", 4 * 16),
        case("softmax, n = 64, 4 heads", "attend softmax 64 32 4 1", 4 * 64),
        case("residual and layer norm, n = 128", "norm 128", 128),
        case("embedding, n = 128", "embed 128", 128),
        case("quantize a hidden state to 8 bits, n = 128", "quantize 128 8 0", 128),
        case("quantize a hidden state to 14 bits, n = 128", "quantize 128 14 0", 128),
        case("quantize a linear's output to 14 bits, n = 128", "quantize 128 14 1", 128),
        case("store a key, n = 128, 4 heads", "store 128 4", 128),
        case("argmax over the output matrix, a MAC, 128x2000", "argmax", 128 * 2000),
    ]
}

/// Commands whose answers alone count: sizes that divide nothing, ends of ranges.
pub fn odd() -> Vec<String> {
    let mut commands = Vec::new();
    let mut pick = Pick(1);
    for _ in 0..120 {
        let cols: u32 = pick.of(&[1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 63, 66, 127, 130]);
        let rows = pick.of(&[1, 2, 3, 4, 5, 7, 8, 9, 13, 18]);
        let tokens = pick.of(&[1, 2, 3, 4, 5, 7, 8, 9]);
        let bits = pick.of(&[8, 8, 12, 14, 16]);
        let (weight_bits, group) = pick.of(&[(8, 0), (8, 0), (8, 16), (8, 5), (4, 32), (4, 7), (4, 16)]);
        for command in ["linear", "multiply"] {
            commands.push(format!("{command} {cols} {rows} {tokens} {bits} {weight_bits} {group}"));
            // Pairs take whole tiles of columns, 512 at most.
            let cols = if cols == 130 { 512 } else { cols.next_multiple_of(4) };
            commands.push(format!("{command} {cols} {rows} {tokens} 8 8 1"));
        }
    }
    for part in ["scores", "softmax", "context", "whole"] {
        for _ in 0..12 {
            let positions = pick.of(&[1, 2, 3, 4, 5, 7, 16, 17, 31, 64]);
            let (head_dim, heads) = (pick.of(&[1, 4, 7, 12, 16, 30, 32]), pick.of(&[1, 2, 3]));
            commands.push(format!("attend {part} {positions} {head_dim} {heads} {}", pick.of(&[1, 2, 5])));
        }
    }
    for len in [1, 2, 3, 5, 8, 13, 31, 66, 127] {
        commands.push(format!("norm {len}"));
        commands.push(format!("embed {len}"));
        for bits in [8, 11, 14, 16] {
            commands.extend([0, 1].map(|wide| format!("quantize {len} {bits} {wide}")));
        }
        commands.push(format!("store {len} 1"));
    }
    commands
}

/// Picks by a fixed sequence (Numerical Recipes' linear congruential generator).
struct Pick(u32);

impl Pick {
    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        from[(self.0 >> 16) as usize % from.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_figure_has_another_ones_name() {
        let cases = cases();
        let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(cases.iter().all(|case| case.units > 0 && !case.name.contains('\t')));
    }

    #[test]
    fn odd_sizes_are_of_every_kind() {
        let odd = odd();
        let has = |wanted: &str| odd.iter().any(|command| command.starts_with(wanted));
        for name in ["multiply ", "linear ", "norm ", "embed ", "quantize ", "store "] {
            assert!(has(name), "{name}");
        }
        for part in ["scores", "softmax", "context", "whole"] {
            assert!(has(&format!("attend {part} ")), "{part}");
        }
        for (bits, group, _) in WEIGHTS {
            assert!(odd.iter().any(|command| command.ends_with(&format!(" {bits} {group}"))), "{bits} {group}");
        }
        let cols = |command: &String| command.split(' ').nth(1).and_then(|cols| cols.parse().ok()).unwrap_or(0);
        assert!(odd.iter().filter(|command| command.starts_with("multiply")).any(|command| cols(command) % 4 != 0));
    }
}
