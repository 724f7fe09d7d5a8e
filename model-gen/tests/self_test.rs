//! What a board's self-test says of a damaged model: which stage is the first to differ, or what else is wrong.
//!
//! Each blob is sound in form, checksums included, and keeps the golden vectors of the undamaged one.

mod common;

use common::{ENGINES, packed, random_checkpoint};
use latimer::blob::layout::{DECODER_ROLES, ENCODER_ROLES, NONE, Role, SectionKind, TensorEntry};
use latimer::blob::vocab::VocabHeader;
use latimer::blob::{Parts, emit, emit_len};
use latimer::kernel::Packing;
use latimer::observe::Stage;
use latimer::self_test::Vector;
use latimer::{EngineKind, Error, Limits, Model, SelfTestError};
use model_gen::aligned::AlignedBytes;
use model_gen::testing::RandomSpec;

const LIMITS: Limits = Limits { source_tokens: 48, target_tokens: 24, text_bytes: 200, beams: 1 };

/// A blob taken apart.
#[derive(Clone)]
struct Sections {
    engine: EngineKind,
    sections: Vec<(SectionKind, Vec<u8>)>,
}

impl Sections {
    fn of(blob: &[u8]) -> Self {
        let model = Model::from_bytes(blob).unwrap();
        let container = model.blob().container();
        let part = |kind| Some((kind, container.section(kind)?.to_vec()));
        Sections { engine: model.blob().engine(), sections: SectionKind::ALL.into_iter().filter_map(part).collect() }
    }

    fn get(&mut self, kind: SectionKind) -> &mut Vec<u8> {
        self.sections.iter_mut().find(|(other, _)| *other == kind).map(|(_, bytes)| bytes).unwrap()
    }

    /// Puts the blob together and runs its self-test.
    fn self_test(&self, limits: Limits) -> Result<usize, SelfTestError> {
        let blob = self.blob();
        let model = Model::from_bytes(&blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(limits).unwrap());
        model.translator(&mut arena, limits).unwrap().self_test()
    }

    fn blob(&self) -> AlignedBytes {
        let sections: Vec<(SectionKind, &[u8])> = self.sections.iter().map(|(kind, b)| (*kind, b.as_slice())).collect();
        let layout = latimer::kernel::layout::LAYOUT_TILES;
        let header = latimer::blob::layout::Header { engine: self.engine as u8, layout, ..Default::default() };
        let parts = Parts { header, sections: &sections };
        let mut blob = AlignedBytes::zeroed(emit_len(&parts));
        emit(&parts, &mut blob).unwrap();
        blob
    }

    /// The tensor of a role and block, by the table.
    fn entry(&mut self, role: Role, block: u16) -> TensorEntry {
        let table = self.get(SectionKind::Tensors);
        let mut entries =
            (0..table.len() / TensorEntry::SIZE).map(|i| TensorEntry::read(table, i * TensorEntry::SIZE).unwrap());
        entries.find(|entry| entry.role == role as u8 && entry.block == block).unwrap()
    }

    /// Makes one element of a tensor another number, far from the one it was.
    fn damage(&mut self, entry: TensorEntry, row: usize, col: usize) {
        let (engine, matrix) = (self.engine, entry.cols > 1);
        let index = if matrix { (row / 4 * entry.cols as usize + col) * 4 + row % 4 } else { row };
        let start = entry.data as usize;
        let weights = self.get(SectionKind::Weights);
        match (engine, matrix) {
            (EngineKind::Int8, true) => {
                let (at, _) = Packing::Int8.weight_at(entry.cols as usize, row, col).unwrap();
                let weight = &mut weights[start + at];
                *weight = if (*weight as i8) > 0 { -127i8 } else { 127 } as u8;
            }
            // Sign and exponent: 2 where it was below 1, else -2.
            (EngineKind::F16, true) => {
                let half = &mut weights[start + 2 * index..][..2];
                let two = if half[1] & 0x80 == 0 { 0xc000u16 } else { 0x4000 };
                half.copy_from_slice(&two.to_le_bytes());
            }
            // Gamma, the sign turned.
            (EngineKind::Int8, false) => {
                let gamma = &mut weights[start + 2 * index..][..2];
                let turned = i16::from_le_bytes([gamma[0], gamma[1]]).wrapping_neg();
                gamma.copy_from_slice(&turned.to_le_bytes());
            }
            (EngineKind::F16, false) => weights[start + 4 * index + 3] ^= 0x80,
        }
    }

