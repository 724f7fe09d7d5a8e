//! The runtime alone: a blob of a few hundred bytes made with the crate's own `emit`, small enough for miri.
//!
//! What the numbers mean is tested where trained and random checkpoints are at hand, in `model-gen`; here it is
//! memory, alignment, borrowing and the order of calls that are under test.

use latimer::blob::layout::{
    Block, DECODER_ROLES, ENCODER_ROLES, Header, NONE, Role, SectionKind, SpecHeader, TensorEntry,
};
use latimer::blob::shortlist::ShortlistParts;
use latimer::blob::tokenizer::{Algorithm, TokenizerTables, source_flag, target_flag};
use latimer::blob::vocab::{VocabEntry, VocabParts};
use latimer::blob::{Parts, Spec, emit, emit_len, tensor::dtype};
use latimer::kernel::layout::LAYOUT_TILES;
use latimer::kernel::{Packing, padded_len};
use latimer::text::vocab::{SourceKind, TargetKind};
use latimer::{BlobError, EngineKind, Error, Limits, LogitsCrc, Model, SelfTestError, Stats, Translator};

const D_MODEL: usize = 5;
const FFN: usize = 3;
/// Pieces in bytewise order, with their ids; the last is padding.
const PIECES: [(&str, u16); 6] = [("</s>", 0), ("<unk>", 1), ("a", 2), ("b", 3), ("▁a", 4), ("<pad>", 5)];
const LIMITS: Limits = Limits { source_tokens: 10, target_tokens: 6, text_bytes: 40, beams: 1 };

#[repr(align(16))]
struct Aligned<const N: usize>([u8; N]);

/// Appends elements at a multiple of four and returns their offset.
fn push(weights: &mut Vec<u8>, bytes: &[u8]) -> u32 {
    weights.resize(weights.len().next_multiple_of(4), 0);
    let at = weights.len() as u32;
    weights.extend_from_slice(bytes);
    at
}

/// A tensor of made-up but lively numbers.
fn tensor(engine: EngineKind, role: Role, block: u16, rows: usize, cols: usize, weights: &mut Vec<u8>) -> TensorEntry {
    let mut state = role as u32 * 977 + block as u32 * 131 + 7;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut entry = TensorEntry {
        role: role as u8,
        block,
        rows: rows as u32,
        cols: cols as u32,
        scales: NONE,
        bias: NONE,
        ..TensorEntry::default()
    };
    match (role.is_linear(), engine) {
        (true, EngineKind::Int8) => {
            let codes: Vec<i8> = (0..rows * cols).map(|_| next() as i8).collect();
            let mut elements = vec![0; Packing::Int8.matrix_len(rows, cols).unwrap()];
            Packing::Int8.store((rows, cols), |row, col| codes[row * cols + col], |_, _| 0, &mut elements);
            let scales: Vec<u8> = (0..rows).flat_map(|_| (20_000 + next() as u16).to_le_bytes()).collect();
            let bias: Vec<u8> = (0..rows).flat_map(|_| ((next() as i32 - 128) * 64).to_le_bytes()).collect();
            (entry.dtype, entry.in_bits, entry.scale_shift, entry.out_frac) = (dtype::I8, 8, 28, 16);
            (entry.embed_scale, entry.embed_shift, entry.embed_frac) = (1 << 30, 51, 11);
            entry.data = push(weights, &elements);
            entry.scales = push(weights, &scales);
            entry.bias = push(weights, &bias);
        }
        (true, EngineKind::F16) => {
            // Sign, exponent 2^-2 or 2^-1, some mantissa.
            let half = |b: u8| ((b as u16 & 0x80) << 8 | 0x3400 | (b as u16 & 0x7f) << 3).to_le_bytes();
            let len = padded_len(rows, cols).unwrap();
            let elements: Vec<u8> = (0..len).flat_map(|_| half(next())).collect();
            (entry.dtype, entry.embed_scale) = (dtype::F16, 1.5f32.to_bits());
            entry.data = push(weights, &elements);
            if role == Role::Embedding {
                // The end of sentence must not be the likeliest at once.
                let bias: Vec<u8> = (0..rows).flat_map(|id| if id == 0 { -9f32 } else { 0.25 }.to_le_bytes()).collect();
                entry.bias = push(weights, &bias);
            }
        }
        (false, _) if role == Role::Positions => {
            entry.dtype = dtype::STEPS;
            let steps: Vec<u8> = (0..rows).flat_map(|i| (683_565_276u32 >> i).to_le_bytes()).collect();
            entry.data = push(weights, &steps);
        }
        (false, EngineKind::Int8) => {
            let gamma: Vec<u8> = (0..rows).flat_map(|_| (8192i16 + next() as i16 * 32).to_le_bytes()).collect();
            let beta: Vec<u8> = (0..rows).flat_map(|_| (next() as i32 * 100).to_le_bytes()).collect();
            (entry.dtype, entry.in_bits, entry.scale_shift, entry.out_frac) = (dtype::NORM, 16, 14, 11);
            entry.data = push(weights, &gamma);
            entry.bias = push(weights, &beta);
        }
        (false, EngineKind::F16) => {
            let gamma: Vec<u8> = (0..rows).flat_map(|_| (0.5 + next() as f32 / 256.0).to_le_bytes()).collect();
            let beta: Vec<u8> = (0..rows).flat_map(|_| (next() as f32 / 256.0 - 0.5).to_le_bytes()).collect();
            (entry.dtype, entry.in_bits) = (dtype::NORM, 32);
            entry.data = push(weights, &gamma);
            entry.bias = push(weights, &beta);
        }
    }
    entry
}

