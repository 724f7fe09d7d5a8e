//! What is learned beside the weights: shortlist, guide and glossary, and what becomes of each of their bytes changed.

use super::{Change, blobs, place, refused, repair, run_changes};
use latimer::blob::container::Container;
use latimer::blob::glossary::{Glossary, GlossaryHeader, GlossaryKind};
use latimer::blob::guide::{GuideHeader, GuideParts, Knot, StandInKind};
use latimer::blob::layout::SectionKind;
use latimer::blob::shortlist::{ShortlistParts, block_count, set_bytes};
use latimer::kernel::ROWS;
use latimer::{BlobError, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::pack::with_section;

const KINDS: [SectionKind; 3] = [SectionKind::Shortlist, SectionKind::Guide, SectionKind::Glossary];

/// The blob with all of them.
pub fn all(blob: &[u8]) -> AlignedBytes {
    let sections = [shortlist(blob), guide(), glossary()];
    KINDS.iter().zip(sections).fold(AlignedBytes::copy_of(blob), |blob, (kind, section)| {
        AlignedBytes::copy_of(&with_section(&blob, *kind, &section).unwrap())
    })
}

/// A list of row blocks for every third source id.
fn shortlist(blob: &[u8]) -> Vec<u8> {
    let spec = *Model::from_bytes(blob).unwrap().blob().spec().header();
    let blocks = block_count(spec.target_vocab);
    let list = |id: u32| {
        (0..blocks as u16).filter(|block| id.is_multiple_of(3) && (u32::from(*block) + id).is_multiple_of(4)).collect()
    };
    let lists: Vec<Vec<u16>> = (0..spec.source_vocab).map(list).collect();
    let mut always = vec![0; set_bytes(spec.target_vocab)];
    for block in [usize::from(spec.eos_id) / ROWS, blocks - 1] {
        always[block / 8] |= 1 << (block % 8);
    }
    let parts = ShortlistParts { target_vocab: spec.target_vocab, always: &always, lists: &lists };
    let mut section = vec![0; parts.emitted_len()];
    parts.emit(&mut section).unwrap();
    section
}

/// Stand-ins of both kinds, confidence in phrases and tokens.
fn guide() -> Vec<u8> {
    let header = GuideHeader {
        aligned_block: 1,
        aligned_head: 0,
        length_per_token: 400,
        length_more: 3,
        ..GuideHeader::default()
    };
    let knot = |nats, confidence| Knot { nats, confidence };
    let parts = GuideParts {
        header,
        phrase: &[knot(9, 30_000), knot(400, 9_000)],
        token: &[knot(1, 32_768)],
        stand_ins: &[(StandInKind::Name, "Tom", "Tom"), (StandInKind::Number, "ten", "diez\u{e9}")],
    };
    let mut section = vec![0; parts.emitted_len()];
    parts.emit(&mut section).unwrap();
    section
}

/// A phrase and terms, of which one is in the other.
fn glossary() -> Vec<u8> {
    let entries = [
        ("end", GlossaryKind::Term, "fin"),
        ("good day", GlossaryKind::Phrase, "\u{a1}buen d\u{ed}a!"),
        ("the end", GlossaryKind::Term, "el fin"),
    ];
    let mut section = vec![0; Glossary::emitted_len(&entries)];
    Glossary::emit(&entries, &mut section).unwrap();
    section
}

/// Where those lie that a blob has.
pub fn places(blob: &[u8]) -> Vec<usize> {
    let there = |kind: &&SectionKind| Container::open(blob).unwrap().section(**kind).is_some();
    KINDS.iter().filter(there).flat_map(|kind| place(blob, *kind)).collect()
}

#[test]
fn every_bit_of_them_flipped() {
    for (_, blob) in blobs().into_iter().skip(2).take(2) {
        let places = places(&blob);
        assert!(places.len() > 200, "{} bytes", places.len());
        let flips = |at: usize| (0..8).map(move |bit| 1u8 << bit).chain([0xff]).map(move |flip| (at, flip));
        let changes: Vec<Change> =
            places.into_iter().flat_map(flips).map(|(at, flip)| Change { at, to: blob[at] ^ flip }).collect();
        run_changes(&blob, &changes);
    }
}

#[test]
fn what_is_reserved_is_zero() {
    let (_, blob) = blobs().remove(2);
    let guide_stand_ins = GuideHeader::SIZE + 3 * Knot::SIZE;
    for (kind, at, index) in [
        (SectionKind::Shortlist, 2, 0),
        (SectionKind::Guide, 10, 0),
        (SectionKind::Guide, guide_stand_ins + 3, 2),
        (SectionKind::Glossary, GlossaryHeader::SIZE - 4, 0),
    ] {
        let mut mutant = blob.clone();
        mutant[place(&blob, kind).start + at] = 1;
        repair(&mut mutant);
        assert_eq!(refused(&mutant), BlobError::Malformed { section: kind as u32, index }, "{kind:?} {at}");
    }
}
