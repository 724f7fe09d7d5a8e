//! Glossaries with the shipped model: whole phrases, and terms inside of sentences.

mod common;

use common::packed;
use latimer::blob::glossary::Glossary;
use latimer::blob::layout::SectionKind;
use latimer::{EngineKind, Limits, Model, TextOptions};
use model_gen::aligned::AlignedBytes;
use model_gen::glossary::load;
use model_gen::pack::with_section;
use std::path::Path;
use std::sync::LazyLock;

static BLOB: LazyLock<AlignedBytes> =
    LazyLock::new(|| packed(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/en-es-nano")), EngineKind::Int8));

fn glossary(lines: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("words.tsv");
    std::fs::write(&path, lines).unwrap();
    load(&path).unwrap()
}

/// Translations by lines of a glossary in RAM, of a blob.
struct With<'b> {
    blob: &'b AlignedBytes,
    bytes: Vec<u8>,
}

impl With<'_> {
    fn run(&self, text: &str, options: TextOptions) -> String {
        let model = Model::from_bytes(self.blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT).unwrap());
        let mut translator = model.translator(&mut arena, Limits::DEFAULT).unwrap();
        translator.set_glossary(Glossary::parse(&self.bytes).unwrap());
        let mut out = String::new();
        translator.translate_text(text.as_bytes(), options, &mut (), &mut out).unwrap();
        out
    }

    fn of(&self, text: &str) -> String {
        self.run(text, TextOptions::DEFAULT)
    }
}

fn with(lines: &str) -> With<'static> {
    With { blob: &BLOB, bytes: glossary(lines) }
}

#[test]
fn phrases_keep_marks_and_case() {
    let with = with(
        "hello\thola\nrun\tcorre\nmr\tSr.\nwell done\t\u{a1}Bravo!\nroute 66\truta 66\nsee you\tnos vemos\nwhere is the exit\td\u{f3}nde est\u{e1} la salida\n",
    );
    for (source, target) in [
        ("hello", "hola"),
        ("Hello", "Hola"),
        ("HELLO", "HOLA"),
        ("Hello.", "Hola."),
        ("RUN!", "\u{a1}CORRE!"),
        ("Run!", "\u{a1}Corre!"),
        ("Hello?!", "\u{bf}Hola?!"),
        ("Hello) \u{1f600}", "Hola) \u{1f600}"),
        ("Mr.", "Sr."),
        ("Well done.", "\u{a1}Bravo!"),
        ("WELL DONE!", "\u{a1}BRAVO!"),
        ("Route 66!", "\u{a1}Ruta 66!"),
        ("Where is the exit?", "\u{bf}D\u{f3}nde est\u{e1} la salida?"),
        ("WHERE IS THE EXIT?", "\u{bf}D\u{d3}NDE EST\u{c1} LA SALIDA?"),
        ("Where Is the Exit?", "\u{bf}D\u{f3}nde est\u{e1} la salida?"),
        ("Hello! Run! See  you.", "\u{a1}Hola! \u{a1}Corre! Nos vemos."),
    ] {
        assert_eq!(with.of(source).to_lowercase(), target.to_lowercase(), "{source}");
        if source != "Where Is the Exit?" {
            assert_eq!(with.of(source), target, "{source}");
        }
    }
    let plain = TextOptions { casing: false, punctuation: false, ..TextOptions::DEFAULT };
    assert_eq!(with.run("Run!", plain), "corre!");
    let without = TextOptions { glossary: false, ..TextOptions::DEFAULT };
    assert_ne!(with.run("Where is the exit?", without), with.of("Where is the exit?"));
    assert_ne!(with.of("I say hello to Tom."), "Hola.");
}

/// How often `words` stand in `text`.
fn count(text: &str, words: &str) -> usize {
    text.matches(words).count()
}

