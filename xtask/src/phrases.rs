//! `cargo xtask phrases`: the shipped model on phrases as people type them, written into `docs/phrases.md`: quality with each
//! part of the pipeline on and off, confidence, shortlist, memory, and what a beam search costs on boards.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use latimer::{Limits, Model, TextOptions};
use model_gen::aligned::AlignedBytes;
use model_gen::judge::{Judgement, judge};
use model_gen::run::Choices;
use model_gen::score::pairs::{MAX_REFERENCES, Phrase, read_pairs};

use crate::firmware::Firmware;
use crate::generated::{replace, table};
use crate::machines::{self, Engine};
use crate::qemu::Board;
use crate::shipped::shipped_blob;
use crate::{demo, paths};

const PAGE: &str = "docs/phrases.md";
/// What a beam search is timed on.
const PHRASE: &str = "There's an orange on the table.";

/// Measures, prints and writes.
pub fn run() -> Result<()> {
    let data = paths::root().join("../shared/data/en-es");
    if !data.is_dir() {
        println!("skipped: no `{}`", data.display());
        return Ok(());
    }
    let path = shipped_blob(Engine::Int8)?;
    let bytes = AlignedBytes::read(&path)?;
    let model = Model::from_bytes(&bytes)?;
    let sets = ["dev", "test"].map(|set| (set, read_pairs(&data.join(format!("{set}.tsv")), MAX_REFERENCES)));
    let mut parts = vec![("sections", sections(&model)), ("memory", memory(&model)?)];
    let (mut quality, mut confidence) = (Vec::new(), Vec::new());
    for (set, phrases) in sets {
        let phrases = phrases?;
        for (name, beams, choices) in plan(&model) {
            // Switches are chosen by dev.
            if set == "test" && name.starts_with("without") {
                continue;
            }
            let found = run_one(&model, beams, choices, &phrases)?;
            println!("{set}, {name}: chrF {:.2}, BLEU {:.2}", found.chrf, found.bleu);
            if choices.text == Some(TextOptions::DEFAULT) && choices.shortlist {
                confidence.push(confidence_row(set, name, &found));
            }
            quality.push(quality_row(set, name, &found));
        }
    }
    let head = ["set", "", "chrF", "BLEU", "runs of the model", "length", "loop", "split", "apart", "lost"];
    parts.push(("quality", table(&head, quality)));
    let head = ["set", "", "lowest fifth", "second", "third", "fourth", "highest", "calibration error"];
    parts.push(("confidence", table(&head, confidence)));
    parts.push(("beams", boards(&path)?));
    let page = paths::root().join(PAGE);
    let mut text = fs::read_to_string(&page).with_context(|| format!("cannot read `{PAGE}`"))?;
    for (name, part) in parts {
        println!("\n{part}");
        text = replace(&text, &format!("cargo xtask phrases {name}"), &part)?;
    }
    Ok(fs::write(&page, text)?)
}

/// What is judged, by name.
fn plan(model: &Model<'_>) -> Vec<(&'static str, u16, Choices<'static>)> {
    let shortlist = model.blob().shortlist().is_some();
    let with = |text| Choices { shortlist, text: Some(text), unknown: false, ..Choices::from(usize::MAX) };
    let all = TextOptions::DEFAULT;
    let raw = Choices { text: None, ..with(all) };
    vec![
        ("the model alone, whole output matrix", 1, Choices { shortlist: false, ..raw }),
        ("the model alone, shortlist", 1, raw),
        ("passages", 1, with(all)),
        ("passages, whole output matrix", 1, Choices { shortlist: false, ..with(all) }),
        ("without sentences", 1, with(TextOptions { sentences: false, ..all })),
        ("without protection", 1, with(TextOptions { protect: false, ..all })),
        ("without casing", 1, with(TextOptions { casing: false, ..all })),
        ("without punctuation", 1, with(TextOptions { punctuation: false, ..all })),
        ("without guards", 1, with(TextOptions { guards: false, ..all })),
        ("passages, 4 beams", 4, with(all)),
    ]
}

fn run_one(model: &Model<'_>, beams: u16, choices: Choices<'_>, phrases: &[Phrase]) -> Result<Judgement> {
    judge(model, Limits { beams, ..Limits::DEFAULT }, choices, phrases, || {})
}

fn quality_row(set: &str, name: &str, found: &Judgement) -> Vec<String> {
    let count = |word| found.warnings.iter().find(|(name, _)| *name == word).map_or(0, |(_, count)| *count).to_string();
    let mut row = vec![set.into(), name.into(), format!("{:.2}", found.chrf), format!("{:.2}", found.bleu)];
    row.push(if found.parts > 0 { found.parts.to_string() } else { found.phrases.to_string() });
    row.extend(["length", "loop", "split", "apart", "lost"].map(count));
    row
}

fn confidence_row(set: &str, name: &str, found: &Judgement) -> Vec<String> {
    let mut row = vec![set.to_owned(), name.to_owned()];
    row.extend(found.chrf_by_confidence.iter().map(|chrf| format!("{chrf:.2}")));
    row.push(found.calibration_error.map_or_else(String::new, |error| format!("{error:.4}")));
    row
}

/// Bytes of what was learned.
fn sections(model: &Model<'_>) -> String {
    use latimer::blob::layout::SectionKind::{Glossary, Guide, Shortlist};
    let rows = [Guide, Shortlist, Glossary].map(|kind| {
        let bytes = model.blob().container().section(kind).map_or(0, <[u8]>::len);
        [format!("{kind:?}"), bytes.to_string()]
    });
    table(&["section", "bytes"], rows)
}

/// Arena by number of beams.
fn memory(model: &Model<'_>) -> Result<String> {
    let mut rows = Vec::new();
    for beams in [1, 2, 4, 8] {
        rows.push([beams.to_string(), model.arena_len(Limits { beams, ..Limits::DEFAULT })?.to_string()]);
    }
    Ok(table(&["beams", "arena bytes, 64 source and 64 target tokens"], rows))
}

/// Instructions of a phrase, greedy and with four hypotheses.
fn boards(blob: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for machine in machines::reference() {
        let firmware = Firmware { extra: &["beam"], ..Firmware::new(machine, Some(blob), Engine::Int8)? };
        let mut board = Board::boot(machine, &firmware.build()?)?;
        let mut counts = Vec::new();
        for beams in [1, 4] {
            board.ask(&format!(":beam {beams}"))?;
            board.ask(PHRASE)?;
            let stats = board.ask(":stats")?;
            counts.push(demo::instructions(&stats).with_context(|| format!("no instructions in `{stats}`"))? as f64);
        }
        board.exit()?;
        let [greedy, four] = counts[..] else { continue };
        let million = |count: f64| format!("{:.2} M", count / 1e6);
        rows.push([machine.name.to_owned(), million(greedy), million(four), format!("{:.2}", four / greedy)]);
    }
    let head = ["board", "greedy", "4 beams", "times as many"];
    Ok(format!("Guest instructions to translate \"{PHRASE}\", int8, text to text:\n\n{}", table(&head, rows)))
}