fn tokenizer_sections() -> (Vec<u8>, Vec<u8>) {
    let mut entries: Vec<VocabEntry> = PIECES
        .iter()
        .map(|&(text, id)| VocabEntry {
            text,
            id,
            score: if id == 4 { -1.0f32 } else { -2.5 }.to_bits(),
            source: if (2..5).contains(&id) { SourceKind::Normal } else { SourceKind::None },
            target: match id {
                1 => TargetKind::Unknown,
                0 | 5 => TargetKind::Hidden,
                _ => TargetKind::Normal,
            },
        })
        .collect();
    entries.sort_by_key(|entry| entry.text.as_bytes());
    let entry_of_id: Vec<u16> =
        (0..PIECES.len() as u16).map(|id| entries.iter().position(|entry| entry.id == id).unwrap() as u16).collect();
    let vocab = VocabParts { entries: &entries, entry_of_id: &entry_of_id, wide_scores: &[] };
    let mut vocab_bytes = vec![0; vocab.emitted_len()];
    vocab.emit(&mut vocab_bytes).unwrap();
    let tables = TokenizerTables {
        algorithm: Algorithm::Unigram,
        source_flags: source_flag::REMOVE_EXTRA_WHITESPACES
            | source_flag::ADD_DUMMY_PREFIX
            | source_flag::ESCAPE_WHITESPACES,
        target_flags: target_flag::DROP_LEADING | target_flag::DROP_ALL_LEADING,
        unk_id: 1,
        language_id: 0,
        unk_score: (-12.5f32).to_bits(),
        charsmap: &[],
        strings: &[],
        unk_surface: " ⁇ ",
    };
    let mut tokenizer = vec![0; tables.emitted_len()];
    tables.emit(&mut tokenizer).unwrap();
    (tokenizer, vocab_bytes)
}

/// One encoder and two decoder blocks.
fn blob(engine: EngineKind) -> Vec<u8> {
    blob_with(engine, &[])
}

