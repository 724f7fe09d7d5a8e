//! `cargo xtask test` and `cargo xtask ci`: everything that must pass.

use std::process::Command;

use anyhow::{Result, bail};

use crate::firmware::{self, Firmware, Models};
use crate::hardware::HARDWARE;
use crate::machines::{Engine, KERNEL_MACHINES, MACHINES};
use crate::steps::Steps;
use crate::{elf_check, paths, setup, shell, size};

/// Installs what is missing, then tests.
pub fn ci() -> Result<()> {
    let mut steps = Steps::default();
    steps.step("install Rust targets and QEMU", setup::all);
    all(&mut steps);
    steps.finish()
}

/// Runs every check.
pub fn test() -> Result<()> {
    let mut steps = Steps::default();
    all(&mut steps);
    steps.finish()
}

fn all(steps: &mut Steps) {
    steps.command("format", cargo("").args(["fmt", "--all", "--check"]));
    steps.command("format of the boards", cargo("boards").args(["fmt", "--all", "--check"]));
    steps.command(
        "lints on the host",
        deny_warnings(cargo("").args(["clippy", "--workspace", "--all-targets", "--locked"])),
    );
    for workspace in ["esp", "pico2"] {
        let name = format!("format of the {workspace} boards");
        steps.command(&name, cargo(&format!("boards/{workspace}")).args(["fmt", "--all", "--check"]));
    }
    lints_on_targets(steps);
    steps.command("tests", cargo("").args(["test", "--workspace", "--locked"]));
    if !paths::root().join("../shared").exists() {
        // The tests themselves say so too, but cargo shows what a passing test prints only when asked.
        steps.skip("comparisons with golden outputs and test sets", "no folder `shared` beside this checkout");
    }
    steps.command("tests of the board application", board_app("test").arg("--quiet"));
    steps.command("lints of the board application", deny_warnings(board_app("clippy").arg("--all-targets")));
    steps.command("tests of what boards of silicon share", board_hardware("test").arg("--quiet"));
    steps
        .command("lints of what they share, on the host", deny_warnings(board_hardware("clippy").arg("--all-targets")));
    steps.command("tests of the ESP boards", esp_boards("test").arg("--quiet"));
    steps.command("lints of the ESP boards on the host", deny_warnings(esp_boards("clippy").arg("--all-targets")));
    let mut doc = cargo("");
    doc.env("RUSTDOCFLAGS", "-D warnings");
    steps.command("documentation", doc.args(["doc", "--workspace", "--no-deps", "--locked"]));
    miri(steps);
    firmwares(steps);
    steps.step("sizes of the firmware", || size::run(&size::Args::check()));
    steps.step("counts of instructions", || crate::bench::run(&crate::bench::Args::check()));
}

/// Undefined behaviour in blob, arena, kernels and text: the runtime on a blob made by hand, under miri, which only
/// nightly toolchains have.
fn miri(steps: &mut Steps) {
    const NAME: &str = "undefined behaviour (miri)";
    let nightly = || {
        let mut rustup = Command::new("rustup");
        rustup.args(["run", "nightly", "cargo", "miri"]).current_dir(paths::root());
        rustup
    };
    if shell::output(nightly().arg("--version")).is_err() {
        steps.skip(NAME, "no nightly toolchain with miri; get it with `rustup +nightly component add miri rust-src`");
        return;
    }
    let mut miri = nightly();
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    steps.command(NAME, miri.args(["test", "--package", "latimer", "--test", "tiny", "--test", "find", "--locked"]));
}

/// The runtime crate for every pinned target, with each engine alone and with both.
fn lints_on_targets(steps: &mut Steps) {
    let Ok(targets) = setup::pinned_targets() else {
        steps.step("lints on the targets", || bail!("cannot read the targets of rust-toolchain.toml"));
        return;
    };
    for target in targets {
        for features in ["int8", "f16", "int8,f16,json,alloc"] {
            let name = format!("lints for {target} with {features}");
            let mut clippy = cargo("");
            clippy.args(["clippy", "--package", "latimer", "--lib", "--locked", "--target", &target]);
            clippy.args(["--no-default-features", "--features", features]);
            steps.command(&name, deny_warnings(&mut clippy));
        }
    }
}

