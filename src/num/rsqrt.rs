//! Reciprocal square root of an integer by Newton's iteration.

/// `1 / sqrt(v)` as `mantissa * 2^-shift`, the mantissa in 2^30 ..= 2^31 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rsqrt {
    /// Significand.
    pub mantissa: u32,
    /// Right shift.
    pub shift: i32,
}

/// The upper word of a product.
const fn high(a: u32, b: u32) -> u32 {
    ((a as u64 * b as u64) >> 32) as u32
}

/// `1 / sqrt(v)`; zero counts as one. Relative error at most 2^-28.
///
/// ```
/// let r = latimer::num::rsqrt(16);
/// assert!((r.mantissa as f64 * 2f64.powi(-r.shift) - 0.25).abs() < 1e-8);
/// ```
pub const fn rsqrt(v: u64) -> Rsqrt {
    let v = if v == 0 { 1 } else { v };
    // v = m * 2^even with m in [1/4, 1), Q32.
    let even = v.leading_zeros() & !1;
    let m = ((v << even) >> 32) as u32;
    // Linear start on [1/4, 1) in Q30: 2.16 - 1.19 m, within 8 % of 1/sqrt(m) in (1, 2].
    let mut y = 2_319_282_339 - high(1_277_752_770, m);
    let mut i = 0;
    while i < 4 {
        // y * (3 - m y^2) / 2; m y^2 lies in (0, 2), Q30, so the factor never is negative.
        let my2 = ((high(m, y) as u64 * y as u64) >> 30) as u32;
        y = ((y as u64 * (3u32 << 30).saturating_sub(my2) as u64) >> 31) as u32;
        i += 1;
    }
    let mantissa = if y > 0x7fff_ffff { 0x7fff_ffff } else { y };
    // sqrt(v) = sqrt(m) * 2^((64 - even) / 2)
    Rsqrt { mantissa, shift: 30 + (64 - even as i32) / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(v: u64) {
        let r = rsqrt(v);
        let got = r.mantissa as f64 * 2f64.powi(-r.shift);
        let want = 1.0 / (v as f64).sqrt();
        assert!((got / want - 1.0).abs() < 2f64.powi(-28), "{v}: {got} {want}");
        assert!(r.mantissa >= (1 << 30) - 4, "{v}");
    }

    #[test]
    fn holds_at_the_ends() {
        for shift in 0..64 {
            check(1 << shift);
            check(u64::MAX >> shift);
            check((1 << shift) | 1);
        }
        assert_eq!(rsqrt(0), rsqrt(1));
    }

    proptest! {
        #[test]
        fn error_is_within_the_stated_bound(v in 1u64.., shift in 0u32..64) {
            check((v >> shift).max(1));
        }
    }
}
