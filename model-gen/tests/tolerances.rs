//! What each recipe may lose on the test set, held from both sides: a figure fails where it is worse than its limit in
//! `tolerances.tsv`, and where it is so much better that the limit says nothing any more. After a change that is meant,
//! `LATIMER_BLESS=1 cargo test -p model-gen --test tolerances` writes the limits anew, but never beyond [`REQUIRED`].

mod common;

use common::shared;
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::{Evaluation, evaluate};
use model_gen::pack::{CalibrationSet, Options, Recipe, pack};
use model_gen::score::pairs::{MAX_REFERENCES, read_pairs};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tolerances.tsv");
const BLESS: &str = "LATIMER_BLESS";

/// Packings by the names that the table uses; the 4-bit mix is fitted into 0.6 of the int8 blob's bytes.
fn packings(int8_bytes: usize) -> [(&'static str, Options); 4] {
    let int8 = |recipe| Options::new(EngineKind::Int8).with_recipe(recipe);
    let mut int4 = int8(Recipe::Best);
    int4.fit_flash = Some(int8_bytes * 6 / 10);
    [("f16", Options::new(EngineKind::F16)), ("fast", int8(Recipe::Fast)), ("best", int8(Recipe::Best)), ("int4", int4)]
}

/// A figure that is better when smaller.
struct Figure {
    name: &'static str,
    /// Room that a blessed limit leaves above what was measured: what another machine's `exp` may change.
    slack: f64,
    of: fn(&Evaluation, int8_bytes: usize) -> f64,
}

const FIGURES: [Figure; 6] = [
    Figure { name: "bytes_of_int8", slack: 0.002, of: |e, int8| e.blob_bytes as f64 / int8 as f64 },
    Figure { name: "bleu_drop", slack: 0.05, of: |e, _| e.bleu_drop() },
    Figure { name: "chrf_drop", slack: 0.03, of: |e, _| e.chrf_drop() },
    Figure { name: "changed_percent", slack: 0.2, of: |e, _| 100.0 - e.identical_percent() },
    Figure { name: "cross_entropy_percent", slack: 0.03, of: |e, _| e.cross_entropy_percent() },
    Figure { name: "kl_millinats", slack: 0.03, of: |e, _| 1000.0 * e.mean_kl },
];

/// A limit this many slacks above what is measured is no longer needed.
const LOOSE: f64 = 3.0;

/// What the project promises, whatever the table says.
const REQUIRED: [(&str, &str, f64); 11] = [
    ("f16", "changed_percent", 0.3),
    ("fast", "bleu_drop", 0.20),
    ("fast", "chrf_drop", 0.10),
    ("fast", "changed_percent", 8.3),
    ("best", "bleu_drop", 0.10),
    ("best", "chrf_drop", 0.05),
    ("best", "changed_percent", 5.0),
    ("best", "cross_entropy_percent", 0.5),
    ("int4", "bytes_of_int8", 0.6),
    ("int4", "chrf_drop", 1.0),
    // Only sense: it is the size that the others are measured by.
    ("fast", "bytes_of_int8", 1.0),
];

fn required(packing: &str, figure: &str) -> f64 {
    let found = REQUIRED.iter().find(|(p, f, _)| (*p, *f) == (packing, figure));
    found.map_or(f64::INFINITY, |(_, _, limit)| *limit)
}

/// What is wrong with a figure, if anything.
fn judge(packing: &str, figure: &Figure, measured: f64, limit: Option<f64>) -> Option<String> {
    let name = format!("{packing}, {}", figure.name);
    let required = required(packing, figure.name);
    let blessing = format!("if the change is meant, run `{BLESS}=1 cargo test -p model-gen --test tolerances`");
    let Some(limit) = limit else {
        return Some(format!("{name}: no limit in tolerances.tsv; {blessing}"));
    };
    if limit > required {
        return Some(format!("{name}: the limit {limit} is looser than the {required} that is required"));
    }
    if measured > required {
        return Some(format!("{name}: {measured:.4} is worse than the {required} that is required"));
    }
    if measured > limit {
        return Some(format!("{name}: {measured:.4} is worse than its limit {limit}; {blessing}"));
    }
    if measured < limit - LOOSE * figure.slack {
        return Some(format!("{name}: {measured:.4} no longer needs the limit {limit}; tighten it: {blessing}"));
    }
    None
}

/// The limit that blessing writes: rounded up to four decimals, never beyond what is required.
fn blessed(packing: &str, figure: &Figure, measured: f64) -> f64 {
    let limit = ((measured + figure.slack) * 1e4).ceil() / 1e4;
    limit.min(required(packing, figure.name))
}

type Limit = BTreeMap<(String, String), f64>;

fn read_table(text: &str) -> Limit {
    let line = |line: &str| -> Option<((String, String), f64)> {
        let mut cells = line.split('\t');
        let (packing, figure, limit) = (cells.next()?, cells.next()?, cells.next()?);
        Some(((packing.to_owned(), figure.to_owned()), limit.parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|text| line(text).unwrap_or_else(|| panic!("tolerances.tsv: `{text}` is no limit"))).collect()
}

fn measure(checkpoint: &Path, options: &Options, data: &Path) -> Evaluation {
    let mut options = options.clone();
    if options.engine == EngineKind::Int8 && options.settings.need_calibration() {
        let phrases = read_pairs(&data.join("train.tsv"), 1).unwrap();
        options.calibration = Some(CalibrationSet { phrases, limit: 2000, seed: 1 });
    }
    let blob = AlignedBytes::copy_of(&pack(checkpoint, &options).unwrap().bytes);
    let model = Model::from_bytes(&blob).unwrap();
    let phrases = read_pairs(&data.join("test.tsv"), MAX_REFERENCES).unwrap();
    evaluate(&model, checkpoint, &phrases, Limits::DEFAULT, || ()).unwrap()
}

#[test]
fn every_figure_is_within_its_limit_and_every_limit_is_needed() {
    let (Some(checkpoint), Some(data)) = (shared("models/en-es-nano"), shared("data/en-es")) else { return };
    let int8_bytes = pack(&checkpoint, &Options::new(EngineKind::Int8)).unwrap().bytes.len();
    let text = std::fs::read_to_string(TABLE).unwrap();
    let limits = read_table(&text);
    let mut new: String = text.lines().filter(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    let (mut faults, mut missed) = (Vec::new(), Vec::new());
    for (packing, options) in packings(int8_bytes) {
        let evaluation = measure(&checkpoint, &options, &data);
        println!("{packing}: {} of {} phrases are identical", evaluation.identical, evaluation.phrases);
        for figure in &FIGURES {
            let measured = (figure.of)(&evaluation, int8_bytes);
            let limit = limits.get(&(packing.to_owned(), figure.name.to_owned())).copied();
            println!("{packing}\t{}\t{measured:.4}, limit {limit:?}", figure.name);
            faults.extend(judge(packing, figure, measured, limit));
            if measured > required(packing, figure.name) {
                missed.push(format!("{packing}, {}: {measured:.4} misses what is required", figure.name));
            }
            writeln!(new, "{packing}\t{}\t{}", figure.name, blessed(packing, figure, measured)).unwrap();
        }
    }
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(TABLE, new).unwrap();
        // The limits are as tight as promised, so that the next run without blessing fails too.
        assert!(missed.is_empty(), "blessed, but:\n{}", missed.join("\n"));
        return;
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_table_names_what_is_measured_and_no_more() {
    let limits = read_table(&std::fs::read_to_string(TABLE).unwrap());
    let known: Vec<(String, String)> = packings(0)
        .iter()
        .flat_map(|(packing, _)| FIGURES.iter().map(|figure| ((*packing).to_owned(), figure.name.to_owned())))
        .collect();
    for (packing, figure, _) in REQUIRED {
        assert!(known.contains(&(packing.to_owned(), figure.to_owned())), "{packing}, {figure}");
    }
    let mut wanted = known;
    wanted.sort();
    assert_eq!(limits.into_keys().collect::<Vec<_>>(), wanted);
}

#[test]
fn judges_from_both_sides() {
    let chrf = FIGURES.iter().find(|figure| figure.name == "chrf_drop").unwrap();
    let fault = |measured, limit| judge("best", chrf, measured, limit).unwrap_or_default();
    assert_eq!(fault(0.01, Some(0.04)), "");
    assert!(fault(0.045, Some(0.04)).contains("worse than its limit 0.04"));
    assert!(fault(-0.06, Some(0.04)).contains("no longer needs the limit 0.04"));
    assert!(fault(0.06, Some(0.07)).contains("looser than the 0.05 that is required"));
    assert!(fault(0.06, Some(0.05)).contains("worse than the 0.05 that is required"));
    assert!(fault(0.01, None).contains("no limit"));

    let limit = blessed("best", chrf, 0.01);
    assert_eq!(fault(0.01, Some(limit)), "", "a blessed limit is neither too tight nor too loose");
    assert_eq!(blessed("best", chrf, 0.2), 0.05, "blessing does not loosen what is required");
}
