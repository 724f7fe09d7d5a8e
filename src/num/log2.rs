//! Logarithms and powers in fixed point, for the scores of a beam search.

use super::exp2_neg;

/// log2(e) in Q30.
pub(crate) const LOG2_E: i32 = 1_549_082_005;
/// ln 2 in Q16.
const LN_2: i64 = 45_426;

/// `log2(v)` in Q16, at most a unit and a half below; zero for zero.
///
/// The logarithm's bits one by one, by squaring (Majithia and Levan 1973).
///
/// ```
/// assert_eq!(latimer::num::log2(8), 3 << 16);
/// assert_eq!(latimer::num::log2(3), 103_872); // 1.58496
/// ```
pub const fn log2(v: u64) -> i32 {
    if v == 0 {
        return 0;
    }
    let zeros = v.leading_zeros();
    // From 1 to 2, Q30.
    let mut x = (v << zeros) >> 33;
    let mut log = 63 - zeros as i32;
    let mut bit = 0;
    while bit < 16 {
        x = (x * x) >> 30;
        log <<= 1;
        if x >= 1 << 31 {
            x >>= 1;
            log += 1;
        }
        bit += 1;
    }
    log
}

/// The natural logarithm of `v * 2^-frac` in Q16, within two units; that of zero counts as that of one.
pub const fn ln(v: u64, frac: u8) -> i32 {
    (((log2(v) as i64 - ((frac as i64) << 16)) * LN_2) >> 16) as i32
}

/// `base` to the power of `exponent` (Q16), in Q16, at most 2^56; a base of zero counts as one. Exact for the exponents 0 and 1,
/// else within a ten-thousandth where the power is below 2^12.
pub const fn pow(base: u32, exponent: u32) -> u64 {
    match exponent {
        0 => return 1 << 16,
        0x1_0000 => return (base as u64) << 16,
        _ => {}
    }
    let log = (log2(base as u64) as u64 * exponent as u64) >> 16;
    let (whole, part) = ((log >> 16) as u32, (log & 0xffff) as i32);
    // 2^part / 2, Q30.
    let half = exp2_neg(part - (1 << 16)) as u64;
    match whole {
        0..=12 => half >> (13 - whole),
        13..=39 => half << (whole - 13),
        _ => 1 << 56,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_within_a_unit() {
        for v in (1..5000u64).chain((1..60).map(|bit| (1 << bit) + 12_345)) {
            let want = (v as f64).log2() * 65536.0;
            let got = log2(v) as f64;
            assert!(got <= want + 0.01 && got > want - 1.5, "{v}: {got} {want}");
        }
        assert_eq!(log2(0), 0);
        assert!((ln(3 << 30, 30) as f64 / 65536.0 - 3f64.ln()).abs() < 4e-5);
        assert!((ln(1 << 20, 30) as f64 / 65536.0 + 10.0 * 2f64.ln()).abs() < 4e-4);
    }

    #[test]
    fn powers() {
        assert_eq!(pow(7, 1 << 16), 7 << 16);
        assert_eq!(pow(7, 0), 1 << 16);
        for base in 1..100 {
            let want = (base as f64).powf(0.6);
            assert!((pow(base, 39_322) as f64 / 65536.0 / want - 1.0).abs() < 1e-4, "{base}");
        }
        assert_eq!(pow(u32::MAX, u32::MAX), 1 << 56);
        assert_eq!(pow(0, 99_999), 1 << 16);
        for whole in 1..40u32 {
            let found = pow(2, (whole << 16) + 0x8000) as f64;
            let want = (f64::from(whole) + 16.5).exp2();
            assert!((found / want - 1.0).abs() < 1e-4, "{whole}: {found} {want}");
        }
    }
}
