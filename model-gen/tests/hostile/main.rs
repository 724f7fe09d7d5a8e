//! Blobs that are not what they say: any bytes give a typed error, or a model that answers in bounded time.
//!
//! Most mutations repair the checksums afterwards, so that they reach the checks behind them and the engines behind
//! those. Debug assertions and overflow checks are on in the test profile: an overflow counts as a panic.

#[path = "../common/mod.rs"]
mod common;
mod judge;
mod learned;
mod pairs;

use common::{ENGINES, packed, random_checkpoint, tiny};
use judge::{Fate, run, run_all};
use latimer::blob::CRC32;
use latimer::blob::container::Container;
use latimer::blob::layout::{Header, SectionEntry, SectionKind, SpecHeader, TensorEntry};
use latimer::{BlobError, EngineKind, Error, Model};
use model_gen::aligned::AlignedBytes;
use model_gen::testing::{RandomSpec, SplitMix64};

/// Both engines with one vocabulary and one matrix, then with every section and tensor a blob may have: vocabularies
/// and matrices of each side, two blocks a side, a character map, a user-defined piece, shortlist, guide and glossary. Last, in one
/// engine, the other tokenizer: BPE with unused pieces, bytes and language codes.
fn blobs() -> Vec<(EngineKind, AlignedBytes)> {
    let rich = RandomSpec {
        target_vocab: Some(43),
        tied_output: false,
        rich_tokenizer: true,
        vocab: 57,
        encoder_layers: 2,
        decoder_layers: 2,
        ..tiny()
    };
    let bpe = RandomSpec { bpe: true, languages: &["spa", "fra"], moved_ids: true, vocab: 320, d_model: 3, ..tiny() };
    let mut blobs: Vec<_> = [tiny(), rich]
        .iter()
        .flat_map(|spec| {
            let dir = random_checkpoint(spec);
            ENGINES.map(|engine| (engine, packed(dir.path(), engine)))
        })
        .collect();
    blobs.iter_mut().skip(2).for_each(|(_, blob)| *blob = learned::all(blob));
    blobs.push((EngineKind::Int8, packed(random_checkpoint(&bpe).path(), EngineKind::Int8)));
    blobs
}

/// Where a section lies.
fn place(blob: &[u8], kind: SectionKind) -> std::ops::Range<usize> {
    let container = Container::open(blob).unwrap();
    let entry = (0..).map_while(|i| container.entry(i)).find(|e| e.kind == kind as u32).unwrap();
    entry.offset as usize..(entry.offset + entry.len) as usize
}

/// Makes every checksum right again that has bytes to sum.
fn repair(blob: &mut [u8]) {
    let Some(mut header) = Header::read(blob, 0) else { return };
    let count = usize::from(header.section_count);
    for at in (0..count).map(|i| Header::SIZE + i * SectionEntry::SIZE) {
        let Some(mut entry) = SectionEntry::read(blob, at) else { break };
        let start = entry.offset as usize;
        if let Some(section) = start.checked_add(entry.len as usize).and_then(|end| blob.get(start..end)) {
            entry.crc = CRC32.checksum(section);
            entry.write(blob, at).unwrap();
        }
    }
    if let Some(table) = blob.get(Header::SIZE..Header::SIZE + count * SectionEntry::SIZE) {
        header.table_crc = CRC32.checksum(table);
    }
    header.write(blob, 0).unwrap();
    header.header_crc = CRC32.checksum(&blob[..Header::SIZE - 4]);
    header.write(blob, 0).unwrap();
}

#[test]
fn sound_blobs_answer() {
    for (_, blob) in blobs() {
        assert_eq!(run(&blob), Fate::Answered);
        let mut repaired = blob.clone();
        repair(&mut repaired);
        assert_eq!(*repaired, *blob, "repairing a sound blob changes nothing");
    }
}

#[test]
fn cut_at_every_length() {
    for (_, blob) in blobs() {
        for len in 0..blob.len() {
            let need = if len < Header::SIZE { Header::SIZE } else { blob.len() };
            let wanted = Error::Blob(BlobError::Truncated { need, found: len });
            assert_eq!(Model::from_bytes(&blob[..len]).unwrap_err(), wanted, "cut to {len}");
        }
        // The same with a header that knows of the cut.
        let lengths: Vec<usize> = (Header::SIZE..blob.len()).collect();
        let cut = |len: &usize| {
            let mut cut = AlignedBytes::copy_of(&blob[..*len]);
            let header = Header { total_len: *len as u32, ..Header::read(&cut, 0).unwrap() };
            header.write(&mut cut, 0).unwrap();
            repair(&mut cut);
            assert!(Model::from_bytes(&cut).is_err(), "cut to {len}");
            cut
        };
        run_all(&lengths, cut, |len| format!("cut to {len}"));
    }
}

