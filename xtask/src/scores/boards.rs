//! Instructions a phrase takes on the emulated boards, engine by engine.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use latimer::EngineKind;
use model_gen::pack::{InputBits, Options, pack};

use crate::firmware::Firmware;
use crate::generated::table;
use crate::machines::{self, Engine};
use crate::qemu::Board;
use crate::{demo, paths};

/// What is translated: the words of the demo's second phrase.
const PHRASE: &str = "Where is the train station?";

/// A table of instructions, one row an engine, one column a reference board.
pub fn instructions(checkpoint: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for (name, file, engine, options) in choices() {
        let blob = paths::artifacts().join(format!("scores-{file}.blob"));
        fs::create_dir_all(paths::artifacts())?;
        fs::write(&blob, pack(checkpoint, &options)?.bytes)?;
        let mut row = vec![name.to_owned()];
        for machine in machines::reference() {
            let elf = Firmware::new(machine, Some(&blob), engine)?.build()?;
            let mut board = Board::boot(machine, &elf)?;
            board.ask(PHRASE)?;
            let stats = board.ask(":stats")?;
            let count = demo::instructions(&stats).with_context(|| format!("no instructions in `{stats}`"))?;
            row.push(format!("{:.1} M", count as f64 / 1e6));
            board.exit()?;
        }
        rows.push(row);
    }
    let head: Vec<&str> = std::iter::once("engine").chain(machines::reference().map(|machine| machine.name)).collect();
    Ok(format!("Instructions to translate \"{PHRASE}\":\n\n{}", table(&head, rows)))
}

fn choices() -> [(&'static str, &'static str, Engine, Options); 4] {
    let int8 = |bits| {
        let mut options = Options::new(EngineKind::Int8);
        options.settings.bits = InputBits::all(bits);
        options
    };
    let f16 = |micromath| Options { micromath, ..Options::new(EngineKind::F16) };
    [
        ("int8, inputs of 8 bits", "int8-8", Engine::Int8, int8(8)),
        ("int8, inputs of 16 bits", "int8-16", Engine::Int8, int8(16)),
        ("f16, `libm`", "f16-libm", Engine::F16, f16(false)),
        ("f16, `micromath`", "f16-micromath", Engine::F16, f16(true)),
    ]
}