/// The same with sections of its own.
fn blob_with(engine: EngineKind, more: &[(SectionKind, &[u8])]) -> Vec<u8> {
    let mut weights = Vec::new();
    let vocab = PIECES.len();
    let none = u16::MAX;
    let mut entries = vec![
        tensor(engine, Role::Embedding, none, vocab, D_MODEL, &mut weights),
        tensor(engine, Role::Positions, none, D_MODEL.div_ceil(2), 1, &mut weights),
    ];
    for block in 0..3u16 {
        let roles: &[Role] = if block == 0 { &ENCODER_ROLES } else { &DECODER_ROLES };
        for &role in roles {
            let (rows, cols) = match role {
                Role::SelfNorm | Role::CrossNorm | Role::FinalNorm => (D_MODEL, 1),
                Role::Fc1 => (FFN, D_MODEL),
                Role::Fc2 => (D_MODEL, FFN),
                _ => (D_MODEL, D_MODEL),
            };
            entries.push(tensor(engine, role, block, rows, cols, &mut weights));
        }
    }
    let header = SpecHeader {
        d_model: D_MODEL as u16,
        max_positions: 16,
        encoder_blocks: 1,
        decoder_blocks: 2,
        source_vocab: vocab as u32,
        target_vocab: vocab as u32,
        eos_id: 0,
        unk_id: 1,
        pad_id: 5,
        start_id: 5,
        norm_eps_q32: 42_950,
        positions: 1,
        tensor_count: entries.len() as u32,
        ..SpecHeader::default()
    };
    let block = |kind| Block { kind, heads: 1, ffn: FFN as u32, activation: kind, ..Block::default() };
    let mut spec = vec![0; SpecHeader::SIZE + 3 * Block::SIZE];
    Spec::emit(&header, &[block(0), block(1), block(1)], &mut spec).unwrap();
    let mut table = vec![0; entries.len() * TensorEntry::SIZE];
    for (i, entry) in entries.iter().enumerate() {
        entry.write(&mut table, i * TensorEntry::SIZE).unwrap();
    }
    let (tokenizer, source_vocab) = tokenizer_sections();
    let sections = [
        (SectionKind::Spec, &spec[..]),
        (SectionKind::Tensors, &table),
        (SectionKind::Weights, &weights),
        (SectionKind::Tokenizer, &tokenizer),
        (SectionKind::SourceVocab, &source_vocab),
        (SectionKind::Meta, b"name=tiny\nlicence=MIT OR Apache-2.0\n"),
    ];
    let sections = &[&sections, more].concat();
    let parts = Parts { header: Header { engine: engine as u8, layout: LAYOUT_TILES, ..Header::default() }, sections };
    let mut bytes = vec![0; emit_len(&parts)];
    assert_eq!(emit(&parts, &mut bytes), Some(bytes.len()));
    bytes
}

/// Bytes at the alignment a blob needs.
fn aligned(bytes: &[u8]) -> Box<Aligned<8192>> {
    let mut aligned = Box::new(Aligned([0; 8192]));
    aligned.0[..bytes.len()].copy_from_slice(bytes);
    aligned
}

const ENGINES: [EngineKind; 2] = [EngineKind::Int8, EngineKind::F16];

/// A phrase with what it must give: source ids, target ids, text, checksum of the logits.
type Pinned = (&'static str, &'static [u16], &'static [u16], &'static str, u32);

/// What the blobs above say, the same on every target and in every release of this format. None of them ends by itself.
const INT8: [Pinned; 4] = [
    ("ab b", &[4, 3, 1, 3, 0], &[4, 4, 4, 1, 1, 1], "a a a ⁇  ⁇  ⁇ ", 768_528_837),
    (" a  aab", &[4, 4, 2, 3, 0], &[4, 4, 4, 1, 1, 1], "a a a ⁇  ⁇  ⁇ ", 3_673_124_037),
    ("", &[], &[], "", 0),
    ("x", &[1, 0], &[4, 4, 4, 4, 4, 4], "a a a a a a", 3_709_917_090),
];
const F16: [Pinned; 4] = [
    ("ab b", &[4, 3, 1, 3, 0], &[4, 4, 4, 4, 4, 4], "a a a a a a", 1_901_913_378),
    (" a  aab", &[4, 4, 2, 3, 0], &[3, 1, 1, 1, 4, 4], "b ⁇  ⁇  ⁇  a a", 2_048_816_006),
    ("", &[], &[], "", 0),
    ("x", &[1, 0], &[4, 4, 2, 2, 1, 4], "a aaa ⁇  a", 2_416_979_483),
];

