//! `model-gen glossary`, and what `translate` and `inspect` make of it.

use super::*;

fn glossary(args: &[&str]) -> Output {
    command(&[&["glossary"], args].concat()).output().unwrap()
}

#[test]
fn lines_are_packed_and_come_first() {
    let lab = Lab::packed();
    let (tsv, packed, blob) = (lab.file("words.tsv"), lab.file("words.bin"), lab.blob());
    std::fs::write(&tsv, "hello\tbuenas\nthe cat\tel gato\ncat\tgata\tterm\n").unwrap();
    let output = glossary(&["--tsv", str(&tsv), "--blob", str(&blob), "--packed", str(&packed)]);
    assert!(output.status.success(), "{output:?}");
    let bytes = std::fs::read(&packed).unwrap();
    let printed = text(&output.stdout);
    for line in ["phrases                    2\n", "terms                      1\n", &format!(" {}\n", bytes.len())] {
        assert!(printed.contains(line), "{line} is not in: {printed}");
    }
    assert_eq!(lab.lines(&[], "Hello!\nTHE CAT\n"), ["\u{a1}Buenas!", "EL GATO"]);
    assert_eq!(lab.lines(&["--without", "glossary"], "Hello!\n").len(), 1);
    check_inspect(&blob);
    let output = command(&["inspect", "--json", "--blob", str(&blob)]).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["glossary"], serde_json::json!({ "bytes": bytes.len(), "phrases": 2, "terms": 1 }));
    assert_eq!(value["guide"], Value::Null);

    let own = lab.file("own.tsv");
    std::fs::write(&own, "hello\tqu\u{e9} tal\n").unwrap();
    assert_eq!(lab.lines(&["--glossary", str(&own)], "hello\nthe cat\n"), ["qu\u{e9} tal", "el gato"]);
    assert!(lab.pack(&[]).status.success());
    assert_eq!(lab.lines(&["--glossary", str(&packed)], "hello\n"), ["buenas"]);
}

#[test]
fn words_are_learned_for_a_person_to_edit() {
    let lab = Lab::packed();
    let (pairs, tsv, packed) = (lab.file("pairs.tsv"), lab.file("words.tsv"), lab.file("words.bin"));
    let mut lines = String::new();
    for (thing, cosa) in [("dog", "perro"), ("cat", "gato"), ("car", "coche"), ("book", "libro")] {
        for (from, to) in [("I see the", "Veo el"), ("I buy the", "Compro el"), ("Tom has the", "Tom tiene el")] {
            lines += &format!("{from} {thing}.\t{to} {cosa}.\n");
        }
    }
    std::fs::write(&pairs, lines).unwrap();
    let learn = |more: &[&str]| glossary(&[&["--learn", str(&pairs), "--write", str(&tsv)], more].concat());
    let output = learn(&["--comment", "From pairs.", "--packed", str(&packed)]);
    assert!(output.status.success(), "{output:?}");
    let written = std::fs::read_to_string(&tsv).unwrap();
    assert!(written.starts_with("# From pairs.\n") && written.contains("\ncat\tgato\n"), "{written}");
    assert!(text(&output.stdout).contains("words_with_an_entry"));
    assert!(learn(&["--comment", "From\nhare\tliebre"]).status.success());
    assert!(std::fs::read_to_string(&tsv).unwrap().starts_with("# From\n# hare\tliebre\n"));
    let again = lab.file("again.bin");
    assert!(glossary(&["--tsv", str(&tsv), "--packed", str(&again)]).status.success());
    assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&packed).unwrap());
    assert!(learn(&["--words", "2"]).status.success());
    assert!(std::fs::read_to_string(&tsv).unwrap().lines().count() <= 2);
    std::fs::write(&pairs, "5\t6\n").unwrap();
    let output = learn(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gives no word a translation: give more pairs"), "{output:?}");
}

#[test]
fn judging_wants_a_reference() {
    let lab = Lab::packed();
    let output = command(&["judge", "--blob", str(&lab.blob()), "--pairs", "x", "--max-refs", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--max-refs"), "{output:?}");
}

#[test]
fn faults_are_sentences() {
    let lab = Lab::packed();
    let before = std::fs::read(lab.blob()).unwrap();
    let (tsv, blob) = (lab.file("words.tsv"), lab.blob());
    let fails = |args: &[&str], code: i32, words: &[&str]| {
        let output = glossary(args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(words.iter().all(|word| message.contains(word)) && !message.contains("panicked"), "{message}");
        assert!(output.stdout.is_empty() && std::fs::read(&blob).unwrap() == before);
    };
    let into = ["--tsv", str(&tsv), "--blob", str(&blob)];
    fails(&into, 1, &["words.tsv", "cannot be read"]);
    for (lines, words) in [
        ("a\tb\nno tab\n", ["words.tsv:2", "no tab"]),
        ("a\tb\nA.\tc\n", ["words.tsv:2", "on line 1 already: remove one"]),
        ("a\tb\tverb\n", ["words.tsv:1", "write phrase or term"]),
        ("# only\n", ["words.tsv", "has no entries"]),
    ] {
        std::fs::write(&tsv, lines).unwrap();
        fails(&into, 1, &words);
        let output = lab.translate(&["--glossary", str(&tsv)], b"hello");
        assert_eq!(output.status.code(), Some(1));
        assert!(words.iter().all(|word| text(&output.stderr).contains(word)), "{output:?}");
    }
    std::fs::write(&tsv, b"GLOSxxxx").unwrap();
    let output = lab.translate(&["--glossary", str(&tsv)], b"hello");
    assert!(text(&output.stderr).contains("damaged; pack it anew"), "{output:?}");
    std::fs::write(&tsv, "a\tb\n").unwrap();
    for more in [&["--packed", str(&tsv)][..], &["--packed", str(&blob), "--blob", str(&blob)]] {
        fails(&[&["--tsv", str(&tsv)], more].concat(), 1, &["--packed", "is read by the same command", "another file"]);
    }
    fails(&["--tsv", str(&tsv), "--blob", str(&blob), "--out", str(&tsv)], 1, &["--out", "is read by"]);
    fails(&["--learn", str(&tsv), "--write", str(&tsv)], 1, &["--write", "is read by"]);
    assert_eq!(std::fs::read(&tsv).unwrap(), b"a\tb\n");
    fails(&["--tsv", str(&tsv)], 2, &["--blob", "--packed"]);
    fails(&["--blob", str(&blob)], 2, &["--tsv", "--learn"]);
    fails(&["--tsv", str(&tsv), "--out", "x"], 2, &["--blob"]);
    fails(&["--tsv", str(&tsv), "--write", "x"], 2, &["--write"]);
    fails(&["--learn", str(&tsv), "--packed", "x", "--least", "2"], 2, &["0 to 1"]);
    fails(&["--tsv", str(&tsv), "--blob", str(&tsv)], 1, &["words.tsv"]);
    fails(&[&into[..], &["--out", "/no/such/folder/blob"]].concat(), 1, &["there is no folder"]);
}
