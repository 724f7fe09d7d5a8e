//! Build script of every board: finds the blob to link and passes the memory map to the linker.

use std::env;
use std::path::Path;

fn main() {
    // A board without an engine has no room for a model.
    if ["INT8", "F16"].iter().any(|engine| env::var_os(format!("CARGO_FEATURE_{engine}")).is_some()) {
        find_blob();
    }
    println!("cargo:rerun-if-changed=memory.x");
    println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap());
    // Here and not in .cargo/config.toml, where an RUSTFLAGS variable would hide them.
    println!("cargo:rustc-link-arg-bins=-Tlink.x");
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    }
}

/// Tells main.rs where the blob is.
fn find_blob() {
    println!("cargo:rerun-if-env-changed=LATIMER_BLOB");
    let Some(blob) = env::var_os("LATIMER_BLOB") else {
        println!("cargo::error=LATIMER_BLOB must name the blob to link; `cargo xtask board` packs one and sets it");
        return;
    };
    // A relative path would be read relative to main.rs.
    match Path::new(&blob).canonicalize() {
        Ok(path) => {
            println!("cargo:rerun-if-changed={}", path.display());
            println!("cargo:rustc-env=LATIMER_BLOB={}", path.display());
        }
        Err(error) => println!("cargo::error=LATIMER_BLOB={}: {error}", Path::new(&blob).display()),
    }
}
