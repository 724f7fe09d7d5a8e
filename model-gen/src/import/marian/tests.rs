use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::import::checkpoint::Checkpoint;
use crate::import::tests::assert_engines_follow_the_reference;
use crate::import::{CheckpointDir, load_checkpoint};
use crate::pack::{Options, pack};
use crate::reference::Reference;
use crate::testing::{RandomSpec, write_marian, write_random_checkpoint};
use latimer::EngineKind;

/// A random checkpoint as transformers saves it and as Marian does.
fn both(spec: &RandomSpec, options: &str) -> (TempDir, TempDir) {
    let (theirs, marian) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_random_checkpoint(theirs.path(), spec).unwrap();
    write_marian(theirs.path(), marian.path(), options).unwrap();
    (theirs, marian)
}

/// What Marian would compute of transformers' checkpoint: its positions, its epsilon, zeros for the start token.
fn as_marian(dir: &Path) -> Checkpoint {
    let mut checkpoint = load_checkpoint(dir).unwrap();
    checkpoint.config.frequencies = crate::import::positions::Frequencies::Marian;
    checkpoint.config.norm_eps = 1e-6;
    let (tied, shared) = (checkpoint.output_is_tied(), checkpoint.embeddings_are_shared());
    let zero_last = |matrix: &crate::import::checkpoint::Matrix| {
        let mut matrix = matrix.clone();
        let last = matrix.data.len() - matrix.cols;
        matrix.data[last..].fill(0.0);
        Arc::new(matrix)
    };
    checkpoint.target_embedding = zero_last(&checkpoint.target_embedding);
    if shared {
        checkpoint.source_embedding = Arc::clone(&checkpoint.target_embedding);
    } else {
        // The source side has no start token, and no row for it.
        let mut source = checkpoint.source_embedding.as_ref().clone();
        source.rows -= 1;
        source.data.truncate(source.rows * source.cols);
        checkpoint.source_embedding = Arc::new(source);
        checkpoint.config.vocab_size -= 1;
    }
    checkpoint.output = if tied { Arc::clone(&checkpoint.target_embedding) } else { zero_last(&checkpoint.output) };
    *checkpoint.final_logits_bias.last_mut().unwrap() = 0.0;
    checkpoint.config.max_position_embeddings = 1024;
    checkpoint
}

fn error(dir: &TempDir) -> String {
    load_checkpoint(dir.path()).unwrap_err().to_string()
}

#[test]
fn the_same_weights_give_the_same_model() {
    for (target_vocab, tied_output) in [(None, true), (None, false), (Some(59), true), (Some(59), false)] {
        let spec = RandomSpec { target_vocab, tied_output, ..RandomSpec::default() };
        let (theirs, marian) = both(&spec, "");
        let (wanted, found) = (as_marian(theirs.path()), load_checkpoint(marian.path()).unwrap());
        assert_eq!(found.config, wanted.config);
        assert_eq!((found.encoder.clone(), found.decoder.clone()), (wanted.encoder.clone(), wanted.decoder.clone()));
        assert_eq!(
            (&found.source_embedding, &found.target_embedding),
            (&wanted.source_embedding, &wanted.target_embedding)
        );
        assert_eq!((&found.output, &found.final_logits_bias), (&wanted.output, &wanted.final_logits_bias));
        assert_eq!(found.output_is_tied(), tied_output);
        assert_eq!(found.embeddings_are_shared(), target_vocab.is_none());
        let [found, wanted] = [found, wanted].map(|checkpoint| Reference::new(Arc::new(checkpoint)));
        let logits = |model: &Reference, id: u32| {
            let memory = model.encode(&[id, id + 30, id + 7, 0]);
            let mut decoder = model.decoder(memory.last().unwrap());
            [model.checkpoint().config.decoder_start_token_id, id, 5, 6].map(|id| decoder.step(id).logits)
        };
        let outputs: Vec<_> = (2..12).map(|id| logits(&found, id)).collect();
        assert!((2..12).map(|id| logits(&wanted, id)).eq(outputs.iter().cloned()));
        assert!(outputs[1..].iter().all(|output| output != &outputs[0]));
        // The file itself is as good as its directory.
        let vocabularies = CheckpointDir::open(&marian.path().join("model.npz"))
            .unwrap()
            .vocabularies(&found.checkpoint().config)
            .unwrap();
        assert_eq!((vocabularies.source.id("</s>"), vocabularies.source.id("<unk>")), (Some(0), Some(1)));
        let start = found.checkpoint().config.decoder_start_token_id;
        assert_eq!(vocabularies.target.id("<pad>"), Some(start));
        assert_eq!(vocabularies.source.pieces().len(), found.checkpoint().config.vocab_size);
    }
}

