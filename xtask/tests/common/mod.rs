//! What tests that boot boards share.
#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::process::Command;

use app::latimer::report::Report;
use app::latimer::{AlignmentCrc, Limits, LogitsCrc, Model, TextOptions};
use model_gen::aligned::AlignedBytes;
use xtask::machines::Machine;

/// Whether QEMU is to be had; says where it is not.
pub fn has_qemu(machine: &Machine) -> bool {
    let found = Command::new(machine.qemu).arg("--version").output().is_ok();
    if !found {
        println!("skipped: no {} on this machine; `cargo xtask ci` installs it where it can", machine.qemu);
    }
    found
}

/// Bytes of arena that the firmware of every board has for the model in `blob`.
pub fn arena_len(blob: &Path) -> usize {
    let blob = AlignedBytes::read(blob).unwrap();
    Model::from_bytes(&blob).unwrap().arena_len(app::LIMITS).unwrap()
}

/// What the host answers in JSON.
pub fn host(blob: &Path, phrases: &[String], beams: u16) -> Vec<String> {
    let limits = Limits { beams, ..app::LIMITS };
    let blob = AlignedBytes::read(blob).unwrap();
    let model = Model::from_bytes(&blob).unwrap();
    let mut arena = AlignedBytes::zeroed(model.arena_len(limits).unwrap());
    let mut translator = model.translator(&mut arena, limits).unwrap();
    let mut lines = Vec::new();
    for phrase in phrases {
        let (mut crcs, mut target) = ((LogitsCrc::default(), AlignmentCrc::default()), String::new());
        let outcome =
            translator.translate_text(phrase.as_bytes(), TextOptions::DEFAULT, &mut crcs, &mut target).unwrap();
        let asked = outcome.parts > 0;
        let report = Report {
            source_ids: if asked { translator.source_ids() } else { &[] },
            target_ids: if asked { translator.target_ids() } else { &[] },
            logits_crc: crcs.0.value(),
            alignment_crc: crcs.1.value(),
            ..Report::of(phrase, &target, &outcome)
        };
        let mut out = vec![0; 1 << 16];
        let len = report.write(&mut out).unwrap();
        lines.push(String::from_utf8(out[..len].to_vec()).unwrap());
    }
    lines
}