/// Lints of the firmware of every board, builds with `defmt` of the reference boards', and the check for float code.
fn firmwares(steps: &mut Steps) {
    for machine in KERNEL_MACHINES {
        // What `cargo xtask bench` builds too, with the kernels of the target and without.
        for features in ["", "bench", "bench,portable"] {
            let with = if features.is_empty() { String::new() } else { format!(" with {features}") };
            steps.step(&format!("lints of {}{with}", machine.name), || {
                setup::rust_target(machine.target)?;
                let mut clippy = firmware::cargo(machine.name, "clippy");
                shell::run(deny_warnings(clippy.args(["--quiet", "--features", features])))
            });
        }
    }
    steps.step("lints of the smallest firmware", || {
        shell::run(deny_warnings(size::smallest_cargo("clippy", firmware::FAST)?.args([
            "--quiet",
            "--features",
            "text",
        ])))
    });
    for machine in MACHINES {
        // The boards of an instruction set differ by a few lines, which know nothing of the engine.
        let engines: &[_] = if machine.reference { &[Engine::Int8, Engine::F16] } else { &[Engine::Int8] };
        for &engine in engines {
            let name = format!("{} with {}", machine.name, engine.name());
            let lint = steps.step(&format!("lints of {name}"), || {
                let firmware = Firmware::new(machine, None, engine)?;
                setup::rust_target(machine.target)?;
                shell::run(deny_warnings(firmware.cargo("clippy").arg("--quiet")))
            });
            if !lint || !machine.reference {
                continue;
            }
            if engine == Engine::Int8 {
                const EXTRAS: [&[&str]; 2] = [&["bench"], &["alloc"]];
                for extra in EXTRAS {
                    steps.step(&format!("lints of {name} and {}", extra.concat()), || {
                        let firmware = Firmware { extra, ..Firmware::new(machine, None, engine)? };
                        shell::run(deny_warnings(firmware.cargo("clippy").arg("--quiet")))
                    });
                }
            }
            steps.step(&format!("{name} and defmt"), || {
                Firmware { defmt: true, ..Firmware::new(machine, None, engine)? }.build().map(drop)
            });
        }
    }
    for hardware in HARDWARE {
        let firmware = || Firmware::for_hardware(hardware, None, Engine::Int8);
        steps.step(&format!("lints of {}", hardware.name), || {
            setup::rust_target(hardware.target)?;
            shell::run(deny_warnings(firmware()?.cargo("clippy").arg("--quiet")))
        });
        if hardware.has_defmt() {
            steps.step(&format!("lints of {} and defmt", hardware.name), || {
                let firmware = Firmware { defmt: true, ..firmware()? };
                shell::run(deny_warnings(firmware.cargo("clippy").arg("--quiet")))
            });
        }
        steps.step(&format!("{} with models apart", hardware.name), || {
            hardware.check_apart(&firmware()?.with_models(Models::Apart { arena: 64 * 1024 })?.build()?)
        });
    }
    steps.step("no float code in the int8 firmware", || elf_check::run(&[]));
}

/// Cargo in a folder of the repository.
fn cargo(folder: &str) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(paths::root().join(folder));
    cargo
}

/// Cargo for `boards/app` on the host.
fn board_app(subcommand: &str) -> Command {
    let mut cargo = cargo("boards");
    cargo.args([subcommand, "--package", "app", "--features", "f16", "--locked"]);
    cargo.arg("--target-dir").arg(paths::target().join("boards"));
    cargo
}

/// Cargo for `boards/hardware` on the host.
fn board_hardware(subcommand: &str) -> Command {
    let mut cargo = cargo("boards");
    cargo.args([subcommand, "--package", "hardware", "--locked"]);
    cargo.arg("--target-dir").arg(paths::target().join("boards"));
    cargo
}

/// Cargo for what of the ESP boards is tested on the host.
fn esp_boards(subcommand: &str) -> Command {
    let mut cargo = cargo("boards/esp");
    cargo.args([subcommand, "--package", "esp", "--locked"]);
    cargo.arg("--target-dir").arg(paths::target().join("boards"));
    cargo
}

fn deny_warnings(clippy: &mut Command) -> &mut Command {
    clippy.args(["--", "-D", "warnings"])
}
