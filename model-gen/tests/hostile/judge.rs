//! Runs mutants: what became of each, under a watchdog.

use crate::common::Outcome;
use latimer::{BlobError, Error, Limits, Model, Observer, TextOptions};
use model_gen::aligned::AlignedBytes;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest that one mutant may take: far above what a sound one does, far below what a loop without end would.
const PATIENCE: Duration = Duration::from_secs(10);
/// After this a mutant is taken to be in a loop without end.
const FOREVER: Duration = Duration::from_secs(60);

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    Refused(&'static str),
    Answered,
}

/// Parses a mutant, and where it is a model uses everything that can be used.
pub fn run(blob: &[u8]) -> Fate {
    let model = match Model::from_bytes(blob) {
        Ok(model) => model,
        Err(Error::Blob(error)) => {
            assert!(!error.to_string().is_empty());
            return Fate::Refused(match error {
                BlobError::NotABlob => "not a blob",
                BlobError::Version { .. } => "version",
                BlobError::Engine { .. } => "engine",
                BlobError::Layout { .. } => "layout",
                BlobError::Truncated { .. } => "truncated",
                BlobError::Misaligned => "misaligned",
                BlobError::Checksum { .. } => "checksum",
                BlobError::MissingSection { .. } => "missing section",
                BlobError::Malformed { .. } => "malformed",
                BlobError::Unsupported { .. } => "unsupported",
                _ => "other",
            });
        }
        Err(error) => panic!("parsing gave {error:?}"),
    };
    let most = model.blob().spec().header().max_positions;
    let limits = Limits { source_tokens: 20.min(most), target_tokens: 7.min(most), text_bytes: 60, beams: 1 };
    let _ = model.arena_plan(Limits { source_tokens: most, target_tokens: most, text_bytes: u16::MAX, beams: 1 });
    let outcomes = translations(&model, limits, 0x00, false);
    let wider = Limits { source_tokens: 33.min(most), target_tokens: 12.min(most), text_bytes: 101, beams: 1 };
    for (i, (one, other)) in outcomes.iter().zip(translations(&model, wider, 0xff, true)).enumerate() {
        // What is too long for the narrower limits may not be for the wider.
        if !matches!(one, Err(Error::TextTooLong { .. } | Error::TooManyTokens { .. })) {
            assert_eq!(one, &other, "text {i} depends on what the arena held, on limits, or on the text before");
        }
    }
    passages(&model, Limits { beams: 2, ..limits });
    assert!(model.blob().tensors().all(|t| t.flash_bytes() <= 2 * blob.len()));
    let _ = model.blob().meta_lines().count();
    Fate::Answered
}

/// Translates a few texts, from the last to the first where `backward`, in one arena filled with `fill`; the outcomes
/// come in the order of the texts.
fn translations(model: &Model, limits: Limits, fill: u8, backward: bool) -> Vec<Result<Outcome, Error>> {
    const TEXTS: [&[u8]; 4] =
        [b"the end", b"a  b\xff\xe6\x97 c?", "ño 日本 ▁ ÀET".as_bytes(), b"0123456789 0123456789"];
    let len = model.arena_len(limits).unwrap();
    assert!(len < 1 << 20, "an arena of {len} bytes for a model of {}", model.blob().len());
    let mut arena = AlignedBytes::zeroed(len);
    arena.fill(fill);
    let mut translator = model.translator(&mut arena, limits).unwrap();
    translator.set_max_tokens(7);
    translator.set_shortlist(translator.has_shortlist()).unwrap();
    let mut translate = |text: &[u8]| {
        let (mut crc, mut target) = (latimer::LogitsCrc::new(), String::new());
        let stats = translator.translate_phrase(text, &mut crc, &mut target).inspect_err(|error| {
            assert!(
                matches!(
                    error,
                    Error::TextTooLong { .. }
                        | Error::TooManyTokens { .. }
                        | Error::InvalidId { .. }
                        | Error::OutputFull
                ),
                "translating gave {error:?}"
            );
        })?;
        assert!(stats.target_tokens <= 7 && target.len() <= 7 * model.blob().len());
        Ok(Outcome {
            source_ids: translator.source_ids().to_vec(),
            target_ids: translator.target_ids().to_vec(),
            target,
            logits_crc: crc.value(),
            truncated: stats.truncated,
        })
    };
    let mut outcomes: Vec<_> = if backward {
        TEXTS.iter().rev().map(|text| translate(text)).collect()
    } else {
        TEXTS.iter().map(|text| translate(text)).collect()
    };
    if backward {
        outcomes.reverse();
    }
    let _ = translator.self_test();
    outcomes
}

