//! `docs/accuracy.md`: the figures as tables.

use std::fs;

use anyhow::{Context, Result};
use model_gen::evaluate::Evaluation;

use super::lab::Measured;
use crate::generated::{replace, table};
use crate::paths;

/// The page.
pub const PAGE: &str = "docs/accuracy.md";

/// Measured entries by name.
pub type Rows = [(String, Measured)];

/// Which of the two sets.
#[derive(Clone, Copy, Debug)]
enum Set {
    /// To choose by.
    Dev,
    /// To report.
    Test,
}

impl Measured {
    fn on(&self, set: Set) -> &Evaluation {
        match set {
            Set::Dev => &self.dev,
            Set::Test => &self.test,
        }
    }
}

/// Quality on both sets; sizes in ratio to `base_bytes`.
pub fn quality(rows: &Rows, base_bytes: usize) -> String {
    let part = |set, title| {
        let Some((_, any)) = rows.first() else { return String::new() };
        let Evaluation { phrases, forced_tokens, float, .. } = any.on(set);
        let cells = rows.iter().map(|(name, measured)| row(name, measured.on(set), base_bytes));
        format!(
            "{title}: {phrases} phrases, {forced_tokens} teacher-forced tokens; float has BLEU {:.2}, chrF {:.2}, \
             cross-entropy {:.4} nats a token.\n\n{}",
            float.bleu,
            float.chrf,
            float.cross_entropy,
            table(&HEAD, cells)
        )
    };
    format!("{}\n{}", part(Set::Dev, "Dev, to choose by"), part(Set::Test, "Test, to report"))
}

const HEAD: [&str; 11] = [
    "weights",
    "bytes",
    "of int8",
    "BLEU",
    "chrF",
    "BLEU drop",
    "chrF drop",
    "identical",
    "cross-entropy",
    "KL",
    "worst stage",
];

fn row(name: &str, e: &Evaluation, base_bytes: usize) -> [String; 11] {
    let worst = e.stages.first().map_or(String::new(), |noise| format!("{:.1} dB, {}", noise.sqnr_db, noise.stage));
    [
        name.to_owned(),
        e.blob_bytes.to_string(),
        format!("{:.3}", e.blob_bytes as f64 / base_bytes as f64),
        format!("{:.2}", e.quantized.bleu),
        format!("{:.2}", e.quantized.chrf),
        format!("{:.2}", e.bleu_drop()),
        format!("{:.2}", e.chrf_drop()),
        format!("{} ({:.2} %)", e.identical, e.identical_percent()),
        format!("{:+.2} %", e.cross_entropy_percent()),
        format!("{:.1e}", e.mean_kl),
        worst,
    ]
}

/// What depends on the machine, as ratios within one run.
pub fn speed(rows: &Rows, threads: usize) -> String {
    let cells = rows.iter().map(|(name, measured)| {
        let e = &measured.test;
        [
            name.clone(),
            format!("{:.2}", e.quantized.tokens_per_second / e.float.tokens_per_second),
            format!("{:.1} s", e.wall_seconds),
            format!("{:.2}", e.wall_seconds * threads as f64 / e.float.core_seconds),
        ]
    });
    let head = ["weights", "tokens a core second, float = 1", "eval on test", "core seconds, float's greedy = 1"];
    format!("Release build, {threads} threads, nothing known of what else the machine did.\n\n{}", table(&head, cells))
}

/// Writes parts of the page, all or none: an interrupted run leaves it as it was.
pub fn write(parts: &[(String, String)]) -> Result<()> {
    let path = paths::root().join(PAGE);
    let mut text = fs::read_to_string(&path).with_context(|| format!("cannot read `{PAGE}`"))?;
    for (part, new) in parts {
        text = replace(&text, &format!("cargo xtask accuracy {part}"), new).with_context(|| format!("`{PAGE}`"))?;
    }
    let unfinished = path.with_extension(format!("md.{}.tmp", std::process::id()));
    fs::write(&unfinished, text).with_context(|| format!("cannot write `{}`", unfinished.display()))?;
    fs::rename(&unfinished, &path).with_context(|| format!("cannot write `{PAGE}`"))?;
    println!("{PAGE}: written");
    Ok(())
}