    /// Source ids of the first vector.
    fn source_ids(&mut self) -> Vec<u16> {
        let (vector, _) = Vector::parse(self.get(SectionKind::SelfTest)).unwrap();
        vector.source_ids.chunks(2).map(|id| u16::from_le_bytes([id[0], id[1]])).collect()
    }
}

/// The packed odd model of each engine, self-test passed.
fn sound() -> Vec<Sections> {
    sound_model(&RandomSpec::default())
}

fn sound_model(spec: &RandomSpec) -> Vec<Sections> {
    let dir = random_checkpoint(spec);
    ENGINES
        .map(|engine| {
            let sections = Sections::of(&packed(dir.path(), engine));
            assert_eq!(sections.self_test(LIMITS), Ok(2), "{}", engine.name());
            sections
        })
        .into()
}

/// Says where a vector does not fail at `wanted`. Not always the first one: one weight of a query may move no bit of a
/// short phrase.
fn misnamed(damaged: &Sections, wanted: Stage, what: &str) -> Option<String> {
    match damaged.self_test(LIMITS) {
        Err(SelfTestError::Layer { stage, expected, found, .. }) if stage == wanted && expected != found => None,
        other => Some(format!("{} {what}: {other:?}, not {wanted:?}", damaged.engine.name())),
    }
}

#[test]
fn a_damaged_embedding_is_named() {
    for sound in sound() {
        let table = sound.clone().entry(Role::Embedding, u16::MAX);
        let first = usize::from(sound.clone().source_ids()[0]);
        let mut damaged = sound.clone();
        damaged.damage(table, first, 5);
        assert_eq!(misnamed(&damaged, Stage::Encoder(0), "the row of the first source id"), None);
        // Padding starts a translation and is never in a source.
        let mut damaged = sound;
        damaged.damage(table, 76, 5);
        assert_eq!(misnamed(&damaged, Stage::Decoder(0), "the row of the start id"), None);
    }
}

