//! `model-gen shortlist`, and translations by what it learned.

use super::*;
use latimer::blob::layout::SectionKind;

/// The shipped model, packed, and pairs for it.
fn shipped() -> Lab {
    let lab = Lab { checkpoint: tempfile::tempdir().unwrap(), out: tempfile::tempdir().unwrap() };
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-es-nano"));
    let output = command(&["pack", "--checkpoint", str(dir), "--out", str(&lab.blob())]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let pairs = PHRASES.map(|phrase| format!("{phrase}\t(anything)\n")).concat();
    std::fs::write(lab.file("pairs.tsv"), pairs).unwrap();
    lab
}

const PHRASES: [&str; 8] = [
    "Where is the train station?",
    "I want to eat.",
    "The train is late.",
    "Is the station open?",
    "The morning is cold.",
    "The weather is nice today.",
    "I am at home.",
    "I want to see the train.",
];

fn learn(lab: &Lab, more: &[&str]) -> Output {
    let (blob, pairs) = (lab.blob(), lab.file("pairs.tsv"));
    command(&[&["shortlist", "--blob", str(&blob), "--pairs", str(&pairs)], more].concat()).output().unwrap()
}

#[test]
fn phrases_within_the_shortlist_are_translated_the_same_and_read_less() {
    let lab = shipped();
    let input = PHRASES.join("\n");
    let wanted = lab.lines(&["--json", "--no-shortlist"], &input);

    let output = learn(&lab, &[]);
    assert!(output.status.success(), "{output:?}");
    let printed = text(&output.stdout);
    let wide = ["phrases_learned_from           8\n", "phrases_translated_the_same    100.0 %\n", "times fewer\n"];
    assert!(wide.iter().all(|line| printed.contains(line)), "{printed}");
    // Of the phrases learned from nothing is lost, and the rest of the blob is as it was.
    assert_eq!(lab.lines(&["--json", "--no-shortlist"], &input), wanted);
    let target = |line: &String| serde_json::from_str::<Value>(line).unwrap()["target_ids"].clone();
    let narrow = lab.lines(&["--json"], &input);
    assert!(narrow.iter().map(target).eq(wanted.iter().map(target)));
    assert!(narrow.iter().zip(&wanted).all(|(narrow, wanted)| narrow != wanted), "fewer logits, another checksum");
    let beams = lab.lines(&["--beam", "4"], &input);
    assert!(beams.iter().all(|line| line.len() > 4), "{beams:?}");
    // Order is of no matter, nor is what was translated before.
    let reversed: Vec<&str> = PHRASES.into_iter().rev().collect();
    let mut found = lab.lines(&["--json"], &reversed.join("\n"));
    found.reverse();
    assert_eq!(found, narrow);

    let bytes = AlignedBytes::read(&lab.blob()).unwrap();
    let model = Model::from_bytes(&bytes).unwrap();
    let section = model.blob().container().section(SectionKind::Shortlist).unwrap();
    assert!(printed.contains(&format!("bytes                          {}\n", section.len())), "{printed}");
    check_inspect(&lab.blob());
    let output = command(&["inspect", "--json", "--blob", str(&lab.blob())]).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["shortlist"]["bytes"], section.len());
    assert_eq!(value["shortlist"]["blocks"], 501);
    assert_eq!(value["arena"]["shortlist"], 64);

    // Learned again it is the same; asked for less reading, it lists less.
    let first = std::fs::read(lab.blob()).unwrap();
    assert!(learn(&lab, &[]).status.success());
    assert_eq!(std::fs::read(lab.blob()).unwrap(), first);
    let out = lab.out.path().join("other.blob");
    let output = learn(&lab, &["--limit", "3", "--out", str(&out)]);
    assert!(text(&output.stdout).contains("phrases_learned_from           3\n"), "{output:?}");
    assert!(learn(&lab, &["--factor", "100", "--out", str(&out)]).status.success());
    assert_eq!(std::fs::read(lab.blob()).unwrap(), first);
    assert!(std::fs::read(&out).unwrap().len() < first.len());
}

#[test]
fn faults_are_sentences() {
    let lab = shipped();
    let before = std::fs::read(lab.blob()).unwrap();
    let fails = |more: &[&str], code: i32, words: &[&str]| {
        let output = learn(&lab, more);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(words.iter().all(|word| message.contains(word)) && !message.contains("panicked"), "{message}");
        assert!(output.stdout.is_empty() && std::fs::read(lab.blob()).unwrap() == before);
    };
    for bad in ["0.5", "nan", "x"] {
        fails(&["--factor", bad], 2, &["1 or more"]);
    }
    fails(&["--factor", "1000"], 1, &["pairs.tsv", "smaller factor"]);
    fails(&["--source-tokens", "1"], 1, &["none of the 8 sources", "limits"]);
    fails(&["--out", "/no/such/folder/blob"], 1, &["there is no folder"]);
    std::fs::write(lab.file("pairs.tsv"), "no tab\n").unwrap();
    fails(&[], 1, &["pairs.tsv:1", "no tab"]);
    std::fs::remove_file(lab.file("pairs.tsv")).unwrap();
    fails(&[], 1, &["pairs.tsv", "cannot be read"]);
}
