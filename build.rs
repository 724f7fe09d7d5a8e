//! Tells the crate its instruction set: on stable Rust `cfg(target_feature = "dsp")` and `"mve"` are not visible.
//!
//! The target's name and the flags `-C target-cpu` and `-C target-feature` say it, in that order, each over what came
//! before; last of all the Cargo features `dsp` and `mve`, for builds whose flags can't be set.

use std::env;

/// Every cfg that this script may set.
const CFGS: [&str; 7] = [
    "latimer_armv6m",
    "latimer_armv7m",
    "latimer_armv8m",
    "latimer_avx2",
    "latimer_dsp",
    "latimer_mve",
    "latimer_rv32m",
];

/// Cores of Armv8-M Mainline that have the DSP extension; the first three may be built without it, which
/// `-C target-feature=-dsp` says.
const DSP_CORES: [&str; 7] =
    ["cortex-m33", "cortex-m35p", "star-mc1", "cortex-m52", "cortex-m55", "cortex-m85", "star-mc3"];

/// Cores of Armv8.1-M that have MVE, integers at least.
const MVE_CORES: [&str; 4] = ["cortex-m52", "cortex-m55", "cortex-m85", "star-mc3"];

#[cfg_attr(test, allow(dead_code, reason = "a test reads this file as a module"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let features = ["dsp", "mve"].map(|name| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some());
    for cfg in CFGS {
        println!("cargo::rustc-check-cfg=cfg({cfg})");
    }
    // Every kernel but the portable ones is selected by one of these.
    if env::var_os("CARGO_FEATURE_PORTABLE").is_some() {
        return;
    }
    // On the host AVX2 is looked for at run time, which takes the standard library.
    if variable("TARGET").starts_with("x86_64") && env::var_os("CARGO_FEATURE_STD").is_some() {
        println!("cargo::rustc-cfg=latimer_avx2");
    }
    let cfgs = cfgs(&variable("TARGET"), &variable("CARGO_CFG_TARGET_FEATURE"), &flags, features);
    for cfg in &cfgs {
        println!("cargo::rustc-cfg={cfg}");
    }
    if cfgs.contains(&"latimer_armv8m") {
        println!("cargo::rustc-env=LATIMER_CPU={}", core(&flags, cfgs.contains(&"latimer_mve")));
    }
}

/// The cfgs of a target, with the target features that Cargo knows, the compiler's flags (separated by 0x1F) and the
/// Cargo features `dsp` and `mve`.
pub(crate) fn cfgs(target: &str, known: &str, flags: &str, [dsp, mve]: [bool; 2]) -> Vec<&'static str> {
    let starts = |name: &str| target.starts_with(name);
    if starts("riscv32") {
        // The kernels use more registers than the 16 of RV32E.
        let has = !starts("riscv32e") && known.split(',').any(|feature| feature == "m");
        return if has { vec!["latimer_rv32m"] } else { vec![] };
    }
    // Armv8-M Baseline has all of Armv6-M.
    if starts("thumbv6m") || starts("thumbv8m.base") {
        return vec!["latimer_armv6m"];
    }
    let armv8m = starts("thumbv8m.main");
    if !armv8m && !starts("thumbv7m") && !starts("thumbv7em") {
        return vec![];
    }
    let mut has = Has { dsp: starts("thumbv7em"), mve: false };
    if let (true, Some(core)) = (armv8m, values(flags, "target-cpu").pop()) {
        has = Has { dsp: DSP_CORES.contains(&core), mve: MVE_CORES.contains(&core) };
    }
    values(flags, "target-feature").iter().flat_map(|list| list.split(',')).for_each(|feature| has.apply(feature));
    let mve = armv8m && (has.mve || mve);
    // Armv7-M has no such extension, whatever the feature says: with it the architecture is Armv7E-M, another target.
    if !(has.dsp || mve || armv8m && dsp) {
        // Armv8-M Mainline has all of Armv7-M.
        return vec!["latimer_armv7m"];
    }
    let mut cfgs = vec!["latimer_dsp"];
    if mve {
        cfgs.push("latimer_mve");
    }
    // Where there are kernels in assembly that Armv7-M has not: on Armv8-M it must name a core.
    if armv8m {
        cfgs.push("latimer_armv8m");
    }
    cfgs
}

/// The core of Armv8-M that assembly with the DSP extension, or MVE too, is for: the one that the flags name, unless only
/// a feature claims the extension.
pub(crate) fn core(flags: &str, mve: bool) -> &str {
    let (cores, least): (&[&str], _) = if mve { (&MVE_CORES, "cortex-m55") } else { (&DSP_CORES, "cortex-m33") };
    values(flags, "target-cpu").pop().filter(|core| cores.contains(core)).unwrap_or(least)
}

/// The extensions of a core.
struct Has {
    dsp: bool,
    mve: bool,
}

impl Has {
    /// Takes a feature of `-C target-feature` in. MVE needs DSP.
    fn apply(&mut self, feature: &str) {
        match feature {
            "+dsp" => self.dsp = true,
            "-dsp" => *self = Self { dsp: false, mve: false },
            "+mve" | "+mve.fp" => *self = Self { dsp: true, mve: true },
            "-mve" => self.mve = false,
            _ => {}
        }
    }
}

/// The values of a codegen option, in order.
fn values<'f>(flags: &'f str, key: &str) -> Vec<&'f str> {
    codegen_options(flags).into_iter().filter_map(|option| option.strip_prefix(key)?.strip_prefix('=')).collect()
}

/// The values of `-C` and `--codegen`, joined to their flag or apart.
fn codegen_options(flags: &str) -> Vec<&str> {
    let mut flags = flags.split('\x1f');
    let mut options = Vec::new();
    while let Some(flag) = flags.next() {
        match flag.strip_prefix("--codegen=").or_else(|| flag.strip_prefix("-C")) {
            Some("") => options.extend(flags.next()),
            Some(option) => options.push(option.trim_start()),
            None if flag == "--codegen" => options.extend(flags.next()),
            None => {}
        }
    }
    options
}
