//! How fast boards are, for `model-gen boards`: instructions a multiply-accumulate, from the counts of whole phrases.

use anyhow::{Context, Result};
use model_gen::aligned::AlignedBytes;
use model_gen::boards::BOARDS;
use model_gen::cost::Macs;

use crate::bench::Golden;
use crate::machines::{Engine, MACHINES, Machine};
use crate::shipped::shipped_blob;

/// The file that `model-gen` takes up.
pub const FILE: &str = "model-gen/src/boards/speed.tsv";

/// Source tokens of the phrase that is counted; of its steps the last is.
const SOURCE_TOKENS: f64 = 12.0;

/// Instructions of encoder and decoder over the multiply-accumulates of their linears, by board and recipe.
pub fn table() -> Result<String> {
    let blob = AlignedBytes::read(&shipped_blob(Engine::Int8)?)?;
    let macs = Macs::of(&latimer::Model::from_bytes(&blob)?);
    let golden = Golden::read()?;
    let mut text = "# Written by `cargo xtask docs` from xtask/bench.tsv.\nboard\tweights\tencode\tstep\n".to_owned();
    for machine in MACHINES.iter().filter(|machine| stands_for_another(machine)) {
        for (recipe, weights) in [("fast", "rows"), ("best", "groups")] {
            let count = |part: &str| {
                let figure = format!("{part}, {recipe}");
                let count = golden.count(machine.name, "selected", &figure);
                count.with_context(|| format!("no `{figure}` of {}; run `cargo xtask bench --bless`", machine.name))
            };
            let encode = count("encode")? / (macs.source as f64 * SOURCE_TOKENS);
            let step = count("step")? / macs.target as f64;
            text.push_str(&format!("{}\t{weights}\t{encode:.2}\t{step:.2}\n", machine.name));
        }
    }
    Ok(text)
}

/// Whether a known board is estimated by this one's counts.
fn stands_for_another(machine: &Machine) -> bool {
    BOARDS.iter().any(|board| board.core.counted_as == machine.name)
}
