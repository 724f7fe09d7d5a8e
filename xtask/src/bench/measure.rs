//! Measures a board: the kernels of its target and the portable ones, firmware by firmware, held to the same answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use latimer::EngineKind;
use model_gen::pack::{CalibrationSet, Options, Recipe, pack};
use model_gen::score::pairs::read_pairs;

use super::golden::Key;
use super::model::{Work, weights, work};
use super::plan::{Case, cases, odd};
use super::probe::{Outcome, Probe};
use super::{PHRASE, counts::Counts};
use crate::accuracy::lab::{CALIBRATION_PAIRS, SEED};
use crate::firmware::{Firmware, build_kernels};
use crate::machines::{Engine, Machine};
use crate::paths;
use crate::shipped::{NAME, put, shipped_blob};

/// Phrases that recipes are calibrated on, from the repository's root.
pub const TRAIN: &str = "../shared/data/en-es/train.tsv";

/// Which kernels a firmware has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernels {
    /// Those selected for the target.
    Selected,
    /// The portable ones alone.
    Portable,
}

impl Kernels {
    const BOTH: [Kernels; 2] = [Kernels::Portable, Kernels::Selected];

    /// As the golden file and the tables say.
    pub const fn name(self) -> &'static str {
        match self {
            Kernels::Selected => "selected",
            Kernels::Portable => "portable",
        }
    }

    /// Features of the firmware.
    pub const fn features(self) -> &'static [&'static str] {
        match self {
            Kernels::Selected => &["bench"],
            Kernels::Portable => &["bench", "portable"],
        }
    }
}

/// A figure with each set of kernels.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub case: Case,
    /// With the kernels of the target.
    pub selected: Counts,
    /// With the portable ones.
    pub portable: Counts,
}

/// Parts of a phrase's way, the whole first.
pub const PARTS: [&str; 5] = ["translate", "tokenize", "encode", "step", "detokenize"];

/// A phrase with one recipe.
#[derive(Clone, Debug)]
pub struct PhraseFigure {
    /// The recipe.
    pub recipe: Recipe,
    /// Source and target tokens, then the translation.
    pub answer: String,
    /// What it asks for.
    pub work: Work,
    /// Counts of each of [`PARTS`], by kernels.
    pub parts: BTreeMap<Kernels, Vec<Counts>>,
}

/// All of a board.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Kernels and operators.
    pub figures: Vec<Figure>,
    /// Phrases, by recipe.
    pub phrases: Vec<PhraseFigure>,
    /// Commands whose answers were the same with both sets of kernels.
    pub equal: usize,
    /// Whether a recipe's phrases to calibrate on were not there.
    pub skipped: bool,
}

impl Measured {
    /// What the golden file holds of it.
    pub fn golden(&self, board: &str) -> BTreeMap<Key, u64> {
        let mut golden = BTreeMap::new();
        let mut put = |kernels: Kernels, name: String, count| {
            golden.insert((board.to_owned(), kernels.name().to_owned(), name), count);
        };
        for Figure { case, selected, portable } in &self.figures {
            put(Kernels::Selected, case.name.clone(), selected.instructions());
            put(Kernels::Portable, case.name.clone(), portable.instructions());
        }
        for phrase in &self.phrases {
            for (&kernels, parts) in &phrase.parts {
                for (part, counts) in PARTS.iter().zip(parts) {
                    put(kernels, format!("{part}, {}", phrase.recipe.name()), counts.instructions());
                }
                let fetched = parts.first().map_or(0, |counts| counts.get("fetched"));
                put(kernels, format!("bytes of weights fetched, {}", phrase.recipe.name()), fetched);
            }
        }
        golden
    }
}

/// Measures a board; `filter` picks figures by a part of their names.
pub fn measure(machine: &'static Machine, plugin: &Path, recipes: &[Recipe], filter: Option<&str>) -> Result<Measured> {
    let wanted = |name: &str| filter.is_none_or(|filter| name.contains(filter));
    let cases: Vec<Case> = cases().into_iter().filter(|case| wanted(&case.name)).collect();
    let phrases = wanted("phrase");
    let mut measured = Measured { figures: Vec::new(), phrases: Vec::new(), equal: 0, skipped: false };
    for &recipe in recipes {
        let fast = recipe == Recipe::Fast;
        let whole = phrases && machine.has_models();
        if !fast && !whole {
            continue;
        }
        let Some(blob) = blob(recipe)? else {
            measured.skipped = true;
            println!("skipped: recipe `best`, which is calibrated on {TRAIN}");
            continue;
        };
        let mut answers = Vec::new();
        for kernels in Kernels::BOTH {
            eprintln!("{}: {} kernels, recipe `{}`", machine.name, kernels.name(), recipe.name());
            let mut probe = boot(machine, plugin, kernels, &blob)?;
            let mut commands: Vec<String> = Vec::new();
            if fast {
                commands.extend(odd());
                commands.extend(cases.iter().map(|case| case.command.clone()));
            }
            if phrases {
                commands.extend(PARTS.map(|part| format!("{part} {PHRASE}")));
            }
            let outcomes: Result<Vec<_>> = commands.iter().map(|command| probe.run(command)).collect();
            probe.end()?;
            answers.push(commands.into_iter().zip(outcomes?).collect::<Vec<_>>());
        }
        let [portable, selected]: [Vec<_>; 2] = answers.try_into().expect("both kernels");
        measured.equal += compare(&portable, &selected)?;
        let mut rows = portable.into_iter().zip(selected).map(|((_, portable), (_, selected))| (portable, selected));
        if fast {
            rows.by_ref().take(odd().len()).for_each(drop);
            for (case, outcomes) in cases.iter().zip(rows.by_ref()) {
                let (Some(portable), Some(selected)) = outcomes else { continue };
                let (selected, portable) = (selected.counts, portable.counts);
                measured.figures.push(Figure { case: case.clone(), selected, portable });
            }
        }
        if let Some(figure) = phrase(recipe, &blob, rows)? {
            measured.phrases.push(figure);
        }
    }
    Ok(measured)
}

