//! `cargo xtask demo`.

use anyhow::{Context, Result};

use crate::firmware::Firmware;
use crate::machines::{self, Engine};
use crate::qemu::Board;

/// What the demo says.
const PHRASES: &[&str] = &[
    "Where is the train station?",
    "I would like a cup of coffee, please.",
    "How much does this cost?",
    "My sister lives in a small house.",
    "I don't understand.",
    "The shop opens at 9:30.",
];

/// Boots the Cortex-M4 with the shipped model in its flash and translates.
pub fn run() -> Result<()> {
    let machine = machines::find("qemu-cortex-m4")?;
    println!("building the firmware of {} with the model in its flash", machine.name);
    let elf = Firmware::new(machine, None, Engine::Int8)?.build()?;
    let mut board = Board::boot(machine, &elf)?;
    println!("{}\n", board.greeting);
    let width = PHRASES.iter().map(|phrase| phrase.len()).max().unwrap_or(0);
    for phrase in PHRASES {
        let answer = board.ask(phrase)?;
        let stats = board.ask(":stats")?;
        let instructions = instructions(&stats).with_context(|| format!("no instructions in `{stats}`"))?;
        println!("{phrase:<width$} -> {answer}  ({:.1} M instructions)", instructions as f64 / 1e6);
    }
    println!("\n{}", board.ask(":stats")?);
    board.exit()?;
    Ok(())
}

/// The instructions of the last phrase in an answer to `:stats`.
pub fn instructions(stats: &str) -> Option<u64> {
    stats.split_once(" instructions")?.0.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stats() {
        let stats = "arena 5 of 10 bytes, stack 9 of 99 bytes, last phrase 12345 instructions for 3 + 4 tokens";
        assert_eq!(instructions(stats), Some(12345));
        assert_eq!(instructions("error: x"), None);
    }
}
