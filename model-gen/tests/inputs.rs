//! Phrases and calls that are not what a translator hopes for: a typed, worded error or a valid answer.

mod common;

use common::{ENGINES, packed, random_checkpoint, shared, translate};
use latimer::{Error, Limits, Model, Stats, Translator};
use model_gen::aligned::AlignedBytes;
use model_gen::testing::RandomSpec;

const LIMITS: Limits = Limits::DEFAULT;

/// Runs a check on the odd model in both engines.
fn each(check: impl Fn(&Model)) {
    let dir = random_checkpoint(&RandomSpec::default());
    for engine in ENGINES {
        let blob = packed(dir.path(), engine);
        check(&Model::from_bytes(&blob).unwrap());
    }
}

/// Runs a check with a translator, and afterwards a phrase that must come out as from a fresh one.
fn each_translator(check: impl Fn(&Model, &mut Translator)) {
    each(|model| {
        let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        check(model, &mut translator);
        translator.set_max_tokens(usize::MAX);
        let (mut crc, mut out) = (latimer::LogitsCrc::new(), String::new());
        translator.translate_phrase(b"the cat", &mut crc, &mut out).unwrap();
        let fresh = translate(model, LIMITS, b"the cat").unwrap();
        assert_eq!((crc.value(), &out), (fresh.logits_crc, &fresh.target), "what came before disturbs a translation");
        assert_eq!(translator.target_ids(), fresh.target_ids);
    });
}

/// The model alone, into a string that is cleared first.
fn phrase<const N: usize>(
    translator: &mut Translator,
    text: &str,
    out: &mut heapless::String<N>,
) -> Result<Stats, Error> {
    out.clear();
    translator.translate_phrase(text.as_bytes(), &mut (), out)
}

#[test]
fn empty_and_blank_phrases_give_empty_ones() {
    each_translator(|_, translator| {
        let mut out = heapless::String::<512>::new();
        for blank in ["", " ", "       "] {
            phrase(translator, "the cat", &mut out).unwrap();
            assert_eq!(phrase(translator, blank, &mut out), Ok(Stats::default()), "{blank:?}");
            assert_eq!((out.as_str(), translator.source_ids(), translator.target_ids()), ("", &[][..], &[][..]));
        }
    });
}

/// What counts as white space is the model's own character map's matter: the odd model has none, the shared one has.
#[test]
fn other_white_space_is_blank_to_a_model_with_a_character_map() {
    let Some(dir) = shared("models/en-es-nano") else { return };
    for engine in ENGINES {
        let blob = packed(&dir, engine);
        let model = Model::from_bytes(&blob).unwrap();
        for blank in ["\t", " \t \n", "\u{3000}", "\r\n", "\u{a0}\u{2003}"] {
            let found = translate(&model, LIMITS, blank.as_bytes()).unwrap();
            assert_eq!((found.target.as_str(), found.source_ids.len()), ("", 0), "{blank:?}");
        }
    }
}

#[test]
fn phrases_past_the_limits_are_refused() {
    each_translator(|_, translator| {
        let mut out = heapless::String::<512>::new();
        assert_eq!(phrase(translator, &"z".repeat(10_000), &mut out), Err(Error::TextTooLong { limit: 512 }));
        assert_eq!(phrase(translator, &"z ".repeat(100), &mut out), Err(Error::TooManyTokens { limit: 64 }));
        assert_eq!(out, "");
        assert_eq!(translator.encode(&mut ()), Err(Error::NothingToEncode), "no ids are left of it");
    });
}

/// The largest phrase that fits, and one token more.
#[test]
fn the_limit_of_tokens_is_exact() {
    each(|model| {
        let count = translate(model, LIMITS, "z".repeat(30).as_bytes()).unwrap().source_ids.len() as u16;
        for (source_tokens, fits) in [(count, true), (count - 1, false)] {
            let found = translate(model, Limits { source_tokens, ..LIMITS }, "z".repeat(30).as_bytes());
            assert_eq!(found.is_ok(), fits, "{source_tokens}: {found:?}");
        }
    });
}

#[test]
fn any_bytes_are_answered() {
    each_translator(|model, translator| {
        let unk = model.blob().spec().header().unk_id;
        let mut check = |text: &[u8], unknown: bool| {
            let mut out = String::new();
            let stats = translator.translate_phrase(text, &mut (), &mut out).unwrap();
            assert!(stats.source_tokens > 0 && stats.target_tokens > 0, "{text:?}");
            assert_eq!(translator.source_ids().contains(&unk), unknown, "{text:?}");
        };
        check("где вокзал".as_bytes(), true);
        check("駅はどこですか".as_bytes(), true);
        check("\u{1F600}\u{200d}\u{fe0f}".as_bytes(), true);
        check(b"\x00\x01\x1b\x7f", true);
        check(b"the \xff cat", true);
        check(b"\xe6\x97", true);
        check(b"\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80", true);
        check(b"the cat", false);
    });
}

#[test]
fn an_output_too_small_is_full() {
    each_translator(|model, translator| {
        let whole = translate(model, LIMITS, b"the cat").unwrap().target;
        assert!(whole.len() > 2);
        let mut small = heapless::String::<2>::new();
        assert_eq!(phrase(translator, "the cat", &mut small), Err(Error::OutputFull));
        assert!(whole.starts_with(small.as_str()));
        let mut none = heapless::String::<0>::new();
        assert_eq!(phrase(translator, "the cat", &mut none), Err(Error::OutputFull));
    });
}