#[test]
fn any_byte_flipped_is_noticed() {
    for (_, mut blob) in blobs() {
        for at in 0..blob.len() {
            for flip in [0x01, 0x80, 0xff] {
                blob[at] ^= flip;
                assert!(Model::from_bytes(&blob).is_err(), "byte {at} ^ {flip:#x}");
                blob[at] ^= flip;
            }
        }
    }
}

/// One byte changed and the checksums made right.
#[derive(Clone, Copy)]
struct Change {
    at: usize,
    to: u8,
}

fn run_changes(blob: &AlignedBytes, changes: &[Change]) {
    let apply = |change: &Change| {
        let mut mutant = blob.clone();
        mutant[change.at] = change.to;
        repair(&mut mutant);
        mutant
    };
    run_all(changes, apply, |change| format!("byte {} = {:#04x}", change.at, change.to));
}

#[test]
fn every_byte_of_the_structure_changed() {
    for (_, blob) in blobs() {
        let table = Container::open(&blob).unwrap().header().section_count as usize * SectionEntry::SIZE;
        let vocab = place(&blob, SectionKind::SourceVocab);
        let structure = (0..Header::SIZE + table)
            .chain(place(&blob, SectionKind::Spec))
            .chain(place(&blob, SectionKind::Tensors))
            .chain(place(&blob, SectionKind::Tokenizer).take(32))
            .chain(vocab.clone().take(16))
            .chain(place(&blob, SectionKind::SelfTest))
            .chain(learned::places(&blob));
        let changes: Vec<Change> = structure
            .flat_map(|at| {
                let old = blob[at];
                let values = [0, 1, 0x7f, 0x80, 0xff, old ^ 1, old ^ 0x10, old ^ 0x80, old.wrapping_add(1), old >> 1];
                values.map(|to| Change { at, to })
            })
            .filter(|change| change.to != blob[change.at])
            .collect();
        run_changes(&blob, &changes);
    }
}

#[test]
fn every_byte_of_the_vocabulary_changed() {
    // The tables are the same in both engines.
    for (_, blob) in blobs().into_iter().step_by(2) {
        let separate = Container::open(&blob).unwrap().section(SectionKind::TargetVocab).is_some();
        let target = if separate { place(&blob, SectionKind::TargetVocab) } else { 0..0 };
        let changes: Vec<Change> = place(&blob, SectionKind::SourceVocab)
            .chain(target)
            .chain(place(&blob, SectionKind::Tokenizer))
            .flat_map(|at| [0, 0x80, blob[at] ^ 1, blob[at] ^ 0x20].map(|to| Change { at, to }))
            .filter(|change| change.to != blob[change.at])
            .collect();
        run_changes(&blob, &changes);
    }
}

