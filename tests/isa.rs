//! How `build.rs` tells the instruction set.

#[path = "../build.rs"]
mod build;

/// Target, known features, flags, Cargo features, expected cfgs.
type Case = (&'static str, &'static str, &'static str, [bool; 2], &'static [&'static str]);

#[test]
fn targets_flags_and_features_tell_the_instruction_set() {
    const NONE: [bool; 2] = [false, false];
    let cases: &[Case] = &[
        ("x86_64-unknown-linux-gnu", "sse2", "-Ctarget-cpu=native", [true, true], &[]),
        ("riscv32imc-unknown-none-elf", "c,m", "", NONE, &["latimer_rv32m"]),
        ("riscv32i-unknown-none-elf", "", "", NONE, &[]),
        ("riscv32em-unknown-none-elf", "e,m", "", NONE, &[]),
        ("riscv32emc-unknown-none-elf", "c,e,m", "", NONE, &[]),
        ("thumbv6m-none-eabi", "", "", [true, true], &["latimer_armv6m"]),
        ("thumbv7m-none-eabi", "", "", NONE, &["latimer_armv7m"]),
        ("thumbv7m-none-eabi", "", "", [true, true], &["latimer_armv7m"]),
        ("thumbv7em-none-eabihf", "", "", NONE, &["latimer_dsp"]),
        ("thumbv7em-none-eabi", "", "-C\x1ftarget-cpu=cortex-m7", [false, true], &["latimer_dsp"]),
        ("thumbv8m.base-none-eabi", "", "", NONE, &["latimer_armv6m"]),
        ("thumbv8m.main-none-eabi", "", "", NONE, &["latimer_armv7m"]),
        ("thumbv8m.main-none-eabihf", "", "-Ctarget-cpu=cortex-m33", NONE, &["latimer_dsp", "latimer_armv8m"]),
        ("thumbv8m.main-none-eabi", "", "", [true, false], &["latimer_dsp", "latimer_armv8m"]),
        ("thumbv8m.main-none-eabi", "", "-Ctarget-cpu=star-mc1", NONE, &["latimer_dsp", "latimer_armv8m"]),
        (
            "thumbv8m.main-none-eabihf",
            "",
            "-Ctarget-cpu=cortex-m52",
            NONE,
            &["latimer_dsp", "latimer_mve", "latimer_armv8m"],
        ),
        (
            "thumbv8m.main-none-eabihf",
            "",
            "-Ctarget-cpu=cortex-m33\x1f-Ctarget-feature=+fp16,-dsp",
            NONE,
            &["latimer_armv7m"],
        ),
        (
            "thumbv8m.main-none-eabi",
            "",
            "-v\x1f--codegen\x1ftarget-feature=+dsp",
            NONE,
            &["latimer_dsp", "latimer_armv8m"],
        ),
        (
            "thumbv8m.main-none-eabihf",
            "",
            "-C\x1ftarget-cpu=cortex-m55",
            NONE,
            &["latimer_dsp", "latimer_mve", "latimer_armv8m"],
        ),
        (
            "thumbv8m.main-none-eabihf",
            "",
            "--codegen=target-cpu=cortex-m85",
            NONE,
            &["latimer_dsp", "latimer_mve", "latimer_armv8m"],
        ),
        (
            "thumbv8m.main-none-eabihf",
            "",
            "-Ctarget-cpu=cortex-m55\x1f-Ctarget-cpu=cortex-m23",
            NONE,
            &["latimer_armv7m"],
        ),
        ("thumbv8m.main-none-eabi", "", "", [false, true], &["latimer_dsp", "latimer_mve", "latimer_armv8m"]),
        (
            "thumbv8m.main-none-eabi",
            "",
            "-C target-cpu=cortex-m55\x1f-Ctarget-feature=-mve",
            NONE,
            &["latimer_dsp", "latimer_armv8m"],
        ),
    ];
    for &(target, known, flags, features, expected) in cases {
        assert_eq!(build::cfgs(target, known, flags, features), expected, "{target} {flags} {features:?}");
    }
}

#[test]
fn assembly_is_for_the_core_that_the_flags_name() {
    assert_eq!(build::core("-Ctarget-cpu=cortex-m85", true), "cortex-m85");
    assert_eq!(build::core("-Ctarget-cpu=cortex-m85\x1f-Ctarget-feature=-mve", false), "cortex-m85");
    assert_eq!(build::core("-Ctarget-cpu=star-mc1", false), "star-mc1");
    assert_eq!(build::core("-Ctarget-cpu=cortex-m33\x1f-Ctarget-feature=+mve", true), "cortex-m55");
    assert_eq!((build::core("", false), build::core("", true)), ("cortex-m33", "cortex-m55"));
}
