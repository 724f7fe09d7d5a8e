//! Names of float routines: what compilers call for soft float, mathematical functions, and Rust's own.

/// Functions of `libm`, which come plain (f64), with `f` (f32), `f16` or `l`.
const MATHS: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "modf",
    "nearbyint",
    "nextafter",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "roundeven",
    "scalbn",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
];

/// Parts of mangled names: crates and modules that are about floats, each with its length as Rust mangles it.
const RUST_PATHS: &[&str] = &["4libm", "9micromath", "7flt2dec", "7dec2flt", "3num3f32", "3num3f64", "3num3f16"];

/// Whether a symbol is that of a float routine.
pub fn is_float_routine(name: &str) -> bool {
    name.strip_prefix("__aeabi_").is_some_and(is_aeabi)
        || name.strip_prefix("__gnu_").is_some_and(|rest| rest.starts_with("f2h") || rest.starts_with("h2f"))
        || name.strip_prefix("__").is_some_and(is_libgcc)
        || is_maths(name)
        || is_rust(name)
}

/// Run-time ABI for the Arm Architecture, 4.1: float helpers start with the operand's type or convert to or from it.
fn is_aeabi(name: &str) -> bool {
    let conversion = name.split_once('2').is_some_and(|(from, to)| {
        let float = |kind: &str| matches!(kind.split('_').next(), Some("f" | "d" | "h"));
        let of_float = |kind: &str| float(kind.trim_end_matches("iz").trim_end_matches("uiz"));
        float(to) || of_float(from)
    });
    let rest_is_operation = |rest: &str| {
        ["add", "sub", "rsub", "mul", "div", "neg", "cmp", "rcmp", "2"]
            .iter()
            .any(|operation| rest.starts_with(operation))
    };
    let arithmetic = name.strip_prefix(['f', 'd']).is_some_and(rest_is_operation);
    let compare = ["cfcmp", "cfrcmp", "cdcmp", "cdrcmp"].iter().any(|prefix| name.starts_with(prefix));
    conversion || arithmetic || compare
}

/// Routines of libgcc and compiler-rt: an operation, the modes of its operands (hf, sf, df, tf are floats), a digit.
fn is_libgcc(name: &str) -> bool {
    const OPERATIONS: &[&str] = &[
        "add", "sub", "mul", "div", "neg", "cmp", "eq", "ne", "lt", "le", "gt", "ge", "unord", "float", "floatun",
        "fix", "fixuns", "extend", "trunc", "powi",
    ];
    OPERATIONS.iter().any(|operation| {
        let Some(modes) = name.strip_prefix(operation) else { return false };
        let modes = modes.strip_suffix("vfp").unwrap_or(modes).trim_end_matches(|c: char| c.is_ascii_digit());
        let is_mode = |mode: &[u8]| matches!(mode, b"hf" | b"sf" | b"df" | b"tf" | b"xf" | b"si" | b"di" | b"ti");
        let (pairs, rest) = modes.as_bytes().as_chunks::<2>();
        rest.is_empty() && pairs.iter().all(|mode| is_mode(mode)) && pairs.iter().any(|mode| mode[1] == b'f')
    })
}

fn is_maths(name: &str) -> bool {
    let stems = ["", "f16", "f128", "f", "l"].iter().filter_map(|suffix| name.strip_suffix(suffix));
    stems.into_iter().any(|stem| MATHS.contains(&stem))
}

/// Rust's mangled names. Of compiler-builtins only the float and mathematics modules count.
fn is_rust(name: &str) -> bool {
    if !name.starts_with("_R") && !name.starts_with("_ZN") {
        return false;
    }
    RUST_PATHS.iter().any(|path| name.contains(path))
        || (name.contains("17compiler_builtins") && (name.contains("5float") || name.contains("4math")))
        || (name.contains("4core") && name.contains("3fmt5float"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_float_routines() {
        for name in [
            "__aeabi_fadd",
            "__aeabi_dmul",
            "__aeabi_frsub",
            "__aeabi_fcmplt",
            "__aeabi_dcmpun",
            "__aeabi_cfcmple",
            "__aeabi_cdrcmple",
            "__aeabi_f2iz",
            "__aeabi_d2uiz",
            "__aeabi_f2lz",
            "__aeabi_i2f",
            "__aeabi_ui2d",
            "__aeabi_l2f",
            "__aeabi_ul2d",
            "__aeabi_f2d",
            "__aeabi_d2f",
            "__aeabi_h2f",
            "__aeabi_f2h",
            "__aeabi_d2h",
            "__aeabi_f2h_alt",
            "__gnu_f2h_ieee",
            "__gnu_h2f_ieee",
            "__addsf3",
            "__subdf3",
            "__mulsf3",
            "__divdf3",
            "__negsf2",
            "__cmpsf2",
            "__unorddf2",
            "__gesf2",
            "__floatsisf",
            "__floatunsidf",
            "__floatdisf",
            "__fixsfsi",
            "__fixunsdfdi",
            "__extendsfdf2",
            "__truncdfsf2",
            "__extendhfsf2",
            "__truncsfhf2",
            "__powisf2",
            "__multf3",
            "__addsf3vfp",
            "fmaf",
            "fma",
            "expf",
            "sqrt",
            "sqrtf",
            "log2f",
            "roundevenf16",
            "truncf",
            "tanh",
            "_RNvNtNtNtCsgEHd_17compiler_builtins5float3add8___addsf3",
            "_RNvNtNtCs4XmqFsOYLTN_17compiler_builtins4math9full_fmaf",
            "_ZN4libm4math4expf17h0123456789abcdefE",
            "_RNvNtCs1_4libm4math4sqrt",
            "_ZN4core3fmt5float52_$LT$impl$u20$core..fmt..Display$u20$for$u20$f32$GT$3fmt17h0123456789abcdefE",
            "_ZN4core3num7flt2dec8strategy5grisu16format_exact_opt17h0123456789abcdefE",
        ] {
            assert!(is_float_routine(name), "{name}");
        }
    }

    #[test]
    fn passes_integer_routines() {
        for name in [
            "__aeabi_uidiv",
            "__aeabi_idivmod",
            "__aeabi_uldivmod",
            "__aeabi_lmul",
            "__aeabi_llsl",
            "__aeabi_memcpy4",
            "__aeabi_memclr8",
            "__aeabi_lcmp",
            "__divsi3",
            "__udivdi3",
            "__muldi3",
            "__ashldi3",
            "__clzsi2",
            "__cmpdi2",
            "__negdi2",
            "__bswapsi2",
            "__popcountdi2",
            "memcpy",
            "memset",
            "main",
            "Reset",
            "trunk",
            "format",
            "expand",
            "_RNvNtNtCs_17compiler_builtins3mem6memcpy",
            "_RNvCs1_7latimer8exp_q31f",
            "_RNvNtNtCs_17compiler_builtins3int4udiv9___udivdi3",
            "__edata",
            "__sbss",
            "__pre_init",
        ] {
            assert!(!is_float_routine(name), "{name}");
        }
    }
}
