//! `model-gen eval`: what it computes, what it prints, and how it judges.

mod common;

use common::{Capture, packed, phrases, random_checkpoint, shared, teacher_forced};
use latimer::{EngineKind, Error, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::{Evaluation, evaluate};
use model_gen::run::translate_all;
use model_gen::score::pairs::{MAX_REFERENCES, Phrase, read_pairs};
use model_gen::score::{corpus_bleu, corpus_chrf};
use model_gen::testing::{RandomSpec, SplitMix64};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: 24, text_bytes: 200, beams: 1 };

/// Sources with one to three references, a blank source among them.
fn pairs(count: usize) -> Vec<Phrase> {
    let (sources, targets) = (phrases(count, 3), phrases(3 * count, 4));
    let mut random = SplitMix64::new(5);
    let mut pairs: Vec<Phrase> = sources
        .into_iter()
        .zip(targets.chunks(3))
        .map(|(source, targets)| Phrase { source, references: targets[..1 + random.below(3)].to_vec() })
        .collect();
    pairs.push(Phrase { source: " ".to_owned(), references: vec!["nada".to_owned()] });
    pairs
}

fn assert_finite(e: &Evaluation) {
    for figures in [&e.float, &e.quantized] {
        for figure in [figures.bleu, figures.chrf] {
            assert!((0.0..=100.0).contains(&figure), "{figures:?}");
        }
        assert!(figures.cross_entropy.is_finite() && figures.cross_entropy > 0.0, "{figures:?}");
        assert!(figures.tokens_per_second.is_finite() && figures.core_seconds > 0.0, "{figures:?}");
    }
    assert!(e.mean_kl.is_finite(), "{}", e.mean_kl);
    assert!(e.stages.iter().all(|s| s.sqnr_db.is_finite()) && e.stages.is_sorted_by_key(|s| s.sqnr_db));
}

fn worst_sqnr(e: &Evaluation) -> f64 {
    e.stages[0].sqnr_db
}

#[test]
fn figures_of_random_models() {
    let separate = RandomSpec { target_vocab: Some(59), tied_output: false, ..RandomSpec::default() };
    let bpe = RandomSpec {
        vocab: 340,
        target_vocab: Some(321),
        bpe: true,
        moved_ids: true,
        languages: &["spa", "fra"],
        ..RandomSpec::default()
    };
    for spec in [RandomSpec::default(), separate, bpe] {
        figures_of(&spec);
    }
}

fn figures_of(spec: &RandomSpec) {
    let dir = random_checkpoint(spec);
    let pairs = pairs(40);
    for engine in common::ENGINES {
        let blob = packed(dir.path(), engine);
        let model = Model::from_bytes(&blob).unwrap();
        let done = AtomicUsize::new(0);
        let count = || {
            done.fetch_add(1, Ordering::Relaxed);
        };
        let e = evaluate(&model, dir.path(), &pairs, LIMITS, count).unwrap();
        assert_finite(&e);
        assert_eq!((e.phrases, done.into_inner()), (41, 41));
        assert_eq!(e.stages.len(), spec.encoder_layers + spec.decoder_layers + 3);
        println!("{}: {} identical, KL {:e}, {:?}", engine.name(), e.identical, e.mean_kl, e.stages);

        // What translating alone gives.
        let sources: Vec<&str> = pairs.iter().map(|p| p.source.as_str()).collect();
        let alone = translate_all(&model, LIMITS, usize::MAX, &sources, || {}).unwrap();
        let texts: Vec<String> = alone.into_iter().map(|t| t.unwrap().target).collect();
        let references: Vec<Vec<String>> = pairs.iter().map(|p| p.references.clone()).collect();
        assert_eq!(e.quantized.bleu, corpus_bleu(&texts, &references).unwrap().score);
        assert_eq!(e.quantized.chrf, corpus_chrf(&texts, &references).unwrap());

        for (i, worst) in e.worst.iter().enumerate() {
            let n = worst.first_difference;
            assert_eq!(worst.float[..n], worst.quantized[..n]);
            assert_ne!(worst.float.get(n), worst.quantized.get(n));
            let drop = |i: usize| e.worst.get(i).map(|w| w.float_chrf - w.quantized_chrf);
            assert!(drop(i) >= drop(i + 1));
        }
        assert_eq!(e.worst.len(), (e.phrases - e.identical).min(10));
        match engine {
            // The f16 engine is the float model but for the rounding of weights: what is left is what eval itself adds.
            EngineKind::F16 => assert!(worst_sqnr(&e) > 50.0 && e.mean_kl < 1e-3 && e.identical >= 38, "{e:?}"),
            EngineKind::Int8 => assert!((20.0..60.0).contains(&worst_sqnr(&e)) && e.mean_kl < 0.05, "{e:?}"),
        }
    }
}

