//! Passages over the example model: that they are bounded steps, certain text and whole outcomes.

use latimer::passage::{Aligned, Passage, Progress};
use latimer::{Arena, Limits, Model, Observer, TextOptions, Warnings, arena_len, include_blob};
use std::ops::ControlFlow;

static BLOB: &[u8] = include_blob!("../src/example.blob");
const LIMITS: Limits = Limits { beams: 4, ..Limits::DEFAULT };
const TEXT: &str = "  Good morning. It costs $12.50!\n\nWHERE is <b>Tom</b>? \u{1f600} a@b.com ";

struct Lab {
    arena: Box<Arena<{ arena_len(BLOB, LIMITS) }>>,
}

impl Lab {
    fn new() -> Self {
        Lab { arena: Box::new(Arena::new()) }
    }

    /// A translation step by step: the text after each step, and what came of it.
    fn steps(&mut self, text: &str, beams: usize, options: TextOptions) -> (Vec<String>, latimer::Outcome) {
        let model = Model::from_bytes(BLOB).unwrap();
        let mut translator = model.translator((*self.arena).as_mut(), LIMITS).unwrap();
        translator.set_beams(beams).unwrap();
        let (mut passage, mut out, mut texts) = (Passage::new(text.as_bytes(), options), String::new(), Vec::new());
        while passage.advance(&mut translator, &mut (), &mut out).unwrap() == Progress::More {
            texts.push(out.clone());
        }
        texts.push(out);
        (texts, passage.outcome())
    }
}

#[test]
fn text_only_grows_and_equals_the_whole() {
    let model = Model::from_bytes(BLOB).unwrap();
    for beams in 1..=4 {
        for options in [TextOptions::DEFAULT, TextOptions::RAW, TextOptions { guards: false, ..TextOptions::DEFAULT }] {
            let (texts, outcome) = Lab::new().steps(TEXT, beams, options);
            assert!(texts.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "{beams}: {texts:?}");
            let mut lab = Lab::new();
            let mut translator = model.translator((*lab.arena).as_mut(), LIMITS).unwrap();
            translator.set_beams(beams).unwrap();
            let mut whole = String::new();
            let other = translator.translate_text(TEXT.as_bytes(), options, &mut (), &mut whole).unwrap();
            assert_eq!((texts.last(), outcome), (Some(&whole), other));
            if options.protect {
                assert_eq!(whole.matches('\n').count(), 2, "{whole:?}");
                for kept in ["$12.50", "<b>", "</b>", "\u{1f600}", "a@b.com"] {
                    assert_eq!(whole.matches(kept).count(), 1, "{kept} in {whole:?}");
                }
            }
        }
    }
}

/// Tells which bytes come from where.
#[derive(Default)]
struct Alignment(Vec<Aligned>);

impl Observer for Alignment {
    fn aligned(&mut self, aligned: &Aligned) {
        self.0.push(aligned.clone());
    }
}

#[test]
fn alignment_lies_within_both_texts_in_order() {
    let model = Model::from_bytes(BLOB).unwrap();
    let mut lab = Lab::new();
    let mut translator = model.translator((*lab.arena).as_mut(), LIMITS).unwrap();
    for beams in [1, 4] {
        translator.set_beams(beams).unwrap();
        let (mut alignment, mut out) = (Alignment::default(), String::new());
        let outcome =
            translator.translate_text(TEXT.as_bytes(), TextOptions::DEFAULT, &mut alignment, &mut out).unwrap();
        assert_eq!(alignment.0.len(), outcome.target_tokens);
        let mut end = 0;
        for aligned in &alignment.0 {
            assert!(aligned.target.start >= end && out.get(aligned.target.clone()).is_some(), "{aligned:?}");
            assert!(TEXT.get(aligned.source.clone()).is_some(), "{aligned:?}");
            end = aligned.target.end;
        }
    }
}

/// Stops after some tokens.
struct Stop(usize);

impl Observer for Stop {
    fn token(&mut self, _: usize, _: u16) -> ControlFlow<()> {
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn stopping_keeps_what_there_is() {
    let model = Model::from_bytes(BLOB).unwrap();
    let mut lab = Lab::new();
    let mut translator = model.translator((*lab.arena).as_mut(), LIMITS).unwrap();
    translator.set_beams(1).unwrap();
    let raw = TextOptions::RAW;
    let mut out = String::new();
    let outcome = translator.translate_text(b"Good morning to you all.", raw, &mut Stop(2), &mut out).unwrap();
    assert!(outcome.warnings.contains(Warnings::STOPPED) && outcome.target_tokens == 2, "{outcome:?}");
    // The same from outside, at any time.
    for beams in [1, 3] {
        translator.set_beams(beams).unwrap();
        let mut ended = 0;
        for steps in (0..20).chain(50..90) {
            let (mut passage, mut out) = (Passage::new(b"Good morning to you.", raw), String::new());
            let mut progress = Progress::More;
            for _ in 0..steps {
                progress = passage.advance(&mut translator, &mut (), &mut out).unwrap();
            }
            let written = out.clone();
            let outcome = passage.stop(&mut translator, &mut (), &mut out).unwrap();
            assert!(out.starts_with(&written));
            assert_eq!(outcome.warnings.contains(Warnings::STOPPED), progress == Progress::More, "{steps}");
            ended += usize::from(progress == Progress::Done);
            assert_eq!(passage.advance(&mut translator, &mut (), &mut out), Ok(Progress::Done));
        }
        assert!(ended > 0);
    }
}

#[test]
fn any_limits_take_any_text_or_say_so() {
    let model = Model::from_bytes(BLOB).unwrap();
    let long = TEXT.repeat(9) + &"word ".repeat(300) + &"x".repeat(900);
    for (source_tokens, target_tokens, text_bytes) in [(3, 2, 8), (5, 3, 20), (64, 64, 512)] {
        let limits = Limits { source_tokens, target_tokens, text_bytes, beams: 2 };
        let mut arena = vec![0u128; model.arena_len(limits).unwrap().div_ceil(16)];
        let mut translator = model.translator(bytemuck::cast_slice_mut(&mut arena), limits).unwrap();
        let mut out = String::new();
        match translator.translate_text(long.as_bytes(), TextOptions::DEFAULT, &mut (), &mut out) {
            Ok(outcome) => {
                assert!(outcome.parts > 9 && !outcome.warnings.contains(Warnings::LOST));
                assert_eq!(out.matches("$12.50").count(), 9, "{out}");
            }
            Err(error) => assert!(text_bytes < 100, "{error}"),
        }
    }
}
