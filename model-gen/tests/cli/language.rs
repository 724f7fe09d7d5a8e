//! `--target` of `pack` and `translate`.

use super::*;

/// Ids of "a" as the program's JSON has them.
fn ids(lab: &Lab, more: &[&str], phrase: &str) -> Vec<u64> {
    let output = lab.translate(&[&["--json", phrase], more].concat(), b"");
    assert!(output.status.success(), "{output:?}");
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    line["source_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

#[test]
fn a_language_is_chosen_when_packing_or_running() {
    let languages = &["spa", "fra"];
    let checkpoint = random_checkpoint(&RandomSpec { vocab: 80, languages, ..RandomSpec::default() });
    let lab = Lab { checkpoint, out: tempfile::tempdir().unwrap() };
    let vocab: Value = serde_json::from_slice(&std::fs::read(lab.file("vocab.json")).unwrap()).unwrap();
    let [spanish, french] = [">>spa<<", ">>fra<<"].map(|code| vocab[code].as_u64().unwrap());

    assert!(lab.pack(&[]).status.success());
    let plain = ids(&lab, &[], "a");
    let with = |code: u64| [&[code][..], &plain].concat();
    assert_eq!(ids(&lab, &["--target", "fra"], "a"), with(french));
    assert_eq!(ids(&lab, &["--target", ">>fra<<"], "a"), with(french));
    assert_eq!(ids(&lab, &[], ">>spa<<a"), with(spanish));
    assert_eq!(ids(&lab, &["--target", "fra"], ">>spa<<a"), with(spanish));
    let unknown = lab.translate(&["--target", "deu", "a"], b"");
    let message = text(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(1), "{message}");
    assert!(message.contains("--target deu") && message.contains("it has fra, spa"), "{message}");
    // Blank is blank in any language.
    assert_eq!(ids(&lab, &["--target", "fra"], " "), [0; 0]);

    assert!(lab.pack(&["--target", ">>spa<<"]).status.success());
    assert_eq!(ids(&lab, &[], "a"), with(spanish));
    assert!(lab.pack(&["--target", "spa"]).status.success());
    assert_eq!(ids(&lab, &[], "a"), with(spanish));
    assert_eq!(ids(&lab, &["--target", "fra"], "a"), with(french));
    let unknown = lab.pack(&["--target", "deu"]);
    let message = text(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(1), "{message}");
    assert!(message.contains("vocab.json has no such language; it has fra, spa"), "{message}");
}

#[test]
fn a_model_of_one_language_takes_no_target() {
    let lab = Lab::packed();
    let output = lab.translate(&["--target", "spa", "a"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("leave --target out"), "{output:?}");
}