/// Builds the bench firmware of a board with a set of kernels.
pub fn build(machine: &'static Machine, kernels: Kernels, blob: &Path) -> Result<PathBuf> {
    if !machine.has_models() {
        return build_kernels(machine, kernels.features());
    }
    Firmware { extra: kernels.features(), ..Firmware::new(machine, Some(blob), Engine::Int8)? }.build()
}

/// The firmware of a set of kernels under the plugin.
fn boot(machine: &'static Machine, plugin: &Path, kernels: Kernels, blob: &Path) -> Result<Probe> {
    let elf = build(machine, kernels, blob)?;
    // Firmware of kernels alone has no weights.
    let reads = weights(&elf, blob)?;
    let probe = Probe::boot(machine, &elf, plugin, reads, false)?;
    // Kernels compared with themselves would always be equal.
    let portable = probe.greeting().ends_with(" with portable kernels");
    if portable != (kernels == Kernels::Portable) {
        bail!("the firmware with {} kernels says: {}", kernels.name(), probe.greeting());
    }
    Ok(probe)
}

type Answered = (String, Option<Outcome>);

/// Holds the answers of both sets of kernels to each other; returns how many there were.
fn compare(portable: &[Answered], selected: &[Answered]) -> Result<usize> {
    let mut different = Vec::new();
    let mut equal = 0;
    for ((command, portable), (_, selected)) in portable.iter().zip(selected) {
        match (portable, selected) {
            (Some(portable), Some(selected)) if portable.answer == selected.answer => equal += 1,
            (None, None) => {}
            (portable, selected) => {
                let answer =
                    |outcome: &Option<Outcome>| outcome.as_ref().map_or("nothing".into(), |o| o.answer.clone());
                different.push(format!("`{command}`: portable {}, selected {}", answer(portable), answer(selected)));
            }
        }
    }
    if !different.is_empty() {
        let shown = different.iter().take(20).fold(String::new(), |text, line| text + "\n  " + line);
        bail!("the selected kernels give other results than the portable ones in {} cases:{shown}", different.len());
    }
    Ok(equal)
}

/// The parts of a phrase; `None` on boards without a model, or where none was asked for.
fn phrase(
    recipe: Recipe,
    blob: &Path,
    rows: impl Iterator<Item = (Option<Outcome>, Option<Outcome>)>,
) -> Result<Option<PhraseFigure>> {
    let rows: Option<Vec<_>> = rows.map(|(portable, selected)| Some((portable?, selected?))).collect();
    let Some(rows) = rows.filter(|rows| !rows.is_empty()) else { return Ok(None) };
    let answer = rows[0].1.answer.split_once(' ').context("no tokens")?.1.to_owned();
    let mut words = answer.split(' ');
    let mut tokens = || words.next().and_then(|word| word.parse().ok()).context("no number of tokens");
    let work = work(blob, tokens()?, tokens()?)?;
    let (portable, selected): (Vec<_>, Vec<_>) = rows.into_iter().map(|(p, s)| (p.counts, s.counts)).unzip();
    let parts = BTreeMap::from([(Kernels::Portable, portable), (Kernels::Selected, selected)]);
    Ok(Some(PhraseFigure { recipe, answer, work, parts }))
}

/// The shipped model's blob; `None` where the recipe needs phrases that are not there.
pub fn blob(recipe: Recipe) -> Result<Option<PathBuf>> {
    if recipe == Recipe::Fast {
        return shipped_blob(Engine::Int8).map(Some);
    }
    let train = paths::root().join(TRAIN);
    if !train.is_file() {
        return Ok(None);
    }
    let model = paths::root().join("models").join(NAME);
    let blob = paths::artifacts().join(format!("{NAME}-int8-{}.blob", recipe.name()));
    // Calibrating takes a minute: done again when the packer, which is in this program, or the model has changed.
    let time = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    let mut inputs = vec![std::env::current_exe()?, train.clone()];
    for file in fs::read_dir(&model)? {
        inputs.push(file?.path());
    }
    let newest = inputs.iter().map(|path| time(path)).collect::<Result<Vec<_>, _>>()?.into_iter().max();
    if time(&blob).is_ok_and(|made| Some(made) > newest) {
        return Ok(Some(blob));
    }
    eprintln!("packing recipe `{}`", recipe.name());
    let calibration = CalibrationSet { phrases: read_pairs(&train, 1)?, limit: CALIBRATION_PAIRS, seed: SEED };
    let options = Options { calibration: Some(calibration), ..Options::new(EngineKind::Int8).with_recipe(recipe) };
    put(&blob, &pack(&model, &options)?.bytes)?;
    Ok(Some(blob))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(answer: &str) -> Option<Outcome> {
        Some(Outcome { answer: answer.to_owned(), counts: Counts::default() })
    }

    #[test]
    fn other_results_are_told_by_command() {
        let answers = |second| vec![("a".to_owned(), outcome("1")), ("b".to_owned(), second)];
        let portable = answers(outcome("2"));
        assert_eq!(compare(&portable, &portable).unwrap(), 2);
        assert_eq!(compare(&answers(None), &answers(None)).unwrap(), 1);
        let error = compare(&portable, &answers(outcome("3"))).unwrap_err().to_string();
        assert!(error.contains("`b`: portable 2, selected 3"), "{error}");
        assert!(compare(&portable, &answers(None)).is_err());
    }
}