/// Embedding, positions and two norms over attention and feed-forward blocks that give nothing, by Marian's formulas.
/// The first norm shrinks to the size of the epsilon, so that the second depends on it.
#[test]
fn positions_and_epsilon_are_marians() {
    let (_theirs, marian) = both(&RandomSpec { encoder_layers: 1, ..RandomSpec::default() }, "");
    let mut checkpoint = load_checkpoint(marian.path()).unwrap();
    let layer = &mut checkpoint.encoder[0];
    for linear in [&mut layer.self_attn.out_proj, &mut layer.fc2] {
        linear.weight.data.fill(0.0);
        linear.bias.fill(0.0);
    }
    layer.self_attn_layer_norm.weight.fill(1e-3);
    layer.self_attn_layer_norm.bias.fill(0.0);
    layer.final_layer_norm.weight.fill(1.0);
    layer.final_layer_norm.bias.fill(0.0);
    let rows: Vec<Vec<f64>> =
        [5, 9, 0].map(|id| checkpoint.source_embedding.row(id).iter().map(|&x| f64::from(x)).collect()).to_vec();
    let states = Reference::new(Arc::new(checkpoint)).encode(&[5, 9, 0]);
    let half = 18;
    let normalize = |x: &[f64], gamma: f64| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        x.iter().map(|x| (x - mean) / (variance + 1e-6).sqrt() * gamma).collect()
    };
    for (position, row) in rows.iter().enumerate() {
        let angle = |i: usize| position as f64 * (-(i as f64) * 10000f64.ln() / (half as f64 - 1.0)).exp();
        let signal = (0..half).map(|i| angle(i).sin()).chain((0..half).map(|i| angle(i).cos()));
        let embedded: Vec<f64> = row.iter().zip(signal).map(|(x, signal)| x * 36f64.sqrt() + signal).collect();
        let out = normalize(&normalize(&embedded, 1e-3), 1.0);
        for (found, wanted) in [(states[0].row(position), &embedded), (states[1].row(position), &out)] {
            for (found, wanted) in found.iter().zip(wanted) {
                assert!((f64::from(*found) - wanted).abs() < 2e-5, "{position}: {found} {wanted}");
            }
        }
    }
}

/// Marian's gelu is `x * sigmoid(1.702 x)`; the factor moves into the weights.
#[test]
fn marians_gelu_is_a_scaled_swish() {
    let (_theirs, swish) = both(&RandomSpec::default(), "");
    let (_theirs, gelu) = both(&RandomSpec { activation: "gelu", ..RandomSpec::default() }, "");
    let [swish, gelu] = [swish, gelu].map(|dir| load_checkpoint(dir.path()).unwrap());
    // The first holds the file's weights as they are.
    let (as_stored, folded) = (&swish.encoder[1], &gelu.encoder[1]);
    let x: Vec<f64> = (0..36).map(|i| (i as f64 * 0.7).sin() * 3.0).collect();
    let linear = |linear: &crate::import::checkpoint::Linear, x: &[f64]| -> Vec<f64> {
        let row = |row: &[f32]| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>();
        linear.weight.iter_rows().zip(&linear.bias).map(|(w, b)| row(w) + f64::from(*b)).collect()
    };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let marian: Vec<f64> = linear(&as_stored.fc1, &x).iter().map(|x| x * sigmoid(1.702 * x)).collect();
    let ours: Vec<f64> = linear(&folded.fc1, &x).iter().map(|x| x * sigmoid(*x)).collect();
    for (found, wanted) in linear(&folded.fc2, &ours).iter().zip(linear(&as_stored.fc2, &marian)) {
        assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
    }
}

