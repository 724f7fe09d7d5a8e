//! The report: whole, well-formed, closed to the network, and harmless whatever the texts are.

mod common;

use common::{packed, phrases, random_checkpoint};
use latimer::{EngineKind, Limits, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::evaluate::{Evaluation, evaluate};
use model_gen::pack::{Options, pack};
use model_gen::report::{Folder, PAGE};
use model_gen::score::pairs::Phrase;
use model_gen::testing::RandomSpec;
use scraper::{Html, Selector};
use std::path::Path;
use std::process::Command;

const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: 24, text_bytes: 200, beams: 1 };
const SECTIONS: [&str; 6] = ["noise", "recipes", "ranges", "weights", "memory", "worst"];

fn evaluated(checkpoint: &Path, blob: &AlignedBytes) -> Evaluation {
    let pairs: Vec<Phrase> = phrases(25, 3)
        .into_iter()
        .zip(phrases(25, 4))
        .map(|(source, reference)| Phrase { source, references: vec![reference] })
        .collect();
    evaluate(&Model::from_bytes(blob).unwrap(), checkpoint, &pairs, LIMITS, || {}).unwrap()
}

fn read(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(PAGE)).unwrap()
}

fn parsed(html: &str) -> Html {
    let page = Html::parse_document(html);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    page
}

fn all<'p>(page: &'p Html, selector: &str) -> Vec<scraper::ElementRef<'p>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(page: &Html, selector: &str) -> String {
    all(page, selector).iter().flat_map(|element| element.text()).collect()
}

/// Nothing that a browser would fetch or run.
fn assert_closed(page: &Html) {
    for tag in ["script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignObject", "use", "image"] {
        assert!(all(page, tag).is_empty(), "there is a {tag}");
    }
    for element in all(page, "*") {
        for (name, value) in element.value().attrs() {
            assert!(
                !name.starts_with("on") && !["src", "href", "xlink:href", "srcset"].contains(&name),
                "{name}={value}"
            );
            assert!(!value.contains("//") && !value.contains("url("), "{name}={value}");
        }
    }
    let style = text(page, "style");
    assert!(!style.contains("url(") && !style.contains("@import") && style.len() > 1000);
    let policy = all(page, "meta[http-equiv]")[0].attr("content").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
}

#[test]
fn every_section_is_there_and_whole() {
    let spec = RandomSpec::default();
    let checkpoint = random_checkpoint(&spec);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("made/when/missing");
    for engine in common::ENGINES {
        let e = evaluated(checkpoint.path(), &packed(checkpoint.path(), engine));
        Folder::open(&dir).unwrap().write(&e, engine.name()).unwrap();
        let page = parsed(&read(&dir));
        assert_closed(&page);
        let ids: Vec<&str> = all(&page, "main > section").iter().map(|s| s.attr("id").unwrap()).collect();
        assert_eq!(ids, SECTIONS);

        // Every image says what it shows, every id is one element's.
        for svg in all(&page, "svg") {
            let named: Vec<&str> = svg.attr("aria-labelledby").unwrap().split(' ').collect();
            for (id, tag) in named.iter().zip(["title", "desc"]) {
                let name = text(&page, &format!("svg > {tag}#{id}"));
                assert!(!name.is_empty(), "{id}");
            }
            assert!(!svg.html().contains("NaN") && !svg.html().contains("inf"), "{}", svg.html());
        }
        let mut ids: Vec<&str> = all(&page, "[id]").iter().map(|element| element.attr("id").unwrap()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);

        // A row a thing, in the charts as in the tables.
        let linears = 6 * spec.encoder_layers + 10 * spec.decoder_layers + 1;
        assert_eq!((e.ranges.len(), e.weights.len()), (linears, linears));
        for (id, rows) in [("noise", e.stages.len()), ("ranges", linears), ("weights", linears)] {
            assert_eq!(all(&page, &format!("#{id} svg > g")).len(), rows, "{id}");
            assert_eq!(all(&page, &format!("#{id} tbody > tr")).len(), rows, "{id}");
        }
        assert_eq!(all(&page, "#noise rect.bad").len(), 1);
        assert!(text(&page, "#noise .lead").contains(&e.stages[0].stage));
        assert_eq!(all(&page, "#worst article").len(), e.worst.len());
        assert_eq!(all(&page, "#worst article mark").len(), 2 * e.worst.len());
        assert_eq!(all(&page, "#memory figure").len(), 3);

        let weights = text(&page, "#weights");
        match engine {
            EngineKind::Int8 => {
                // The fast recipe clips where that errs less.
                let clipped: usize = e.weights.iter().filter_map(|fit| fit.clipping).map(|c| c.clipped).sum();
                assert!((1..1000).contains(&clipped), "{clipped}");
                assert!(weights.contains(&format!("Clipped in all: {clipped}.")), "{weights}");
            }
            EngineKind::F16 => assert!(weights.contains("Nothing can be clipped here"), "{weights}"),
        }
    }
    // The second page compares both.
    let page = parsed(&read(&dir));
    assert_eq!(all(&page, "#recipes svg circle").len(), 2);
    assert_eq!(all(&page, "#recipes tbody > tr").len(), 2);
    assert!(dir.join("int8.json").is_file() && dir.join("f16.json").is_file());
}