/// Passages: spans and terms, stand-ins, what is too long and is cut, with all that is done around the model; the last with nothing
/// and several hypotheses too.
fn passages(model: &Model, limits: Limits) {
    const TEXTS: [&[u8]; 3] = [
        b"Good day! THE end of 3 <b>dogs</b>\xff",
        "Tom\u{2122} \u{65e5} a@b.com, the end))".as_bytes(),
        b">>spa<<ab ab ab ab ab ab ab ab ab ab ab ab ab",
    ];
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits).unwrap());
    let mut translator = model.translator(&mut arena, limits).unwrap();
    let all = TEXTS.map(|text| (text, 1, TextOptions::DEFAULT));
    for (text, beams, options) in all.into_iter().chain([(TEXTS[2], 2, TextOptions::RAW)]) {
        translator.set_beams(beams).unwrap();
        let mut target = String::new();
        let (mut seen, mut end) = (Aligned::default(), 0);
        match translator.translate_text(text, options, &mut seen, &mut target) {
            Ok(outcome) => {
                assert!(outcome.parts <= text.len() && outcome.target_tokens <= outcome.parts * 7, "{outcome:?}");
                for (bytes, source) in seen.0 {
                    assert!(bytes.start >= end && target.get(bytes.clone()).is_some(), "{bytes:?} of {target:?}");
                    assert!(text.get(source.clone()).is_some(), "{source:?}");
                    end = bytes.end;
                }
            }
            Err(Error::TextTooLong { .. } | Error::TooManyTokens { .. } | Error::InvalidId { .. }) => {}
            Err(error) => panic!("a passage gave {error:?}"),
        }
    }
}

/// What each token of the target was made from.
#[derive(Default)]
struct Aligned(Vec<(Range<usize>, Range<usize>)>);

impl Observer for Aligned {
    fn aligned(&mut self, aligned: &latimer::passage::Aligned) {
        self.0.push((aligned.target.clone(), aligned.source.clone()));
    }
}

/// Ends the process, with the name of the case, where one runs for [`FOREVER`]: a loop without end cannot be stopped
/// otherwise, and a test that hangs says nothing.
struct Watchdog<'w, N> {
    running: Mutex<BTreeMap<usize, Instant>>,
    done: AtomicBool,
    name: &'w N,
}

impl<'w, N: Fn(usize) -> String + Sync> Watchdog<'w, N> {
    fn new(name: &'w N) -> Self {
        Watchdog { running: Mutex::default(), done: AtomicBool::new(false), name }
    }

    /// Runs case `index` under watch.
    fn watch<T>(&self, index: usize, case: impl FnOnce() -> T) -> T {
        self.running.lock().unwrap().insert(index, Instant::now());
        let result = case();
        self.running.lock().unwrap().remove(&index);
        result
    }

    /// Looks around until all is done.
    fn stand_guard(&self) {
        while !self.done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            let running = self.running.lock().unwrap();
            if let Some((index, _)) = running.iter().find(|(_, start)| start.elapsed() > FOREVER) {
                // Past the harness, which keeps what a test prints until the test ends.
                let _ = writeln!(std::io::stderr(), "{}: no end after {FOREVER:?}", (self.name)(*index));
                std::process::exit(101);
            }
        }
    }
}

/// Runs mutants in parallel; names every one that panics or takes too long, and counts the rest by fate.
pub fn run_all<M: Sync, B>(
    mutants: &[M],
    blob: impl Fn(&M) -> B + Sync,
    name: impl Fn(&M) -> String + Sync,
) -> BTreeMap<Fate, usize>
where
    B: std::ops::Deref<Target = [u8]>,
{
    let name_of = |index: usize| name(&mutants[index]);
    let watchdog = Watchdog::new(&name_of);
    let judge = |(index, mutant): (usize, &M)| -> Result<Fate, String> {
        let blob = blob(mutant);
        let start = Instant::now();
        let fate = watchdog.watch(index, || catch_unwind(AssertUnwindSafe(|| run(&blob))));
        let fate = fate.map_err(|_| format!("{}: panic", name(mutant)))?;
        if start.elapsed() > PATIENCE { Err(format!("{}: too slow", name(mutant))) } else { Ok(fate) }
    };
    let fates: Vec<Result<Fate, String>> = std::thread::scope(|scope| {
        scope.spawn(|| watchdog.stand_guard());
        // Set even where a check of the test's own fails, or the guard would be waited for forever.
        let fates = catch_unwind(AssertUnwindSafe(|| mutants.par_iter().enumerate().map(judge).collect()));
        watchdog.done.store(true, Ordering::Relaxed);
        fates.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let mut counts = BTreeMap::new();
    let mut faults = Vec::new();
    for fate in fates {
        match fate {
            Ok(fate) => *counts.entry(fate).or_insert(0) += 1,
            Err(fault) => faults.push(fault),
        }
    }
    println!("{} mutants: {counts:?}", mutants.len());
    assert!(faults.is_empty(), "{} faults: {:?}", faults.len(), &faults[..faults.len().min(20)]);
    counts
}