#[test]
fn threads_change_no_figure() {
    let dir = random_checkpoint(&common::tiny());
    let blob = packed(dir.path(), EngineKind::Int8);
    let model = Model::from_bytes(&blob).unwrap();
    let figures = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let e = pool.install(|| evaluate(&model, dir.path(), &pairs(30), LIMITS, || {}).unwrap());
        let stages: Vec<f64> = e.stages.iter().map(|s| s.sqnr_db).collect();
        (e.float.cross_entropy, e.quantized.cross_entropy, e.mean_kl, e.identical, e.quantized.chrf, stages)
    };
    assert_eq!(figures(1), figures(3));
}

#[test]
fn a_reference_past_the_limit_is_used_up_to_it() {
    let dir = random_checkpoint(&common::tiny());
    let blob = packed(dir.path(), EngineKind::F16);
    let model = Model::from_bytes(&blob).unwrap();
    let pairs = [Phrase { source: "a".to_owned(), references: vec!["x y z 1 2 3 4 5 6 7 8 9 0 . , ? !".to_owned()] }];
    let limits = Limits { target_tokens: 6, ..LIMITS };
    let e = evaluate(&model, dir.path(), &pairs, limits, || {}).unwrap();
    assert_eq!((e.references_cut, e.forced_tokens), (1, 6));
    let e = evaluate(&model, dir.path(), &pairs, Limits { target_tokens: 64, ..LIMITS }, || {}).unwrap();
    assert!(e.references_cut == 0 && e.forced_tokens > 6);
}

