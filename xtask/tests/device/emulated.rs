//! The same in QEMU: bits that a processor and its kernels made.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use app::latimer::blob::layout::Role;
use xtask::firmware::Firmware;
use xtask::machines::{self, Engine};
use xtask::qemu;

use super::{SHIPPED, cli, damage, found, verify};

/// QEMU, ended when dropped.
struct Emulated {
    child: Child,
    port: String,
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Boots a firmware of the Cortex-M4 whose serial line is a TCP port; `None` with a line where QEMU is not to be had.
fn boot(blob: &Path, extra: &'static [&'static str]) -> Option<Emulated> {
    let machine = machines::find("qemu-cortex-m4").unwrap();
    if Command::new(machine.qemu).arg("--version").output().is_err() {
        println!("skipped: no {} on this machine; `cargo xtask ci` installs it where it can", machine.qemu);
        return None;
    }
    let elf = Firmware { extra, ..Firmware::new(machine, Some(blob), Engine::Int8).unwrap() }.build().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = qemu::listening(machine, &elf, port).spawn().unwrap();
    let emulated = Emulated { child, port: format!("tcp:127.0.0.1:{port}") };
    // Until it listens.
    let up = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(25));
        !matches!(cli(&emulated.port, &["info"], ""), Err(error) if error.contains("cannot be opened"))
    });
    assert!(up, "QEMU does not listen");
    Some(emulated)
}

#[test]
fn an_emulated_board_translates_tells_and_is_verified() {
    let Some(board) = boot(&SHIPPED.0, &[]) else { return };
    let translated = cli(&board.port, &["translate", "I am hungry."], "").unwrap();
    assert_eq!(translated, (true, "Tengo hambre.\n".into()));
    let (_, stats) = cli(&board.port, &["stats"], "").unwrap();
    assert!(stats.contains("instructions ") && stats.contains("source_tokens            5\n"), "{stats}");
    assert_eq!(cli(&board.port, &["selftest"], "").unwrap(), (true, "self-test passed: 2 vectors\n".into()));
    assert_eq!(verify(&board.port, &[]).unwrap(), (true, "6 of 6 phrases equal\n".into()));
}

#[test]
fn a_damaged_layer_in_flash_is_named() {
    let blob = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device-damaged.blob");
    fs::write(&blob, damage::weights(&SHIPPED.1, Role::SelfOut, 1)).unwrap();
    let Some(board) = boot(&blob, &[]) else { return };
    found(&board.port, "encoder layer 2");
}

#[test]
fn a_broken_kernel_is_named_by_the_layer_that_uses_it() {
    let Some(board) = boot(&SHIPPED.0, &["broken-kernel"]) else { return };
    found(&board.port, "decoder layer 1");
}