#[test]
fn terms_stand_once_in_sentences() {
    let with = with(
        "printer\timpresora l\u{e1}ser\tterm\nblue printer\tazulina\tterm\nwi-fi 6\tred inal\u{e1}mbrica\tterm\npaper tray\tbandeja\tterm\n",
    );
    for (source, term) in [
        ("The printer is old.", "impresora l\u{e1}ser"),
        ("Where is the printer?", "impresora l\u{e1}ser"),
        ("I want to buy a printer.", "impresora l\u{e1}ser"),
        ("I have 3 printer 5 books.", "impresora l\u{e1}ser"),
        ("Tom has a blue printer.", "azulina"),
        ("Tom has a Blue   Printer.", "azulina"),
        ("I like Wi-Fi 6.", "red inal\u{e1}mbrica"),
        ("My paper tray is empty.", "bandeja"),
        ("the printer is here", "impresora l\u{e1}ser"),
    ] {
        let found = with.of(source).to_lowercase();
        assert_eq!(count(&found, term), 1, "{source}: {found}");
        assert!(found.len() > term.len() + 3, "{source}: {found}");
    }
    // The longest wins.
    assert_eq!(count(&with.of("Tom has a blue printer."), "impresora"), 0);
    // Each for itself.
    let both = with.of("The printer has a paper tray.");
    assert_eq!((count(&both.to_lowercase(), "impresora l\u{e1}ser"), count(&both, "bandeja")), (1, 1), "{both}");
    let twice = with.of("This printer is a new printer.");
    assert_eq!(count(&twice.to_lowercase(), "impresora l\u{e1}ser"), 2, "{twice}");
    let numbers = with.of("I have 3 printer 5 books.");
    assert!(count(&numbers, "3") == 1 && count(&numbers, "5") == 1, "{numbers}");
}

#[test]
fn terms_take_the_case_of_the_sentence() {
    let with = with("printer\timpresora\tterm\n");
    let capitals = with.of("THE PRINTER IS VERY OLD!");
    assert_eq!(count(&capitals, "IMPRESORA"), 1, "{capitals}");
    assert_eq!(capitals, capitals.to_uppercase());
    let first = with.of("Printer is a word.");
    assert!(count(&first, "Impresora") == 1 || !first.starts_with(char::is_lowercase), "{first}");
    let only = [("Printer!", "\u{a1}Impresora!"), ("PRINTER", "IMPRESORA"), ("printer", "impresora")];
    for (source, target) in only.into_iter().chain([("Printer, printer 5", "Impresora, impresora 5")]) {
        assert_eq!(with.of(source), target, "{source}");
    }
}

#[test]
fn terms_are_whole_words() {
    let with = with("printer\tzzz\tterm\nmail\tzzz\tterm\n3d\tzzz\tterm\n");
    for source in [
        "The printers are old.",
        "I like the printer's color.",
        "I like the printer\u{2019}s color.",
        "A printer-friendly page.",
        "Send me an e-mail.",
        "See https://printer.com/mail now.",
        "I have printer2 here.",
        "I have 3dx here.",
    ] {
        let found = with.of(source);
        assert!(!found.to_lowercase().contains("zzz"), "{source}: {found}");
    }
    for source in ["I have a (printer) here.", "The 'printer' is old.", "I like 3D.", "I have mail; it is old."] {
        let found = with.of(source);
        assert!(found.to_lowercase().contains("zzz"), "{source}: {found}");
    }
}

#[test]
fn a_glossary_from_ram_comes_before_the_blobs() {
    let section = glossary("hello\tdel blob\nbye\tadi\u{f3}s\nprinter\tdel blob\n");
    let blob = AlignedBytes::copy_of(&with_section(&BLOB, SectionKind::Glossary, &section).unwrap());
    let own = With { blob: &blob, bytes: glossary("hello\tpropio\nprinter\tpropia\tterm\n") };
    assert_eq!(
        (own.of("hello"), own.of("bye"), own.of("Printer.")),
        ("propio".into(), "adi\u{f3}s".into(), "Propia.".into())
    );
    let none = With { blob: &blob, bytes: glossary("x\ty\n") };
    assert_eq!(none.of("hello"), "del blob");
}