/// Phrases, pieces and metadata come from strangers.
#[test]
fn hostile_text_stays_text() {
    const EVIL: &str = "</script></style></title><img src=x onerror=alert(1)>\"'><svg onload=alert(2)>&lt;\u{202e}";
    let checkpoint = random_checkpoint(&RandomSpec::default());
    let mut options = Options::new(EngineKind::Int8);
    for key in ["name", "recipe", "licence", "source_language", "target_language", "<b onclick"] {
        options.meta.push((key.to_owned(), EVIL.to_owned()));
    }
    let blob = AlignedBytes::copy_of(&pack(checkpoint.path(), &options).unwrap().bytes);
    let mut e = evaluated(checkpoint.path(), &blob);
    assert!(!e.worst.is_empty());
    for worst in &mut e.worst {
        (worst.source, worst.reference) = (EVIL.to_owned(), EVIL.to_owned());
        worst.float = vec![EVIL.to_owned(); 3];
        worst.first_difference = 1;
    }
    let folder = tempfile::tempdir().unwrap();
    // Another evaluation of this folder may be hostile too.
    let mut other = serde_json::to_value(&e).unwrap();
    other["recipe"] = EVIL.into();
    std::fs::write(folder.path().join("<img src=x>.json"), other.to_string()).unwrap();
    std::fs::write(folder.path().join("<i>.json"), "[]").unwrap();
    Folder::open(folder.path()).unwrap().write(&e, "blob").unwrap();
    let html = read(folder.path());
    let page = Html::parse_document(&html);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    assert_eq!(text(&page, "h1"), EVIL);
    assert!(text(&page, "title").starts_with(EVIL));
    assert_eq!(all(&page, "main > section").len(), SECTIONS.len());
    assert!(text(&page, "#worst .source").starts_with(EVIL));
    assert!(text(&page, "#recipes .note").contains("<i> (no evaluation)"));
    for tag in ["script", "img", "body style", "[onerror]", "[onload]", "b[onclick]", "i"] {
        assert!(all(&page, tag).is_empty(), "{tag}");
    }
}

#[test]
fn other_files_are_left_out_with_the_reason() {
    let checkpoint = random_checkpoint(&common::tiny());
    let e = evaluated(checkpoint.path(), &packed(checkpoint.path(), EngineKind::Int8));
    let folder = tempfile::tempdir().unwrap();
    let store = |name: &str, key: &str, value: serde_json::Value| {
        let mut other = serde_json::to_value(&e).unwrap();
        other[key] = value;
        std::fs::write(folder.path().join(name), other.to_string()).unwrap();
    };
    store("elsewhere.json", "phrases_crc", 1.into());
    store("empty.json", "phrases", 0.into());
    store("sound.json", "blob_bytes", 5_000.into());
    std::fs::write(folder.path().join("cut.json"), "{\"engine\":").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no JSON").unwrap();
    let report = Folder::open(folder.path()).unwrap();
    report.write(&e, "own").unwrap();
    let html = read(folder.path());
    let page = parsed(&html);
    let note = text(&page, "#recipes .note");
    assert_eq!(note, "Left out: cut (no evaluation); elsewhere (on other phrases); empty (no evaluation).");
    assert_eq!(all(&page, "#recipes svg circle").len(), 2);
    // The page depends on nothing else.
    report.write(&e, "own").unwrap();
    assert_eq!(read(folder.path()), html);
}

#[test]
fn the_command_writes_the_page_and_refuses_a_file() {
    let checkpoint = random_checkpoint(&common::tiny());
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str| files.path().join(name);
    std::fs::write(file("small.blob"), &packed(checkpoint.path(), EngineKind::Int8)[..]).unwrap();
    std::fs::write(file("pairs.tsv"), "a\tb\nthe end\tno\n").unwrap();
    let eval = |report: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_model-gen"));
        command.arg("eval").arg("--blob").arg(file("small.blob")).arg("--checkpoint").arg(checkpoint.path());
        command.arg("--pairs").arg(file("pairs.tsv")).arg("--report").arg(report).output().unwrap()
    };
    let output = eval(&file("lab/report"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    parsed(&read(&file("lab/report")));
    let stored = std::fs::read(file("lab/report/small.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored["phrases"], 2);
    assert!(stored["memory"]["arena"].is_array() && stored["ranges"][0]["site"] == "encoder.1.self_q");

    let output = eval(&file("pairs.tsv"));
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("pairs.tsv: is a file; give the name of a folder"), "{message}");
    assert!(output.stdout.is_empty(), "it says so before the work");
}
