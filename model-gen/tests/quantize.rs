//! The quantizer on a random model whose sizes divide nothing: every width and recipe runs, is the same each time, and
//! is nearer to float the more it may cost.

use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::{Evaluation, evaluate};
use model_gen::pack::{CalibrationSet, Options, Packed, Recipe, Width, pack};
use model_gen::score::pairs::Phrase;
use model_gen::testing::{RandomSpec, SplitMix64, write_random_checkpoint};
use std::path::Path;

/// Texts of a few letters each, with something to translate to.
fn phrases(count: usize, seed: u64) -> Vec<Phrase> {
    let mut random = SplitMix64::new(seed);
    let mut text = |least: usize| -> String {
        let len = least + random.below(9);
        (0..len).map(|i| if i % 4 == 3 { ' ' } else { char::from(b'a' + random.below(26) as u8) }).collect()
    };
    (0..count).map(|_| Phrase { source: text(3), references: vec![text(2)] }).collect()
}

fn options(recipe: Recipe, width: Width, seed: u64) -> Options {
    let mut options = Options::new(EngineKind::Int8).with_recipe(recipe);
    options.settings.width = width;
    options.calibration = Some(CalibrationSet { phrases: phrases(120, 5), limit: 60, seed });
    options
}

fn judged(dir: &Path, packed: &Packed) -> Evaluation {
    let blob = AlignedBytes::copy_of(&packed.bytes);
    let model = Model::from_bytes(&blob).unwrap();
    evaluate(&model, dir, &phrases(40, 11), Limits::DEFAULT, || {}).unwrap()
}

#[test]
fn calibration_and_finer_grids_bring_the_model_nearer() {
    let dir = tempfile::tempdir().unwrap();
    let separate = RandomSpec { target_vocab: Some(59), tied_output: false, ..RandomSpec::default() };
    for spec in [RandomSpec::default(), RandomSpec { activation: "relu", ..separate }] {
        write_random_checkpoint(dir.path(), &spec).unwrap();
        let mut divergence = Vec::new();
        for width in [Width::Int4(36), Width::Int4(7), Width::Int8, Width::Int8Groups(5)] {
            for recipe in [Recipe::Fast, Recipe::Best] {
                let packed = pack(dir.path(), &options(recipe, width, 1)).unwrap();
                let kl = judged(dir.path(), &packed).mean_kl;
                println!("{width}, {}: {} bytes, {kl:.2e}", recipe.name(), packed.bytes.len());
                divergence.push(kl);
            }
        }
        for pair in divergence.chunks_exact(2) {
            assert!(pair[1] < pair[0], "calibrated is nearer: {divergence:?}");
        }
        // Rounded to nearest, 8 bits a row and in groups are both at the noise of the activations.
        let best: Vec<f64> = divergence.into_iter().skip(1).step_by(2).collect();
        for finer in best.windows(2) {
            assert!(finer[1] < finer[0], "a finer grid is nearer: {best:?}");
        }
    }
}

#[test]
fn the_same_inputs_give_the_same_blob() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    let blob = |seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| pack(dir.path(), &options(Recipe::Best, Width::Int8Groups(16), seed)).unwrap().bytes)
    };
    assert_eq!(blob(1, 1), blob(1, 3));
    assert_ne!(blob(1, 2), blob(2, 2), "another seed draws other pairs");
}

/// Smoothing changes every weight and no result.
#[test]
fn smoothing_keeps_the_model() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec { activation: "relu", ..RandomSpec::default() }).unwrap();
    let blob = |smoothing| {
        let mut options = options(Recipe::Best, Width::Int8Groups(4), 1);
        options.settings.smoothing = smoothing;
        pack(dir.path(), &options).unwrap()
    };
    let (plain, smooth) = (blob(false), blob(true));
    assert_ne!(plain.bytes, smooth.bytes);
    let [plain, smooth] = [plain, smooth].map(|packed| judged(dir.path(), &packed).mean_kl);
    assert!(smooth < 3.0 * plain, "{plain:.2e} {smooth:.2e}");
}

#[test]
fn a_blob_is_fitted_or_the_least_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_random_checkpoint(dir.path(), &RandomSpec::default()).unwrap();
    let mut options = options(Recipe::Best, Width::Int8, 1);
    let whole = pack(dir.path(), &options).unwrap();
    assert!(whole.fit.is_none());
    options.fit_flash = Some(whole.bytes.len());
    assert!(pack(dir.path(), &options).unwrap().fit.is_none(), "it fits as it is");

    let mut last = 0.0;
    for percent in [90, 80, 75] {
        let wanted = whole.bytes.len() * percent / 100;
        options.fit_flash = Some(wanted);
        let fitted = pack(dir.path(), &options).unwrap();
        let fit = fitted.fit.as_ref().unwrap();
        println!("{fit}");
        assert!(
            fitted.bytes.len() <= wanted && fit.bytes().abs_diff(fitted.bytes.len()) < 256,
            "{}",
            fitted.bytes.len()
        );
        assert!(fit.cost() > last, "each step down costs");
        last = fit.cost();
        judged(dir.path(), &fitted);
    }
    options.fit_flash = Some(1000);
    let error = format!("{:#}", pack(dir.path(), &options).unwrap_err());
    assert!(error.starts_with("--fit-flash 1000: ") && error.contains("give at least that"), "{error}");
    options.calibration = None;
    let error = format!("{:#}", pack(dir.path(), &options).unwrap_err());
    assert!(error.contains("give --calibrate"), "{error}");
}
