//! Build script of every board: finds the blobs to link and passes the memory map to the linker.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

fn main() {
    // A board without an engine has no room for a model.
    if ["INT8", "F16"].iter().any(|engine| env::var_os(format!("CARGO_FEATURE_{engine}")).is_some()) {
        match models() {
            Ok(code) => fs::write(Path::new(&env::var_os("OUT_DIR").unwrap()).join("models.rs"), code).unwrap(),
            Err(error) => println!("cargo::error={error}"),
        }
    }
    // esp-hal brings a memory map.
    let script = if has_map() {
        println!("cargo:rerun-if-changed=memory.x");
        println!("cargo:rustc-link-search={}", env::var("CARGO_MANIFEST_DIR").unwrap());
        "link.x"
    } else {
        println!("cargo:rerun-if-changed=../build.rs");
        "linkall.x"
    };
    // Here and not in .cargo/config.toml, where an RUSTFLAGS variable would hide them.
    if has_map() && env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "riscv32") {
        // The link.x of `cortex-m-rt` asks for it, that of `riscv-rt` does not.
        println!("cargo:rustc-link-arg-bins=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg-bins=-T{script}");
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo:rustc-link-arg-bins=-Tdefmt.x");
    }
}

/// Whether the board says what lies where.
fn has_map() -> bool {
    Path::new("memory.x").exists()
}

/// What `app::models!` includes: where the models are, and the arena that they need.
fn models() -> Result<String, String> {
    println!("cargo:rerun-if-env-changed=LATIMER_BLOB");
    println!("cargo:rerun-if-env-changed=LATIMER_ARENA");
    match (env::var_os("LATIMER_BLOB"), env::var("LATIMER_ARENA")) {
        (Some(blobs), _) => linked(env::split_paths(&blobs)),
        (None, Ok(arena)) => flashed(&arena),
        (None, Err(_)) => {
            Err("LATIMER_BLOB must name the blobs to link, or LATIMER_ARENA the bytes of arena for models that \
                               are flashed apart; `cargo xtask board` sets them"
                .to_owned())
        }
    }
}

fn linked(blobs: impl Iterator<Item = impl AsRef<Path>>) -> Result<String, String> {
    let mut list = String::new();
    for blob in blobs {
        let blob = blob.as_ref();
        // A relative path would be read relative to the file that includes it.
        let path = blob.canonicalize().map_err(|error| format!("LATIMER_BLOB={}: {error}", blob.display()))?;
        let path = path.to_str().ok_or_else(|| format!("LATIMER_BLOB={}: not UTF-8", blob.display()))?;
        println!("cargo:rerun-if-changed={path}");
        // A section of its own, so that a memory.x can place it in other flash than the program.
        writeln!(list, "    app::latimer::include_blob!({path:?}, section = \".rodata.blob\"),").unwrap();
    }
    Ok(format!(
        "static LINKED: &[&[u8]] = &[\n{list}];
        /// Bytes of arena for any of the models.
        pub const ARENA_BYTES: usize = {{
            let (mut most, mut i) = (0, 0);
            while i < LINKED.len() {{
                let bytes = app::latimer::arena_len(LINKED[i], app::LIMITS);
                if bytes > most {{
                    most = bytes;
                }}
                i += 1;
            }}
            most + app::HEAP_EXTRA
        }};
        /// The models.
        pub fn models() -> app::Models<'static> {{
            app::Models::Linked(LINKED)
        }}\n"
    ))
}

fn flashed(arena: &str) -> Result<String, String> {
    let arena: usize = arena.parse().map_err(|_| format!("LATIMER_ARENA={arena}: not a number of bytes"))?;
    // Either the linker knows where they are, or the board must ask its partition table.
    let (symbols, models) = if has_map() {
        let symbols = "unsafe extern \"C\" {
            static __model_start: u8;
            static __model_end: u8;
        }\n";
        let models =
            "// SAFETY: memory.x sets the symbols to the bounds of flash that nothing writes while the firmware runs.
            unsafe { app::Models::flash(&raw const __model_start, &raw const __model_end) }";
        (symbols, models)
    } else {
        ("", "app::Models::Flash(region())")
    };
    Ok(format!(
        "{symbols}
        /// Bytes of arena for any model that may be flashed.
        pub const ARENA_BYTES: usize = {arena};
        /// The models.
        pub fn models() -> app::Models<'static> {{
            {models}
        }}\n"
    ))
}
