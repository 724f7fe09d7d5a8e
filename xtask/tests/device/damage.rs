//! Blobs damaged in ways that no checksum shows, so that only what they compute does.

use std::ops::Range;

use app::latimer::blob::container::Container;
use app::latimer::blob::layout::{Header, Role, SectionKind, TensorEntry};
use app::latimer::blob::vocab::VocabHeader;
use app::latimer::blob::{Parts, emit, emit_len};
use app::latimer::{Limits, Model};
use model_gen::aligned::AlignedBytes;

/// The polynomial of CRC-32 as it lies in memory: bytes that it is added to keep their checksum.
const POLYNOMIAL: [u8; 5] = [0x41, 0x06, 0x71, 0xdb, 0x01];

/// Where a section lies in a blob.
fn section(blob: &[u8], kind: SectionKind) -> Range<usize> {
    let container = Container::open(blob).unwrap();
    let entry = (0..).map_while(|i| container.entry(i)).find(|entry| entry.kind == kind as u32).unwrap();
    entry.offset as usize..(entry.offset + entry.len) as usize
}

/// Adds the polynomial at every eighth byte.
fn add(blob: &mut [u8], range: Range<usize>) {
    for place in blob[range].chunks_exact_mut(8) {
        place.iter_mut().zip(POLYNOMIAL).for_each(|(byte, more)| *byte ^= more);
    }
}

/// Where a matrix lies. `block` counts layers of the encoder, then of the decoder; 65535 is none.
fn matrix(blob: &[u8], role: Role, block: u16) -> Range<usize> {
    let (table, weights) = (section(blob, SectionKind::Tensors), section(blob, SectionKind::Weights));
    let mut entries = blob[table].chunks_exact(TensorEntry::SIZE).map(|entry| TensorEntry::read(entry, 0).unwrap());
    let entry = entries.find(|entry| entry.role == role as u8 && entry.block == block).unwrap();
    let start = weights.start + entry.data as usize;
    start..start + (entry.rows * entry.cols) as usize
}

/// The blob with other weights in one matrix.
pub fn weights(blob: &[u8], role: Role, block: u16) -> Vec<u8> {
    let mut damaged = blob.to_vec();
    add(&mut damaged, matrix(blob, role, block));
    damaged
}

/// The blob with a fault in its vocabulary by which `phrase` gets other pieces.
pub fn tokenizer(blob: &[u8], phrase: &str) -> Vec<u8> {
    let ids = |blob: &[u8]| {
        let blob = AlignedBytes::copy_of(blob);
        let model = Model::from_bytes(&blob).ok()?;
        let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT).ok()?);
        let mut translator = model.translator(&mut arena, Limits::DEFAULT).ok()?;
        Some(translator.tokenize(phrase.as_bytes()).ok()?.to_vec())
    };
    let (sound, vocab) = (ids(blob).unwrap(), section(blob, SectionKind::SourceVocab));
    let header = VocabHeader::read(blob, vocab.start).unwrap();
    let offsets = vocab.start + VocabHeader::SIZE + 8 * header.wide_scores as usize;
    let scores = offsets + 4 * (header.entries as usize + 1);
    let texts = vocab.end - header.text_len as usize;
    let offset = |entry: usize| u32::from_le_bytes(blob[offsets + 4 * entry..][..4].try_into().unwrap()) as usize;
    // Pieces that the phrase could have, were they likelier.
    let entries = (0..header.entries as usize).filter(|&entry| {
        let piece = std::str::from_utf8(&blob[texts + offset(entry)..texts + offset(entry + 1)]).unwrap();
        let piece = piece.trim_start_matches('▁');
        !piece.is_empty() && phrase.contains(piece)
    });
    let damaged = entries.map(|entry| {
        let mut damaged = blob.to_vec();
        add(&mut damaged, scores + 4 * entry..scores + 4 * entry + 8);
        damaged
    });
    let mut found = damaged.filter(|damaged| ids(damaged).is_some_and(|ids| ids != sound));
    found.next().expect("some score changes the pieces")
}

/// The blob with other weights in one matrix and all checksums made anew: as sound in form, but another.
pub fn repaired(blob: &[u8], role: Role, block: u16) -> Vec<u8> {
    let mut damaged = blob.to_vec();
    damaged[matrix(blob, role, block)].iter_mut().for_each(|weight| *weight ^= 0x15);
    let sections: Vec<(SectionKind, &[u8])> = {
        let container = Container::open(&damaged).unwrap();
        let entries = (0..).map_while(|i| container.entry(i));
        let kind = |number| SectionKind::ALL.into_iter().find(|&kind| kind as u32 == number).unwrap();
        entries.map(|e| (kind(e.kind), &damaged[e.offset as usize..(e.offset + e.len) as usize])).collect()
    };
    let parts = Parts { header: Header::read(blob, 0).unwrap(), sections: &sections };
    let mut out = vec![0; emit_len(&parts)];
    emit(&parts, &mut out).unwrap();
    out
}
