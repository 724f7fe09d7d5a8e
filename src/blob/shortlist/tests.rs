//! Shortlists as they are written, read, and refused.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

const EOS: u16 = 9;

fn spec(source_vocab: usize, target_vocab: u32) -> SpecHeader {
    SpecHeader { source_vocab: source_vocab as u32, target_vocab, eos_id: EOS, ..SpecHeader::default() }
}

fn emitted(target_vocab: u32, always: &[u8], lists: &[Vec<u16>]) -> Option<Vec<u8>> {
    let parts = ShortlistParts { target_vocab, always, lists };
    let mut bytes = std::vec![0; parts.emitted_len()];
    assert_eq!(parts.emit(&mut bytes[..parts.emitted_len() - 1]), None, "a byte too short");
    (parts.emit(&mut bytes)? == bytes.len()).then_some(bytes)
}

/// A section of 20 ids over 41 rows: eleven blocks, of which 2 has the end of sentence.
fn section() -> (Vec<u8>, SpecHeader) {
    let mut lists = std::vec![Vec::new(); 20];
    (lists[0], lists[17], lists[19]) = (std::vec![0, 10], std::vec![3], std::vec![3, 4, 5]);
    (emitted(41, &[4, 1], &lists).unwrap(), spec(20, 41))
}

#[test]
fn a_phrase_reads_the_blocks_of_its_ids_and_no_other_phrase_s() {
    let (bytes, spec) = section();
    assert_eq!(bytes.len(), 16 + 2 + 2 * 4 + 20 + 6);
    let shortlist = Shortlist::parse(&bytes, &spec).unwrap();
    assert_eq!(shortlist.blocks(19).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(shortlist.blocks(20).count(), 0);
    let mut set = [0xff; 2];
    for (ids, wanted) in [(&[][..], [4, 1]), (&[0, 17], [0b1101, 0b101]), (&[19, 1], [0b11_1100, 1]), (&[1], [4, 1])] {
        shortlist.fill(ids, &mut set);
        assert_eq!(set, wanted, "{ids:?}");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let (bytes, spec) = section();
    let (offsets, lengths, lists) = (18, 26, 46);
    let refused = |index| Err(BlobError::Malformed { section: 9, index });
    for (at, byte, index) in [
        (0, 8, 0),
        (2, 1, 0),
        (4, 21, 0),
        (8, 10, 0),
        (12, 7, 0),
        (16, 3, 0),           // no end of sentence
        (17, 1 | 1 << 3, 0),  // block 11 of 11
        (offsets, 1, 1),      // the first list elsewhere
        (offsets + 4, 1, 17), // the second group's
        (lengths, 1, 17),     // a list shorter than the next offset says
        (lengths + 19, 4, 20),
        (lengths + 19, 2, 0),  // a byte that is in no list
        (lists + 1, 10, 1),    // block 11
        (lists + 5, 0x80, 20), // half a number
    ] {
        let mut bad = bytes.clone();
        bad[at] = byte;
        assert_eq!(Shortlist::parse(&bad, &spec), refused(index), "byte {at}");
    }
    for len in 0..bytes.len() {
        assert_eq!(Shortlist::parse(&bytes[..len], &spec), refused(0), "cut at {len}");
    }
    assert_eq!(Shortlist::parse(&bytes, &SpecHeader { source_vocab: 21, ..spec }), refused(0));
    assert_eq!(Shortlist::parse(&bytes, &SpecHeader { target_vocab: 45, ..spec }), refused(0));
    assert_eq!(emitted(41, &[4, 1], &[std::vec![3, 3]]), None, "does not ascend");
    let long = (0..256).collect::<Vec<u16>>();
    assert_eq!(emitted(2000, &[4; 63], &[long]), None, "a list too long");
}

proptest! {
    #[test]
    fn reads_what_it_writes(
        target_vocab in 1u32..=1 << 16,
        picks in proptest::collection::vec(proptest::collection::btree_set(any::<u16>(), 0..40), 1..40),
    ) {
        let (blocks, spec) = (block_count(target_vocab), spec(picks.len(), target_vocab.max(10)));
        let blocks = blocks.max(3) as u16;
        let lists: Vec<Vec<u16>> = picks.iter().map(|picks| {
            let mut list: Vec<u16> = picks.iter().map(|pick| pick % blocks).collect();
            list.sort_unstable();
            list.dedup();
            list
        }).collect();
        let mut always = std::vec![0; set_bytes(spec.target_vocab)];
        always[0] = 4;
        let bytes = emitted(spec.target_vocab, &always, &lists).unwrap();
        let shortlist = Shortlist::parse(&bytes, &spec).unwrap();
        for (id, list) in lists.iter().enumerate() {
            let found: Vec<u16> = shortlist.blocks(id as u16).map(|block| block as u16).collect();
            prop_assert_eq!(&found, list);
        }
    }

    /// Damage anywhere is refused, or leaves blocks inside the matrix.
    #[test]
    fn any_bytes_are_refused_or_safe(damage in proptest::collection::vec((0usize..60, any::<u8>()), 0..4), cut in 0usize..60) {
        let (mut bytes, spec) = section();
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        for bytes in [&bytes[..], bytes.get(..cut).unwrap_or_default()] {
            if let Ok(shortlist) = Shortlist::parse(bytes, &spec) {
                let mut set = [0; 2];
                shortlist.fill(&(0..25).collect::<Vec<u16>>(), &mut set);
                prop_assert!(has(&set, 2) && set[1] < 8);
            }
        }
    }
}