fn pinned() -> [(EngineKind, [Pinned; 4]); 2] {
    [(EngineKind::Int8, INT8), (EngineKind::F16, F16)]
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
fn translates_as_ever_and_repeats_itself_in_a_dirty_arena() {
    for (engine, pinned) in pinned() {
        let bytes = aligned(&blob(engine));
        let model = Model::from_bytes(&bytes.0).unwrap();
        assert_eq!((model.meta("name"), model.blob().engine()), (Some("tiny"), engine));
        for fill in [0u8, 0xa5] {
            let mut arena = Box::new(Aligned([fill; 8192]));
            let mut translator = model.translator(&mut arena.0, LIMITS).unwrap();
            translator.set_unknown_allowed(true);
            for (text, source, target, wanted, logits_crc) in pinned {
                let (mut out, mut crc) = (heapless::String::<64>::new(), LogitsCrc::new());
                let stats = translator.translate_phrase(text.as_bytes(), &mut crc, &mut out).unwrap();
                let found = (translator.source_ids(), translator.target_ids(), out.as_str(), crc.value());
                assert_eq!(found, (source, target, wanted, logits_crc), "{engine:?} {text:?} over {fill:#x}");
                let counts = (stats.source_tokens, stats.target_tokens, stats.truncated);
                assert_eq!(counts, (source.len(), target.len(), !target.is_empty()), "{engine:?} {text:?}");
            }
        }
    }
}

#[test]
fn steps_one_by_one_equal_the_whole() {
    for (engine, pinned) in pinned() {
        let bytes = aligned(&blob(engine));
        let model = Model::from_bytes(&bytes.0).unwrap();
        let mut arena = Box::new(Aligned([0; 8192]));
        let mut translator = model.translator(&mut arena.0, LIMITS).unwrap();
        translator.set_unknown_allowed(true);
        assert_eq!(translator.step(5, &mut ()), Err(Error::OutOfSteps));
        let (text, source, target, _, logits_crc) = pinned[1];
        assert_eq!(translator.tokenize(text.as_bytes()), Ok(source));
        assert_eq!(translator.encode(&mut ()), Ok(()));
        let (mut id, mut crc) = (5, LogitsCrc::new());
        assert_eq!(translator.step(6, &mut ()), Err(Error::InvalidId { id: 6 }));
        for &want in target {
            id = translator.step(id, &mut crc).unwrap();
            assert_eq!(id, want);
        }
        assert_eq!(crc.value(), logits_crc, "{engine:?}");
        assert_eq!(translator.step(id, &mut ()), Err(Error::OutOfSteps));
        assert_eq!(translator.encode_ids(&[6], &mut ()), Err(Error::InvalidId { id: 6 }));
        assert_eq!(translator.encode_ids(&[], &mut ()), Err(Error::NothingToEncode));
        assert_eq!(translator.encode_ids(&[4; 11], &mut ()), Err(Error::TooManyTokens { limit: 10 }));
        assert_eq!(translator.self_test(), Err(SelfTestError::Absent));
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes miri many minutes, and no path that others do not")]
fn the_unknown_piece_is_chosen_by_permission_alone() {
    for (engine, pinned) in pinned() {
        let bytes = aligned(&blob(engine));
        let model = Model::from_bytes(&bytes.0).unwrap();
        let unk = model.blob().spec().header().unk_id;
        let mut arena = Box::new(Aligned([0; 8192]));
        let mut translator = model.translator(&mut arena.0, LIMITS).unwrap();
        let mut seen = [0, 0];
        for allowed in [false, true] {
            translator.set_unknown_allowed(allowed);
            for (text, ..) in pinned {
                let mut out = heapless::String::<64>::new();
                translator.translate_phrase(text.as_bytes(), &mut (), &mut out).unwrap();
                seen[usize::from(allowed)] += usize::from(translator.target_ids().contains(&unk));
                if !translator.source_ids().is_empty() {
                    translator.search(&mut ()).unwrap();
                    seen[usize::from(allowed)] += usize::from(translator.target_ids().contains(&unk));
                }
            }
        }
        assert!(seen[0] == 0 && seen[1] > 0, "{engine:?} {seen:?}");
    }
}

#[test]
fn limits_and_arenas_are_checked() {
    let bytes = aligned(&blob(EngineKind::Int8));
    let model = Model::from_bytes(&bytes.0).unwrap();
    let need = model.arena_len(LIMITS).unwrap();
    assert_eq!(need, latimer::arena_len(&bytes.0, LIMITS));
    let mut arena = Box::new(Aligned([0; 8192]));
    let short = model.translator(&mut arena.0[..need - 1], LIMITS).unwrap_err();
    assert_eq!(short, Error::Arena { need, found: need - 1 });
    let crooked = model.translator(&mut arena.0[1..], LIMITS).unwrap_err();
    assert_eq!(crooked, Error::Arena { need, found: 8191 });
    model.translator(&mut arena.0[..need], LIMITS).unwrap();
    for (source_tokens, target_tokens, text_bytes) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (17, 1, 1), (1, 17, 1)] {
        let limits = Limits { source_tokens, target_tokens, text_bytes, beams: 1 };
        assert_eq!(model.arena_len(limits), Err(Error::Limits), "{limits:?}");
    }
}

#[test]
fn phrases_past_a_limit_are_errors_and_the_next_one_works() {
    let bytes = aligned(&blob(EngineKind::Int8));
    let model = Model::from_bytes(&bytes.0).unwrap();
    let mut arena = Box::new(Aligned([0; 8192]));
    let mut translator = model.translator(&mut arena.0, LIMITS).unwrap();
    let mut out = heapless::String::<64>::new();
    let long = "a".repeat(41);
    assert_eq!(phrase(&mut translator, &long, &mut out), Err(Error::TextTooLong { limit: 40 }));
    assert_eq!(phrase(&mut translator, &"ab".repeat(6), &mut out), Err(Error::TooManyTokens { limit: 10 }));
    let mut none = heapless::String::<0>::new();
    translator.set_max_tokens(1);
    let whole = phrase(&mut translator, "ab b", &mut out).unwrap();
    assert_eq!((whole.source_tokens, whole.target_tokens, whole.truncated, out.as_str()), (5, 1, true, "a"));
    assert_eq!(phrase(&mut translator, "ab b", &mut none), Err(Error::OutputFull));
}

#[test]
fn damage_is_an_error_or_harmless() {
    for engine in ENGINES {
        let good = blob(engine);
        let step = if cfg!(miri) { 997 } else { 1 };
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            let bytes = aligned(&bad);
            assert!(Model::from_bytes(&bytes.0[..bad.len()]).is_err(), "{engine:?}: byte {at}");
            let bytes = aligned(&good[..at]);
            assert!(Model::from_bytes(&bytes.0[..at]).is_err(), "{engine:?}: cut at {at}");
        }
        let mut shifted = vec![0; good.len() + 32];
        let offset = 16 - shifted.as_ptr() as usize % 16 + 1;
        shifted[offset..offset + good.len()].copy_from_slice(&good);
        let crooked = Model::from_bytes(&shifted[offset..offset + good.len()]).unwrap_err();
        assert_eq!(crooked, Error::Blob(BlobError::Misaligned));
    }
}

/// A shortlist for the vocabulary, which is two row blocks: of the second, ids 4 and 5, for some source ids.
fn shortlist(always: u8, second_for: &[u16]) -> Vec<u8> {
    let lists: Vec<&[u16]> = (0..6).map(|id| if second_for.contains(&id) { &[1][..] } else { &[] }).collect();
    let parts = ShortlistParts { target_vocab: 6, always: &[always], lists: &lists };
    let mut bytes = vec![0; parts.emitted_len()];
    assert_eq!(parts.emit(&mut bytes), Some(bytes.len()));
    bytes
}

/// Ids and checksum of a phrase in a translator.
fn run(translator: &mut latimer::Translator, text: &str) -> (Vec<u16>, u32) {
    let (mut out, mut crc) = (heapless::String::<64>::new(), LogitsCrc::new());
    translator.translate_phrase(text.as_bytes(), &mut crc, &mut out).unwrap();
    (translator.target_ids().to_vec(), crc.value())
}

#[test]
#[cfg_attr(miri, ignore = "takes miri many minutes, and no path that others do not")]
fn a_shortlist_of_everything_changes_no_bit() {
    for (engine, beams) in ENGINES.into_iter().flat_map(|engine| [(engine, 1), (engine, 3)]) {
        let section = shortlist(3, &[]);
        let bytes = aligned(&blob_with(engine, &[(SectionKind::Shortlist, &section)]));
        let (model, limits) = (Model::from_bytes(&bytes.0).unwrap(), Limits { beams, ..LIMITS });
        assert_eq!(model.arena_len(limits), Ok(latimer::arena_len(&bytes.0, limits)));
        let mut arena = Box::new(Aligned([0xa5; 8192]));
        let mut translator = model.translator(&mut arena.0, limits).unwrap();
        for text in ["ab b", " a  aab", "x"] {
            translator.set_shortlist(false).unwrap();
            let wanted = run(&mut translator, text);
            assert_eq!(translator.output_blocks(), (2, 2));
            translator.set_shortlist(true).unwrap();
            assert_eq!(run(&mut translator, text), wanted, "{engine:?} {beams} {text:?}");
            assert_eq!(translator.output_blocks(), (2, 2));
        }
        let high_water = translator.arena_high_water();
        assert!(high_water <= model.arena_len(limits).unwrap(), "{high_water}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes miri many minutes, and no path that others do not")]
fn a_shortlist_is_the_phrase_s_own() {
    for (engine, beams) in ENGINES.into_iter().flat_map(|engine| [(engine, 1), (engine, 3)]) {
        // The second block for phrases with "▁a".
        let section = shortlist(1, &[4]);
        let bytes = aligned(&blob_with(engine, &[(SectionKind::Shortlist, &section)]));
        let (model, limits) = (Model::from_bytes(&bytes.0).unwrap(), Limits { beams, ..LIMITS });
        let (mut arena, mut other) = (Box::new(Aligned([0; 8192])), Box::new(Aligned([0xff; 8192])));
        let mut translator = model.translator(&mut arena.0, limits).unwrap();
        translator.set_shortlist(false).unwrap();
        let whole = run(&mut translator, "x");
        assert!(whole.0.contains(&4), "{whole:?}");
        translator.set_shortlist(true).unwrap();
        let narrow = run(&mut translator, "x");
        assert!(narrow.0.iter().all(|id| *id < 4) && narrow.1 != whole.1, "{narrow:?}");
        assert_eq!(translator.output_blocks(), (1, 2));
        for text in ["ab b", "x", " a  aab", "", "x"] {
            let mut alone = model.translator(&mut other.0, limits).unwrap();
            alone.set_shortlist(true).unwrap();
            assert_eq!(run(&mut translator, text), run(&mut alone, text), "{engine:?} {beams} {text:?}");
        }
        translator.set_shortlist(false).unwrap();
        assert_eq!(run(&mut translator, "x"), whole);
        // It holds from the next step on, for a phrase that is encoded too.
        translator.tokenize(b"x").unwrap();
        translator.encode(&mut ()).unwrap();
        translator.set_shortlist(true).unwrap();
        assert_eq!(translator.output_blocks(), (1, 2));
        assert!(translator.step(5, &mut ()).unwrap() < 4);
    }
}

#[test]
fn a_blob_without_a_shortlist_says_so_and_one_that_does_not_fit_is_refused() {
    let bytes = aligned(&blob(EngineKind::Int8));
    let model = Model::from_bytes(&bytes.0).unwrap();
    let mut arena = Box::new(Aligned([0; 8192]));
    let mut translator = model.translator(&mut arena.0, LIMITS).unwrap();
    assert!(!translator.has_shortlist());
    assert_eq!(translator.set_shortlist(true), Err(Error::NoShortlist));
    assert_eq!(translator.set_shortlist(false), Ok(()));
    let plan = model.arena_plan(LIMITS).unwrap();
    assert_eq!(plan.shortlist, 0);
    // Without the end of sentence, with a third block, cut short.
    let good = shortlist(1, &[4]);
    for section in [&shortlist(2, &[]), &shortlist(5, &[]), &good[..good.len() - 1], &[]] {
        let bytes = aligned(&blob_with(EngineKind::Int8, &[(SectionKind::Shortlist, section)]));
        let error = Model::from_bytes(&bytes.0).unwrap_err();
        assert_eq!(error, Error::Blob(BlobError::Malformed { section: 9, index: 0 }));
    }
}
