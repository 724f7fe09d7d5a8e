//! Blobs that are found in flash by their headers.

use latimer::blob::find;
use latimer::{Arena, Limits, Model, Translator, arena_len, include_blob};

static BLOB: &[u8] = include_blob!("../src/example.blob");

#[repr(C, align(16))]
struct Flash([u8; 3 * 4608 + 512]);

/// Erased flash with a blob at each of these offsets.
fn flash(offsets: &[usize]) -> Box<Flash> {
    let mut flash = Box::new(Flash([0xFF; _]));
    for &offset in offsets {
        flash.0[offset..][..BLOB.len()].copy_from_slice(BLOB);
    }
    flash
}

#[test]
fn each_blob_is_found_behind_the_last_whatever_lies_between() {
    let second = BLOB.len().next_multiple_of(16) + 48;
    let mut region = flash(&[32, 32 + second]);
    assert_eq!(find(&region.0).collect::<Vec<_>>(), [BLOB, BLOB]);
    assert_eq!(find(&region.0[1..]).count(), 2, "from an address that is no multiple of 16 on");
    assert_eq!(find(&region.0[..32 + second + BLOB.len() - 1]).count(), 1, "cut short");
    region.0[32 + 9] ^= 1;
    assert_eq!(find(&region.0).count(), 1, "a header that is damaged is none");
}

#[test]
fn what_is_not_at_a_multiple_of_16_is_none() {
    assert_eq!(find(&flash(&[8]).0).count(), 0);
    assert_eq!(find(&flash(&[]).0).count(), 0);
    assert_eq!(find(&[]).count(), 0);
    assert_eq!(find(&BLOB[..31]).count(), 0);
}

/// Damage past the header is for the parser to find, which is asked about the blob that is there, not about the next.
#[test]
fn a_damaged_blob_is_found_and_refused() {
    let mut region = flash(&[0]);
    region.0[200] ^= 1;
    let found = find(&region.0).next().unwrap();
    assert!(Model::from_bytes(found).is_err());
}

#[test]
fn an_arena_serves_one_translator_after_the_other() {
    const LEN: usize = arena_len(BLOB, Limits::DEFAULT);
    let model = Model::from_bytes(BLOB).unwrap();
    let mut arena = Arena::<LEN>::new();
    let mut bytes = arena.as_mut();
    let mut texts = Vec::new();
    for _ in 0..3 {
        let mut place = Some(model.translator(bytes, Limits::DEFAULT).unwrap());
        let translator = place.as_mut().unwrap();
        let mut text = heapless::String::<512>::new();
        // Short, for miri's sake.
        translator.translate("No", &mut text).unwrap();
        texts.push(text);
        bytes = Translator::take_arena(&mut place).unwrap();
        assert!(place.is_none() && Translator::take_arena(&mut place).is_none());
        assert_eq!(bytes.len(), LEN);
        bytes.fill(0xA5);
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
}
