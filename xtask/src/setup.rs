//! Installs what a build or a boot needs, or says plainly what is missing.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::machines::{self, Machine};
use crate::{paths, shell};

/// Installs everything: the pinned targets, and QEMU for every board.
pub fn all() -> Result<()> {
    for target in pinned_targets()? {
        rust_target(&target)?;
    }
    machines::all().try_for_each(qemu)
}

/// The targets that `rust-toolchain.toml` names.
pub fn pinned_targets() -> Result<Vec<String>> {
    let file = paths::root().join("rust-toolchain.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let list = text.split_once("targets = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.with_context(|| format!("no targets in `{}`", file.display()))?;
    Ok(list.split(',').map(|word| word.trim().trim_matches('"').to_owned()).filter(|word| !word.is_empty()).collect())
}

/// Makes sure that the standard library for `target` is there.
pub fn rust_target(target: &str) -> Result<()> {
    let sysroot = shell::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").exists() {
        return Ok(());
    }
    eprintln!("installing the Rust target {target}");
    shell::run(Command::new("rustup").args(["target", "add", target]))
        .with_context(|| format!("the Rust target {target} is missing; get it with `rustup target add {target}`"))
}

/// Makes sure that QEMU for `machine` is there.
pub fn qemu(machine: &Machine) -> Result<()> {
    let Machine { qemu, package, .. } = machine;
    if on_path(qemu) {
        return Ok(());
    }
    let advice = format!("{qemu} is missing; on Debian or Ubuntu: `apt-get install {package}`, elsewhere see qemu.org");
    debian_package(package, advice)
}

/// Makes sure that the tool which flashes a board is there.
pub fn flasher(tool: &str) -> Result<()> {
    let get = match tool {
        "picotool" => {
            "get it from github.com/raspberrypi/picotool, or copy the .uf2 to the drive of a board in BOOTSEL mode"
        }
        "probe-rs" => "get it with `cargo install probe-rs-tools`, or see probe.rs",
        "nrfutil" => "get it from nordicsemi.com, and then `nrfutil install device`",
        "STM32_Programmer_CLI" => "get STM32CubeProgrammer from st.com",
        _ => "get it with `cargo install espflash`",
    };
    if !on_path(tool) {
        bail!("{tool} is missing; {get}");
    }
    Ok(())
}

/// Makes sure that mdBook is there.
pub fn mdbook() -> Result<()> {
    if !on_path("mdbook") {
        bail!("mdbook is missing; get it with `cargo install mdbook --locked`");
    }
    Ok(())
}

/// The name of a Chromium, installed if none is there.
pub fn chromium() -> Result<&'static str> {
    // Ubuntu's package of the first name is a snap under the second.
    const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let found = || NAMES.into_iter().find(|name| on_path(name));
    if let Some(name) = found() {
        return Ok(name);
    }
    let advice = "no Chromium is there; on Debian: `apt-get install chromium`, elsewhere see chromium.org";
    debian_package("chromium", advice.to_owned())?;
    found().context(advice)
}

/// Installs a Debian package, or fails with advice where that cannot be.
fn debian_package(package: &str, advice: String) -> Result<()> {
    if !on_path("apt-get") || !is_root() {
        bail!("{advice}");
    }
    eprintln!("installing {package}");
    install(package).context(advice)
}

fn on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn apt(args: &[&str]) -> Result<()> {
    let mut apt = Command::new("apt-get");
    // Another installation may be under way: wait for it rather than fail.
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(["-qq", "-o", "DPkg::Lock::Timeout=300"]);
    shell::run(apt.args(args))
}

/// Installs a Debian package with apt-get.
fn install(package: &str) -> Result<()> {
    // Fails offline; the package may be in the cache nevertheless.
    let _ = apt(&["update"]);
    let plain = apt(&["install", "-y", "--no-install-recommends", package]);
    if plain.is_ok() {
        return plain;
    }
    // All of QEMU's packages must be of one version, and a `qemu-utils` from another suite (backports) stands in the
    // way: let it come down to the version that is to be had.
    let policy = shell::output(Command::new("apt-cache").args(["policy", package]))?;
    let Some(version) = candidate(&policy) else { return plain };
    let utils = format!("qemu-utils={version}");
    apt(&["install", "-y", "--no-install-recommends", "--allow-downgrades", package, &utils])
}

/// The candidate version in the output of `apt-cache policy`.
fn candidate(policy: &str) -> Option<&str> {
    policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: ")).filter(|version| *version != "(none)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_a_pinned_target() {
        let targets = pinned_targets().unwrap();
        let hardware = crate::hardware::HARDWARE.iter().map(|hardware| hardware.target);
        let mut wanted = machines::all().map(|machine| machine.target).chain(hardware);
        assert!(wanted.all(|wanted| targets.iter().any(|target| target == wanted)), "{targets:?}");
    }

    #[test]
    fn reads_apt_policy() {
        let policy = "qemu-system-arm:\n  Installed: (none)\n  Candidate: 1:7.2+dfsg-7\n  Version table:\n";
        assert_eq!(candidate(policy), Some("1:7.2+dfsg-7"));
        assert_eq!(candidate("x:\n  Candidate: (none)\n"), None);
        assert_eq!(candidate(""), None);
    }
}
