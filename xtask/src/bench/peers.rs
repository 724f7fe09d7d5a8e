//! What other libraries take, counted the same way on the same emulated cores.

use crate::machines::Machine;

use super::plan::{Case, Group};

/// Where the figures come from.
pub const SOURCE: &str = "Peers: CMSIS-NN at 99f736a (July 2026), gcc 12.2.1 and 13.2.1, for the M55 clang 19.1.7 too, -O3: \
    `arm_fully_connected_s8` for one vector and `arm_nn_mat_mult_nt_t_s8` for eight, int8 activations; \
    `arm_batch_matmul_s8` for attention; `arm_softmax_s16` for softmax; layer norm is TensorFlow Lite Micro's int16 \
    helper. Counted by the same classes between the same markers in QEMU 7.2, each checked bit for bit against a plain \
    reference.";

/// Cores for which there are figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Core {
    M0,
    M3,
    M4,
    M55,
    Rv32,
}

fn core(machine: &Machine) -> Option<Core> {
    let (_, name) = machine.name.split_once('-')?;
    match name {
        "cortex-m0" => Some(Core::M0),
        "cortex-m3" => Some(Core::M3),
        // One set of instructions and the same counts.
        "cortex-m4" | "cortex-m7" | "cortex-m33" => Some(Core::M4),
        "cortex-m55" => Some(Core::M55),
        "riscv32" => Some(Core::Rv32),
        _ => None,
    }
}

/// Figures for a core each, in the order of [`Core`]; empty where there are none.
type Row = [&'static str; 5];

/// Figures of matrices: inputs, outputs and vectors.
const SHAPES: [(&str, Row); 6] = [
    ("64 64 1", ["7.61", "3.99", "2.68", ".365", "5.93"]),
    ("128 128 1", ["6.80", "3.67", "2.27", ".252", "5.64"]),
    ("512 128 1", ["6.22", "3.45", "1.97", ".180", "5.44"]),
    ("256 256 1", ["6.39", "3.49", "2.07", ".202", "5.47"]),
    ("128 128 8", ["", "3.19", "2.15", ".28", "4.98"]),
    ("256 256 8", ["", "3.03", "1.97", ".22", "4.83"]),
];

/// Figures of other commands.
const OPERATORS: [(&str, Row); 7] = [
    ("attend scores 16 32 4 1", ["", "5.02", "3.70", ".94", "6.84"]),
    ("attend context 16 32 4 1", ["", "6.19", "5.24", "1.36", "7.85"]),
    ("attend scores 16 32 4 16", ["", "4.93", "3.62", ".71", "6.75"]),
    ("attend context 16 32 4 16", ["", "6.11", "5.16", "1.06", "7.76"]),
    ("attend softmax 16 32 4 1", ["123", "54", "52", "", "65"]),
    ("attend softmax 64 32 4 1", ["115", "49", "47", "", "58"]),
    ("norm 128", ["", "99", "100", "", ""]),
];

/// The best peer's instructions for a unit of the case; `None` where nobody has such an operator.
pub fn peer(machine: &Machine, case: &Case) -> Option<&'static str> {
    let column = core(machine)? as usize;
    let row = match case.group {
        // Peers' weights have 8 bits and a scale a row, with or without pairs, and so have their activations.
        Group::Linear | Group::Kernel => {
            let (_, arguments) = case.command.split_once(' ')?;
            let shape = arguments
                .strip_suffix(" 8 8 0")
                .or_else(|| arguments.strip_suffix(" 14 8 0"))
                .or_else(|| arguments.strip_suffix(" 8 8 1"))?;
            SHAPES.iter().find(|(name, _)| *name == shape)?.1
        }
        Group::Attention | Group::Element => OPERATORS.iter().find(|(command, _)| *command == case.command)?.1,
    };
    Some(row[column]).filter(|figure| !figure.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan::cases;
    use crate::machines::find;

    #[test]
    fn finds_the_peers_of_shapes_and_operators() {
        let m4 = find("qemu-cortex-m4").unwrap();
        let of = |command: &str| {
            let cases = cases();
            peer(m4, cases.iter().find(|case| case.command == command).unwrap())
        };
        assert_eq!(of("linear 128 128 1 8 8 0"), Some("2.27"));
        assert_eq!(of("multiply 256 256 8 14 8 0"), Some("1.97"));
        assert_eq!(of("linear 128 128 1 14 4 32"), None);
        assert_eq!(of("attend context 16 32 4 16"), Some("5.16"));
        assert_eq!(of("norm 128"), Some("100"));
        assert_eq!(of("attend softmax 16 32 4 1"), Some("52"));
        assert_eq!(of("argmax"), None);
    }

    #[test]
    fn every_peer_is_that_of_a_case() {
        let asked = |command: &str| cases().iter().any(|case| case.command == command);
        for (shape, _) in SHAPES {
            assert!(["linear", "multiply"].iter().all(|command| asked(&format!("{command} {shape} 8 8 0"))), "{shape}");
        }
        for (command, _) in OPERATORS {
            assert!(asked(command), "{command}");
        }
    }
}