#[test]
fn max_tokens_cut_a_translation_short() {
    each_translator(|model, translator| {
        let whole = translate(model, LIMITS, b"the cat").unwrap().target_ids;
        assert!(whole.len() > 3);
        let mut out = heapless::String::<512>::new();
        for (asked, count) in [(0, 1), (1, 1), (2, 2), (1000, whole.len())] {
            translator.set_max_tokens(asked);
            let stats = phrase(translator, "the cat", &mut out).unwrap();
            assert_eq!(translator.target_ids(), &whole[..count]);
            assert_eq!(stats.target_tokens, count);
            let ended = whole[count - 1] == model.blob().spec().header().eos_id;
            assert_eq!(stats.truncated, !ended);
        }
    });
}

#[test]
fn an_arena_that_does_not_do_is_refused() {
    each(|model| {
        let need = model.arena_len(LIMITS).unwrap();
        let mut arena = AlignedBytes::zeroed(need + 16);
        for found in [0, 1, need / 2, need - 16, need - 1] {
            let error = model.translator(&mut arena[..found], LIMITS).unwrap_err();
            assert_eq!(error, Error::Arena { need, found });
        }
        for offset in [1, 4, 8, 15] {
            let error = model.translator(&mut arena[offset..][..need], LIMITS).unwrap_err();
            assert_eq!(error, Error::Arena { need, found: need }, "misaligned by {offset}");
        }
        assert!(model.translator(&mut arena[16..], LIMITS).is_ok());
        assert!(model.translator(&mut arena[..need], LIMITS).is_ok());
    });
}

#[test]
fn limits_of_zero_or_past_the_positions_are_refused() {
    each(|model| {
        let most = model.blob().spec().header().max_positions;
        let wrong = [
            Limits { source_tokens: 0, ..LIMITS },
            Limits { target_tokens: 0, ..LIMITS },
            Limits { text_bytes: 0, ..LIMITS },
            Limits { source_tokens: most + 1, ..LIMITS },
            Limits { target_tokens: most + 1, ..LIMITS },
            Limits { source_tokens: u16::MAX, target_tokens: u16::MAX, text_bytes: u16::MAX, beams: 1 },
        ];
        for limits in wrong {
            assert_eq!(model.arena_len(limits), Err(Error::Limits), "{limits:?}");
            assert_eq!(model.translator(&mut [], limits).unwrap_err(), Error::Limits, "{limits:?}");
        }
        let least = Limits { source_tokens: 1, target_tokens: 1, text_bytes: 1, beams: 1 };
        assert_eq!(translate(model, least, b"").unwrap().target, "");
        assert!(translate(model, least, b"the cat").is_err());
        let all = Limits { source_tokens: most, target_tokens: most, text_bytes: u16::MAX, beams: 1 };
        assert!(translate(model, all, b"the cat").is_ok());
    });
}

#[test]
fn steps_out_of_order_are_refused() {
    each_translator(|model, translator| {
        let header = *model.blob().spec().header();
        assert_eq!(translator.step(header.start_id, &mut ()), Err(Error::OutOfSteps), "nothing is encoded");
        assert_eq!(translator.encode(&mut ()), Err(Error::NothingToEncode), "nothing is tokenized");
        assert_eq!(translator.encode_ids(&[], &mut ()), Err(Error::NothingToEncode));

        translator.tokenize(b"the cat").unwrap();
        assert_eq!(translator.step(header.start_id, &mut ()), Err(Error::OutOfSteps), "only tokenized");
        translator.encode(&mut ()).unwrap();
        let mut id = header.start_id;
        for _ in 0..LIMITS.target_tokens {
            id = translator.step(id, &mut ()).unwrap();
            assert_ne!(id, header.pad_id, "pad is never produced");
        }
        assert_eq!(translator.step(id, &mut ()), Err(Error::OutOfSteps), "the caches are full");
        translator.encode(&mut ()).unwrap();
        translator.step(header.start_id, &mut ()).unwrap();
        translator.tokenize(b"a dog").unwrap();
        assert_eq!(translator.step(id, &mut ()), Err(Error::OutOfSteps), "the arena holds another phrase");
    });
}

#[test]
fn ids_out_of_range_are_refused() {
    each_translator(|model, translator| {
        let header = *model.blob().spec().header();
        let vocab = header.source_vocab as u16;
        for id in [vocab, vocab + 1, u16::MAX] {
            assert_eq!(translator.encode_ids(&[3, id, header.eos_id], &mut ()), Err(Error::InvalidId { id }));
            assert_eq!(translator.step(header.start_id, &mut ()), Err(Error::OutOfSteps), "nothing is encoded");
            translator.encode_ids(&[3, vocab - 1, header.eos_id], &mut ()).unwrap();
            assert_eq!(translator.step(id, &mut ()), Err(Error::InvalidId { id }));
            assert!(translator.step(header.start_id, &mut ()).is_ok(), "a refused step takes no position");
        }
        let limit = usize::from(LIMITS.source_tokens);
        assert!(translator.encode_ids(&vec![3; limit], &mut ()).is_ok());
        assert_eq!(translator.encode_ids(&vec![3; limit + 1], &mut ()), Err(Error::TooManyTokens { limit }));
    });
}