/// Eval relies on it: what a translation leaves in the arena is of no matter to the steps after a restart.
#[test]
fn a_restarted_translator_steps_as_a_fresh_one() {
    let dir = random_checkpoint(&RandomSpec::default());
    for engine in common::ENGINES {
        let blob = packed(dir.path(), engine);
        let model = Model::from_bytes(&blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        translator.restart();
        assert_eq!(translator.step(0, &mut ()), Err(Error::OutOfSteps), "nothing is encoded yet");
        for phrase in phrases(12, 6) {
            translator.translate_phrase(phrase.as_bytes(), &mut (), &mut String::new()).unwrap();
            translator.restart();
            let ids: Vec<u16> = (5..5 + LIMITS.target_tokens).collect();
            let mut found = Capture::default();
            ids.iter().for_each(|id| assert!(translator.step(*id, &mut found).is_ok()));
            let fresh = teacher_forced(&model, LIMITS, translator.source_ids(), &ids);
            assert_eq!(found.logits, fresh.logits, "{}: {phrase}", engine.name());
            assert!(found.hidden.iter().all(|(stage, rows)| &fresh.hidden[stage] == rows));
        }
    }
}

/// The float model's figures are known from elsewhere; the f16 engine must hardly differ from it.
#[test]
fn shared_model() {
    let (Some(dir), Some(path)) = (shared("models/en-es-nano"), shared("data/en-es/test.tsv")) else { return };
    let mut pairs = read_pairs(&path, MAX_REFERENCES).unwrap();
    pairs.truncate(100);
    for engine in common::ENGINES {
        let blob = packed(&dir, engine);
        let model = Model::from_bytes(&blob).unwrap();
        let e = evaluate(&model, &dir, &pairs, Limits::DEFAULT, || {}).unwrap();
        assert_finite(&e);
        println!(
            "{}: {} of {} identical, KL {:e}, cross-entropy {:+.3} %, {:?}",
            engine.name(),
            e.identical,
            e.phrases,
            e.mean_kl,
            e.cross_entropy_percent(),
            e.stages
        );
        // A model that was trained on such phrases foresees their tokens.
        assert!(e.float.cross_entropy < 2.0 && e.float.bleu > 30.0, "{:?}", e.float);
        match engine {
            EngineKind::F16 => assert!(worst_sqnr(&e) > 50.0 && e.mean_kl < 1e-3 && e.identical >= 99, "{e:?}"),
            EngineKind::Int8 => assert!(worst_sqnr(&e) > 28.0 && e.mean_kl < 2e-3 && e.identical >= 85, "{e:?}"),
        }
    }
}

/// A checkpoint, its int8 blob and pairs in files.
struct Lab {
    checkpoint: TempDir,
    files: TempDir,
}

impl Lab {
    fn new(spec: &RandomSpec) -> Self {
        let lab = Lab { checkpoint: random_checkpoint(spec), files: tempfile::tempdir().unwrap() };
        std::fs::write(lab.file("blob"), &packed(lab.checkpoint.path(), EngineKind::Int8)[..]).unwrap();
        lab.write_pairs(&pairs(20));
        lab
    }

    fn write_pairs(&self, pairs: &[Phrase]) {
        let mut lines = String::new();
        for phrase in pairs {
            phrase.references.iter().for_each(|reference| writeln!(lines, "{}\t{reference}", phrase.source).unwrap());
        }
        std::fs::write(self.file("pairs.tsv"), lines).unwrap();
    }

    /// Pairs whose reference is what the float model says, but for the rounding of weights to f16: whatever the int8
    /// engine says differently is a loss.
    fn float_pairs(&self) -> Vec<Phrase> {
        let blob = packed(self.checkpoint.path(), EngineKind::F16);
        let sources = phrases(40, 3);
        let translations = translate_all(&Model::from_bytes(&blob).unwrap(), LIMITS, 99, &sources, || {}).unwrap();
        let pairs = sources.into_iter().zip(translations);
        let pairs = pairs.map(|(source, t)| Phrase { source, references: vec![t.unwrap().target] });
        pairs.filter(|phrase| !phrase.references[0].trim().is_empty()).collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn eval(&self, checkpoint: &Path, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_model-gen"));
        command.arg("eval").arg("--blob").arg(self.file("blob")).arg("--checkpoint").arg(checkpoint);
        command.arg("--pairs").arg(self.file("pairs.tsv")).args(more).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn the_command_prints_writes_and_judges() {
    let lab = Lab::new(&RandomSpec::default());
    lab.write_pairs(&lab.float_pairs());
    let json = lab.file("figures.json");
    let output =
        lab.eval(lab.checkpoint.path(), &["--limit", "30", "--target-tokens", "24", "--json", json.to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    for word in ["BLEU", "chrF", "cross-entropy", "identical phrases", "mean KL", "logits", "phrases: 30"] {
        assert!(text(&output.stdout).contains(word), "{word:?} is not in: {}", text(&output.stdout));
    }
    let figures: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(figures["phrases"], 30);
    let drop = figures["float"]["chrf"].as_f64().unwrap() - figures["quantized"]["chrf"].as_f64().unwrap();

    assert!(drop > 0.0, "{drop}");

    // Just enough, and just too little.
    let judged = |most: f64| {
        let most = most.to_string();
        let more = ["--limit", "30", "--target-tokens", "24", "--max-chrf-drop", &most];
        lab.eval(lab.checkpoint.path(), &more)
    };
    assert!(judged(drop + 1e-6).status.success());
    let output = judged(drop - 1e-6);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: chrF drops by "), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("identical phrases"), "the figures are printed all the same");
}

#[test]
fn the_shortlist_is_for_translations_alone() {
    let lab = Lab::new(&RandomSpec::default());
    let eval = |more: &[&str]| lab.eval(lab.checkpoint.path(), &[&["--target-tokens", "24"], more].concat());
    let message = text(&eval(&["--shortlist"]).stderr).to_owned();
    assert!(message.contains("has no shortlist; learn one with `model-gen shortlist`"), "{message}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_model-gen"));
    command.arg("shortlist").arg("--blob").arg(lab.file("blob")).arg("--pairs").arg(lab.file("pairs.tsv"));
    assert!(command.args(["--target-tokens", "24"]).output().unwrap().status.success());
    let [all, narrow] = [&[][..], &["--shortlist"]].map(|more| text(&eval(more).stdout).to_owned());
    let same =
        ["cross-entropy", "mean KL"].map(|name| all.lines().find(|line| line.contains(name)).unwrap().to_owned());
    assert!(same.iter().all(|line| narrow.contains(line)), "{all}\n{narrow}");
    assert!(narrow.contains("output matrix read by shortlist: ") && !all.contains("shortlist"), "{narrow}");
}

#[test]
fn faults_are_sentences() {
    let lab = Lab::new(&common::tiny());
    let own = lab.checkpoint.path();
    let json = lab.file("figures.json");
    let wider = random_checkpoint(&RandomSpec { d_model: 16, heads: 4, ffn: 12, ..common::tiny() });
    let other_pieces = random_checkpoint(&RandomSpec { seed: 9, vocab: 70, ..common::tiny() });
    let renamed = random_checkpoint(&common::tiny());
    let vocab = std::fs::read_to_string(renamed.path().join("vocab.json")).unwrap();
    std::fs::write(renamed.path().join("vocab.json"), vocab.replace("\"q\"", "\"Q\"")).unwrap();
    let cases: [(&Path, &[&str], &str); 8] = [
        (wider.path(), &[], "d_model is 12 in the blob and 16 in the checkpoint"),
        (wider.path(), &[], "encoder_attention_heads is 3 in the blob and 4 in the checkpoint"),
        (wider.path(), &[], "decoder_ffn_dim is 10 in the blob and 12 in the checkpoint"),
        (other_pieces.path(), &[], "vocab_size is 50 in the blob and 70 in the checkpoint"),
        (renamed.path(), &[], "is \"q\" in the blob and \"Q\" in vocab.json"),
        (Path::new("no/such/directory"), &[], "check the path given for the checkpoint directory"),
        (own, &["--source-tokens", "2"], "raise --source-tokens"),
        (own, &["--source-tokens", "99"], "the model cannot run within these limits"),
    ];
    for (checkpoint, more, wanted) in cases {
        let output = lab.eval(checkpoint, &[more, &["--json", json.to_str().unwrap()]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error: cannot compare") && message.contains(wanted), "{message}");
        assert!(output.stdout.is_empty() && !json.exists());
    }
    // On standard output in place of the table, and no file of that name.
    let output = lab.eval(own, &["--limit", "2", "--target-tokens", "8", "--json", "-"]);
    assert!(output.status.success(), "{output:?}");
    assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["float"].is_object());
    assert!(!std::path::Path::new("-").exists());
    for bad in [["--max-chrf-drop", "nan"], ["--max-chrf-drop=-1", "--json=x"], ["--limit", "0"]] {
        let output = lab.eval(own, &bad);
        assert_eq!(output.status.code(), Some(2), "{bad:?}: {}", text(&output.stderr));
    }
    let output = lab.eval(own, &["--json", lab.file("no/such/folder.json").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no folder"), "{}", text(&output.stderr));
}