/// One element of every tensor of every block, also where the damage goes on to change the target ids.
#[test]
fn a_damaged_block_is_named() {
    let mut faults = vec![];
    for sound in sound() {
        for block in 0..5u16 {
            let (roles, stage) = match block.checked_sub(2) {
                None => (&ENCODER_ROLES[..], Stage::Encoder(block as u8 + 1)),
                Some(decoder) => (&DECODER_ROLES[..], Stage::Decoder(decoder as u8 + 1)),
            };
            for &role in roles {
                let mut damaged = sound.clone();
                let entry = damaged.entry(role, block);
                damaged.damage(entry, 7, 3);
                faults.extend(misnamed(&damaged, stage, &format!("{role:?} of block {block}")));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
}

/// The bias of padding, which is never produced: nothing but the logits can differ.
#[test]
fn damaged_logits_are_named() {
    for mut sound in sound() {
        let output = sound.entry(Role::Embedding, u16::MAX);
        assert_ne!(output.bias, NONE);
        sound.get(SectionKind::Weights)[output.bias as usize + 4 * 76 + 2] ^= 0x10;
        match sound.self_test(LIMITS) {
            Err(SelfTestError::Logits { case: 0, expected, found }) => assert_ne!(expected, found),
            other => panic!("{}: {other:?}", sound.engine.name()),
        }
    }
}

/// Scores of two pieces exchanged, where the vectors' phrases get other pieces by it; the vocabulary is large enough for
/// them to have a choice.
#[test]
fn other_source_ids_are_named() {
    let mut sound = sound_model(&RandomSpec { vocab: 400, ..RandomSpec::default() }).remove(0);
    let phrases = ["Hello!", "Where is the train station, please?"];
    let tokenize = |sections: &Sections| -> Vec<Vec<u16>> {
        let blob = sections.blob();
        let model = Model::from_bytes(&blob).unwrap();
        let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        phrases.iter().map(|phrase| translator.tokenize(phrase.as_bytes()).unwrap().to_vec()).collect()
    };
    let wanted = tokenize(&sound);
    let vocab = sound.get(SectionKind::SourceVocab);
    let header = VocabHeader::read(vocab, 0).unwrap();
    let entries = header.entries as usize;
    let scores = VocabHeader::SIZE + 8 * header.wide_scores as usize + 4 * (entries + 1);
    let mut tried = 0;
    for (a, b) in (0..entries).flat_map(|a| (0..a).map(move |b| (a, b))).step_by(59) {
        let mut swapped = sound.clone();
        let vocab = swapped.get(SectionKind::SourceVocab);
        (0..4).for_each(|i| vocab.swap(scores + 4 * a + i, scores + 4 * b + i));
        let found = tokenize(&swapped);
        let Some(case) = (0..2).find(|&case| found[case] != wanted[case]) else { continue };
        assert_eq!(swapped.self_test(LIMITS), Err(SelfTestError::SourceIds { case }), "{a} and {b}");
        tried += 1;
    }
    println!("{tried} pairs change the pieces");
    assert!(tried > 5, "{tried}");
}

#[test]
fn other_target_ids_are_named() {
    for mut sound in sound() {
        let section = sound.get(SectionKind::SelfTest);
        let (vector, _) = Vector::parse(section).unwrap();
        let last_id = vector.emitted_len() - vector.phrase.len() - 2;
        section[last_id] ^= 1;
        assert_eq!(sound.self_test(LIMITS), Err(SelfTestError::TargetIds { case: 0 }));
    }
}

/// Cut anywhere: inside a vector it contradicts itself, between two it is shorter, and empty it is absent.
#[test]
fn a_cut_section_is_named() {
    for sound in sound() {
        let whole = sound.clone().get(SectionKind::SelfTest).clone();
        let first = Vector::parse(&whole).unwrap().0.emitted_len();
        for len in 0..whole.len() {
            let mut cut = sound.clone();
            cut.get(SectionKind::SelfTest).truncate(len);
            let wanted = match len {
                0 => Err(SelfTestError::Absent),
                len if len == first => Ok(1),
                _ => Err(SelfTestError::Malformed),
            };
            assert_eq!(cut.self_test(LIMITS), wanted, "cut to {len}");
        }
        let mut without = sound;
        without.sections.retain(|(kind, _)| *kind != SectionKind::SelfTest);
        assert_eq!(without.self_test(LIMITS), Err(SelfTestError::Absent));
    }
}

#[test]
fn limits_below_the_vectors_are_named() {
    for sound in sound() {
        let run = |error| Err(SelfTestError::Run { case: 0, error });
        let source = Limits { source_tokens: 2, ..LIMITS };
        assert_eq!(sound.self_test(source), run(Error::TooManyTokens { limit: 2 }));
        let text = Limits { text_bytes: 4, ..LIMITS };
        assert_eq!(sound.self_test(text), run(Error::TextTooLong { limit: 4 }));
        assert_eq!(sound.self_test(Limits { target_tokens: 1, ..LIMITS }), run(Error::Limits));
    }
}

/// The vectors are the packed language's, and the one chosen since is chosen still.
#[test]
fn a_chosen_language_does_not_matter() {
    let languages = &["spa", "fra"];
    let dir = random_checkpoint(&RandomSpec { vocab: 80, languages, ..RandomSpec::default() });
    let options = model_gen::pack::Options { target: Some("spa".into()), ..model_gen::pack::Options::new(ENGINES[0]) };
    let blob = AlignedBytes::copy_of(&model_gen::pack::pack(dir.path(), &options).unwrap().bytes);
    let mut model = Model::from_bytes(&blob).unwrap();
    assert_eq!(model.set_target(Some("deu")), Err(Error::UnknownLanguage));
    let mut arena = AlignedBytes::zeroed(model.arena_len(LIMITS).unwrap());
    for chosen in [Some("spa"), Some("fra"), None] {
        let mut translator = model.translator(&mut arena, LIMITS).unwrap();
        translator.set_target(chosen).unwrap();
        let ids = translator.tokenize(b"a").unwrap().to_vec();
        assert_eq!(translator.self_test(), Ok(2), "{chosen:?}");
        assert_eq!(translator.tokenize(b"a").unwrap(), ids, "{chosen:?}");
        assert_eq!(ids.len(), if chosen.is_some() { 4 } else { 3 });
    }
}
