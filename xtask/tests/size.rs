//! The promise that the runtime is small, held by the firmware that has nothing else.

use latimer::{Limits, Model};
use model_gen::aligned::AlignedBytes;
use xtask::machines::Engine;
use xtask::shipped::shipped_blob;
use xtask::size::{RUNTIME_BOUND, SAID, smallest};

/// Booted, it says what the host does, and its code and constants stay within what is promised.
#[test]
fn the_smallest_firmware_translates_within_its_bound() {
    let blob = AlignedBytes::read(&shipped_blob(Engine::Int8).unwrap()).unwrap();
    let model = Model::from_bytes(&blob).unwrap();
    let mut arena = AlignedBytes::zeroed(model.arena_len(Limits::DEFAULT).unwrap());
    let mut translator = model.translator(&mut arena, Limits::DEFAULT).unwrap();
    let mut said = String::from("latimer says ");
    translator.translate_phrase(b"Where is the train station?", &mut (), &mut said).unwrap();
    assert_eq!(said, SAID);
    let bytes = smallest().unwrap();
    assert!(bytes <= RUNTIME_BOUND, "{bytes} bytes of code and constants, more than {RUNTIME_BOUND}");
}