/// Both engines run what is packed from a `.npz`.
#[test]
fn packs_and_translates() {
    let (_theirs, marian) = both(&RandomSpec::default(), "");
    let npz = marian.path().join("model.npz");
    assert_engines_follow_the_reference(&npz);
}

#[test]
fn options_of_other_networks_are_refused_by_their_keys() {
    for (option, words) in [
        ("transformer-decoder-autoreg: rnn", "transformer-decoder-autoreg: found \"rnn\", wanted \"self-attention\""),
        ("transformer-decoder-autoreg: average-attention", "found \"average-attention\""),
        ("transformer-preprocess: n", "transformer-preprocess: found \"n\", wanted only the post-norm"),
        ("transformer-postprocess: da", "transformer-postprocess: found \"da\""),
        ("transformer-postprocess-top: n", "transformer-postprocess-top: found \"n\""),
        ("transformer-postprocess-emb: nd", "transformer-postprocess-emb: found \"nd\""),
        ("transformer-train-position-embeddings: true", "transformer-train-position-embeddings: found true"),
        ("transformer-tied-layers: [1, 1, 1]", "transformer-tied-layers: found [1,1,1]"),
        ("transformer-ffn-depth: 3", "transformer-ffn-depth: found 3, wanted 2"),
        ("transformer-ffn-activation: prelu", "transformer-ffn-activation: found \"prelu\""),
        ("transformer-no-projection: true", "transformer-no-projection: found true"),
        ("transformer-pool: true", "transformer-pool: found true"),
        ("type: s2s", "type: found \"s2s\", wanted \"transformer\""),
        ("right-left: true", "right-left: found true"),
        ("lemma-dim-emb: 3", "lemma-dim-emb: found 3"),
        ("ulr: true", "ulr: found true"),
        ("transformer-heads: 5", "transformer-heads: found 5, wanted a divisor of dim-emb (36)"),
        ("dim-emb: wide", "dim-emb: found \"wide\""),
    ] {
        let (_theirs, marian) = both(&RandomSpec::default(), "");
        let key = option.split(':').next().unwrap();
        edit_options(&marian, |yml| {
            let kept = yml.lines().filter(|line| !line.starts_with(&format!("{key}:")) && *line != "  []");
            kept.map(|line| format!("{line}\n")).collect::<String>() + option + "\n"
        });
        let error = error(&marian);
        assert!(
            error.contains("model.npz: values that cannot be imported:") && error.contains(words),
            "{option}: {error}"
        );
    }
}

/// Puts the options beside the model, and those inside it out of the way.
fn edit_options(dir: &TempDir, edit: impl Fn(&str) -> String) {
    let path = dir.path().join("model.npz");
    let bytes = fs::read(&path).unwrap();
    let npz = super::Npz::read(&path, &bytes).unwrap();
    let options = edit(&npz.options(&path).unwrap());
    // Both places of the name in the archive, without the sums being any the wiser.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert_eq!(text.matches("special:model.yml").count(), 2);
    let mut hidden = bytes.clone();
    while let Some(at) = hidden.windows(17).position(|part| part == b"special:model.yml") {
        hidden[at..at + 17].copy_from_slice(b"special_model_yml");
    }
    fs::write(&path, hidden).unwrap();
    fs::write(dir.path().join("model.npz.yml"), options).unwrap();
}