/// A few changes at once, anywhere, of any width, repaired; decided by the seed alone.
fn mutant(blob: &AlignedBytes, seed: u64) -> AlignedBytes {
    let mut random = SplitMix64::new(seed);
    let mut mutant = blob.clone();
    let container = Container::open(blob).unwrap();
    let sections = usize::from(container.header().section_count);
    for _ in 0..1 + random.below(4) {
        // Sections with the same chance each, header and table as one more.
        let section = random.below(sections + 1);
        let (start, len) = match container.entry(section) {
            Some(entry) => (entry.offset as usize, entry.len as usize),
            None => (0, Header::SIZE + sections * SectionEntry::SIZE),
        };
        // The magic and the version are tested by themselves.
        let at = (start + random.below(len.max(1))).max(10).min(blob.len() - 1);
        let width = [1, 1, 2, 4][random.below(4)];
        let at = if random.below(2) == 0 { at & !(width - 1) } else { at };
        let extremes = [0u64, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
        let value = match random.below(3) {
            0 => random.next_u64(),
            1 => extremes[random.below(extremes.len())],
            _ => u64::from(mutant[at]) ^ 1 << random.below(8),
        };
        for (byte, new) in mutant.iter_mut().skip(at.max(10)).take(width).zip(value.to_le_bytes()) {
            *byte = new;
        }
    }
    repair(&mut mutant);
    mutant
}

#[test]
fn thousands_of_repaired_mutants() {
    for (engine, blob) in blobs() {
        let seeds: Vec<u64> = (0..20_000).collect();
        run_all(&seeds, |seed| mutant(&blob, *seed), |seed| format!("{} seed {seed}", engine.name()));
    }
}

#[test]
fn random_bytes() {
    let mut random = SplitMix64::new(17);
    let noise: Vec<AlignedBytes> = (0..2000)
        .map(|i| {
            let bytes: Vec<u8> = (0..random.below(400)).map(|_| random.next_u64() as u8).collect();
            let mut bytes = AlignedBytes::copy_of(&bytes);
            // Half of them look like a blob at first sight.
            if let Some(mut header) = Header::read(&bytes, 0).filter(|_| i % 2 == 0) {
                let sound = Header { total_len: bytes.len() as u32, ..Header::default() };
                let count = 1 + random.below(8) as u16;
                header =
                    Header { total_len: sound.total_len, section_count: count, engine: header.engine & 1, ..header };
                header = Header { magic: u64::from_le_bytes(*b"LATIMER\n"), version: 1, layout: 0, ..header };
                header.write(&mut bytes, 0).unwrap();
                repair(&mut bytes);
            }
            bytes
        })
        .collect();
    run_all(&noise, AlignedBytes::clone, |bytes| format!("{bytes:02x?}"));
}

fn refused(blob: &[u8]) -> BlobError {
    match Model::from_bytes(blob) {
        Err(Error::Blob(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_fault_of_the_container_has_its_error() {
    for (engine, blob) in blobs() {
        assert_eq!(refused(&[]), BlobError::Truncated { need: Header::SIZE, found: 0 });

        for offset in [1, 2, 4, 8] {
            let mut moved = AlignedBytes::zeroed(blob.len() + offset);
            moved[offset..].copy_from_slice(&blob);
            assert_eq!(refused(&moved[offset..]), BlobError::Misaligned);
        }

        let mut longer = AlignedBytes::zeroed(blob.len() + 33);
        longer.fill(0xa5);
        longer[..blob.len()].copy_from_slice(&blob);
        let model = Model::from_bytes(&longer).unwrap();
        assert_eq!(model.blob().len(), blob.len(), "what follows a blob is not looked at");

        for version in [0, 2, 65535] {
            let mut newer = blob.clone();
            Header { version, ..Header::read(&blob, 0).unwrap() }.write(&mut newer, 0).unwrap();
            repair(&mut newer);
            assert_eq!(refused(&newer), BlobError::Version { found: version });
        }

        for found in [2, 255] {
            let refused_with = |header: Header| {
                let mut other = blob.clone();
                header.write(&mut other, 0).unwrap();
                repair(&mut other);
                refused(&other)
            };
            let header = Header::read(&blob, 0).unwrap();
            assert_eq!(refused_with(Header { engine: found, ..header }), BlobError::Engine { found });
            assert_eq!(refused_with(Header { layout: found, ..header }), BlobError::Layout { found });
        }

        let mut other = blob.clone();
        other[0] ^= 1;
        repair(&mut other);
        assert_eq!(refused(&other), BlobError::NotABlob);

        for kind in [SectionKind::Weights, SectionKind::SourceVocab, SectionKind::Meta] {
            let mut damaged = blob.clone();
            let at = place(&blob, kind).start + 3;
            damaged[at] ^= 1;
            assert_eq!(refused(&damaged), BlobError::Checksum { section: kind as u32 });
        }

        // The engine's code is not the tensors'.
        let mut wrong = blob.clone();
        wrong[10] ^= 1;
        repair(&mut wrong);
        assert!(matches!(refused(&wrong), BlobError::Unsupported { .. }), "{}", engine.name());
    }
}

/// What a blob must not lack, found under a kind that is not known yet.
#[test]
fn a_missing_section_is_named() {
    let (_, blob) = blobs().remove(0);
    for kind in [SectionKind::Spec, SectionKind::Tensors, SectionKind::Weights, SectionKind::Tokenizer] {
        let mut mutant = blob.clone();
        let at = (0..)
            .map(|i| Header::SIZE + i * SectionEntry::SIZE)
            .find(|at| SectionEntry::read(&blob, *at).unwrap().kind == kind as u32)
            .unwrap();
        let entry = SectionEntry { kind: SectionKind::TargetVocab as u32, ..SectionEntry::read(&blob, at).unwrap() };
        entry.write(&mut mutant, at).unwrap();
        repair(&mut mutant);
        assert_eq!(refused(&mutant), BlobError::MissingSection { section: kind as u32 });
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused() {
    let (_, blob) = blobs().remove(1);
    let (table, weights) = (place(&blob, SectionKind::Tensors), place(&blob, SectionKind::Weights));
    let entries = table.step_by(TensorEntry::SIZE).map(|at| (at, TensorEntry::read(&blob, at).unwrap()));
    let mut tried = 0;
    for (at, entry) in entries {
        let mut check = |mutant: &mut AlignedBytes| {
            repair(mutant);
            assert!(matches!(refused(mutant), BlobError::Malformed { section: 2, .. }), "{entry:?}");
            tried += 1;
        };
        let halves = [0x7c00u16, 0xfc00, 0x7e00, 0xffff];
        let floats = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        if entry.cols > 1 {
            for half in halves {
                let mut mutant = blob.clone();
                let last = weights.start + entry.data as usize + 2 * (entry.cols as usize - 1) * 4;
                mutant[last..last + 2].copy_from_slice(&half.to_le_bytes());
                check(&mut mutant);
            }
        }
        if entry.bias != u32::MAX {
            for float in floats {
                let mut mutant = blob.clone();
                let last = weights.start + entry.bias as usize + 4 * (entry.rows as usize - 1);
                mutant[last..last + 4].copy_from_slice(&float.to_le_bytes());
                check(&mut mutant);
            }
        }
        if entry.role == 0 {
            for float in floats {
                let mut mutant = blob.clone();
                let entry = TensorEntry { embed_scale: float.to_bits(), ..entry };
                entry.write(&mut mutant, at).unwrap();
                check(&mut mutant);
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Numbers at the ends of what the checks let through: extreme formats, weights and scales must saturate, not wrap.
#[test]
fn extreme_numbers_answer() {
    for (engine, blob) in blobs() {
        let table = place(&blob, SectionKind::Tensors);
        let weights = place(&blob, SectionKind::Weights);
        let extreme = |seed: &u64| {
            let mut random = SplitMix64::new(*seed);
            let mut mutant = blob.clone();
            let mut betas = vec![];
            for at in table.clone().step_by(TensorEntry::SIZE) {
                let mut entry = TensorEntry::read(&mutant, at).unwrap();
                let frac = |random: &mut SplitMix64| [-16, -1, 0, 15, 29, 30][random.below(6)];
                match (engine, entry.dtype) {
                    (EngineKind::Int8, 0) => {
                        entry.scale_shift = [-128, -40, 0, 20, 127][random.below(5)];
                        (entry.out_frac, entry.embed_frac) = (frac(&mut random), frac(&mut random));
                        entry.embed_shift = [-128, -30, 0, 30, 127][random.below(5)];
                        entry.embed_scale = [0, 1, 0x7fff_ffff][random.below(3)];
                        entry.in_bits = [8, 12, 16][random.below(3)];
                    }
                    (EngineKind::Int8, 2) => {
                        (entry.out_frac, entry.scale_shift) = (frac(&mut random), [0, 7, 15][random.below(3)]);
                        let start = weights.start + entry.bias as usize;
                        betas.push(start..start + 4 * entry.rows as usize);
                    }
                    _ if entry.role == 0 => {
                        entry.embed_scale = [f32::MAX, f32::MIN, 0.0, 1e-45][random.below(4)].to_bits();
                    }
                    _ => {}
                }
                entry.write(&mut mutant, at).unwrap();
            }
            let words = match engine {
                EngineKind::Int8 => [0x7f7f, 0x8080, 0x7f80, 0xffff],
                // The largest and the smallest finite numbers of both widths.
                EngineKind::F16 => [0x7bffu16, 0xfbff, 0x8001, 0x0001],
            };
            for word in mutant[weights.clone()].as_chunks_mut::<2>().0 {
                if random.below(3) == 0 {
                    *word = words[random.below(4)].to_le_bytes();
                }
            }
            // The check refuses a beta of 256 (Q16) or more.
            for beta in betas.into_iter().flat_map(|betas| betas.step_by(4)) {
                let most = (1 << 24) - 1;
                let bytes = <&mut [u8; 4]>::try_from(&mut mutant[beta..beta + 4]).unwrap();
                *bytes = i32::from_le_bytes(*bytes).clamp(-most, most).to_le_bytes();
            }
            let mut spec = SpecHeader::read(&mutant, place(&blob, SectionKind::Spec).start).unwrap();
            spec.norm_eps_q32 = [1, 42_950, u32::MAX][random.below(3)];
            spec.math = random.below(2) as u8;
            spec.write(&mut mutant, place(&blob, SectionKind::Spec).start).unwrap();
            repair(&mut mutant);
            mutant
        };
        let seeds: Vec<u64> = (0..600).collect();
        let counts = run_all(&seeds, extreme, |seed| format!("{} seed {seed}", engine.name()));
        assert!(counts[&Fate::Answered] > 500, "{counts:?}");
    }
}