#[test]
fn missing_and_mismatched_files_say_what_to_do() {
    let (_theirs, marian) = both(&RandomSpec::default(), "");
    let at = |name: &str| marian.path().join(name);
    let whole = fs::read(at("model.npz")).unwrap();
    for end in [1, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(at("model.npz"), &whole[..end]).unwrap();
        let error = error(&marian);
        assert!(error.contains("model.npz: not a"), "{end}: {error}");
    }
    fs::write(at("model.npz"), &whole).unwrap();
    fs::write(at("other.npz"), &whole).unwrap();
    assert!(error(&marian).contains("several .npz files"));
    fs::remove_file(at("other.npz")).unwrap();

    fs::rename(at("vocab.spm"), at("hidden")).unwrap();
    assert!(error(&marian).contains("vocab.spm: not found: the vocabularies must be one .spm for both sides"));
    fs::write(at("decoder.yml"), "vocabs: [a/vocab.spm, b/vocab.spm]").unwrap();
    assert!(error(&marian).contains("vocab.spm: not found"));
    fs::rename(at("hidden"), at("vocab.spm")).unwrap();
    load_checkpoint(marian.path()).unwrap();
    fs::write(at("words.txt"), "a").unwrap();
    fs::write(at("decoder.yml"), "vocabs: [a/vocab.spm, b/words.txt]").unwrap();
    assert!(error(&marian).contains("words.txt: a kind of vocabulary that is not supported: supported are one .spm"));
    fs::remove_file(at("decoder.yml")).unwrap();

    // A vocabulary of another model, one piece shorter.
    let (_theirs, other) = both(&RandomSpec { vocab: 76, ..RandomSpec::default() }, "");
    fs::copy(other.path().join("vocab.spm"), at("vocab.spm")).unwrap();
    let error = error(&marian);
    assert!(error.contains("model.npz: arrays that do not fit the model's options and vocabularies:"), "{error}");
    assert!(error.contains("Wemb: found shape [76, 36], wanted [75, 36]"), "{error}");
}

/// As OPUS-MT publishes them: ids in a YAML file, pieces and scores in two SentencePiece models.
#[test]
fn a_yaml_vocabulary_numbers_the_pieces_of_two_models() {
    let (theirs, marian) = both(&RandomSpec::default(), "");
    let at = |name: &str| marian.path().join(name);
    fs::remove_file(at("vocab.spm")).unwrap();
    for name in ["source.spm", "target.spm"] {
        fs::copy(theirs.path().join(name), at(name)).unwrap();
    }
    let mut vocab: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&fs::read(theirs.path().join("vocab.json")).unwrap()).unwrap();
    vocab.remove("<pad>");
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let yml = |vocab: &serde_json::Map<String, serde_json::Value>| -> String {
        vocab.iter().map(|(piece, id)| format!("{}: {id}\n", quoted(piece))).collect()
    };
    fs::write(at("opus.vocab.yml"), yml(&vocab)).unwrap();
    let checkpoint = load_checkpoint(marian.path()).unwrap();
    let dir = CheckpointDir::open(marian.path()).unwrap();
    let (ours, theirs) = (dir.vocabularies(&checkpoint.config).unwrap(), load_checkpoint(theirs.path()).unwrap());
    assert_eq!(ours.source.pieces().len(), theirs.config.vocab_size);
    assert!(vocab.iter().all(|(piece, id)| ours.source.id(piece).map(u64::from) == id.as_u64()));
    assert!(dir.source_spm().ends_with("source.spm") && dir.target_spm().ends_with("target.spm"));
    pack(marian.path(), &Options::new(EngineKind::Int8)).unwrap();

    vocab.insert("new".to_owned(), 99.into());
    fs::write(at("opus.vocab.yml"), yml(&vocab)).unwrap();
    assert!(error(&marian).contains("opus.vocab.yml: its 77 pieces do not have the ids from 0 on, each one: copy"));
}
