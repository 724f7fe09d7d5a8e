//! IEEE 754 addition and comparison on bit patterns, in integers only.
//!
//! SentencePiece breaks ties between segmentations by binary32 and binary64 rounding, so equal ids need equal
//! rounding. Everything here rounds to nearest, ties to even, and agrees with hardware bit for bit, except that any
//! NaN becomes the one quiet NaN. Binary64 patterns are `u64`, binary32 patterns `u32`.

const SIGN64: u64 = 1 << 63;
const INF64: u64 = 0x7ff << 52;
const NAN64: u64 = INF64 | 1 << 51;
const FRACTION64: u64 = (1 << 52) - 1;
const INF32: u32 = 0xff << 23;
const FRACTION32: u32 = (1 << 23) - 1;

/// Whether a binary32 pattern is neither infinite nor NaN.
pub const fn is_finite32(bits: u32) -> bool {
    bits & INF32 != INF32
}

/// Whether a binary64 pattern is neither infinite nor NaN.
pub const fn is_finite64(bits: u64) -> bool {
    bits & INF64 != INF64
}

/// Binary32 to binary64, exact.
pub const fn widen(bits: u32) -> u64 {
    let sign = ((bits >> 31) as u64) << 63;
    let exponent = (bits >> 23) & 0xff;
    let fraction = (bits & FRACTION32) as u64;
    match exponent {
        0xff if fraction != 0 => NAN64,
        0xff => sign | INF64,
        0 if fraction == 0 => sign,
        // Subnormal: move the leading one to bit 52, where it counts into the exponent.
        0 => {
            let shift = fraction.leading_zeros().wrapping_sub(11);
            let exponent = 1023u32.wrapping_sub(126).wrapping_add(29).wrapping_sub(shift).wrapping_sub(1);
            sign | ((exponent as u64) << 52).wrapping_add(fraction << (shift & 63))
        }
        _ => sign | ((exponent.wrapping_add(1023 - 127) as u64) << 52) | fraction << 29,
    }
}

/// Binary64 to the nearest binary32, ties to even.
pub const fn narrow(bits: u64) -> u32 {
    let sign = ((bits >> 63) as u32) << 31;
    let magnitude = bits & !SIGN64;
    if magnitude > INF64 {
        return INF32 | 1 << 22;
    }
    let exponent = (magnitude >> 52) as i32 - (1023 - 127);
    if exponent >= 0xff {
        return sign | INF32;
    }
    // Below the normal range the result is subnormal: its last bit weighs more, so more is shifted out.
    let shift = if exponent > 0 { 29 } else { 30 - exponent };
    if shift > 54 {
        return sign;
    }
    // A binary64 subnormal never gets here (its exponent is far lower), so the leading one is always there.
    let significand = magnitude & FRACTION64 | 1 << 52;
    let kept = (significand >> shift) as u32;
    let lost = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = (lost > half || (lost == half && kept & 1 == 1)) as u32;
    // The leading one adds 1 to the exponent field, and a carry out of rounding another, up to infinity.
    let base = if exponent > 0 { ((exponent - 1) as u32) << 23 } else { 0 };
    sign | base.wrapping_add(kept).wrapping_add(up)
}

/// Binary64 sum, rounded to nearest, ties to even.
pub const fn add(a: u64, b: u64) -> u64 {
    let (a, b) = if a & !SIGN64 >= b & !SIGN64 { (a, b) } else { (b, a) };
    let sign = a & SIGN64;
    let (large, small) = (a & !SIGN64, b & !SIGN64);
    let subtract = (a ^ b) & SIGN64 != 0;
    if large >= INF64 {
        // `large` is the NaN if there is one, since NaNs have the greatest magnitudes.
        return if large > INF64 || (small == INF64 && subtract) { NAN64 } else { a };
    }
    // Three more bits: guard, round, and a sticky bit for all that is shifted out.
    let (mut exponent, large) = split(large);
    let (small_exponent, small) = split(small);
    let small = shift_sticky(small << 3, exponent - small_exponent);
    let mut sum = large << 3;
    if subtract {
        sum -= small;
        if sum == 0 {
            return 0;
        }
        let up = sum.leading_zeros() - 8;
        let up = if up < exponent - 1 { up } else { exponent - 1 };
        sum <<= up;
        exponent -= up;
    } else {
        sum += small;
        if sum >> 56 != 0 {
            sum = shift_sticky(sum, 1);
            exponent += 1;
        }
    }
    let lost = sum & 7;
    let kept = sum >> 3;
    let up = (lost > 4 || (lost == 4 && kept & 1 == 1)) as u64;
    // As in `narrow`: the leading one and a carry count into the exponent, up to infinity.
    let magnitude = (((exponent - 1) as u64) << 52) + kept + up;
    sign | if magnitude < INF64 { magnitude } else { INF64 }
}

/// Binary32 sum, rounded to nearest, ties to even. Rounding through binary64 changes nothing: its 53 bits are more
/// than the 2 * 24 + 1 for which double rounding of a sum is harmless.
pub const fn add32(a: u32, b: u32) -> u32 {
    narrow(add(widen(a), widen(b)))
}

/// `a > b`, false if either is NaN.
pub const fn greater(a: u64, b: u64) -> bool {
    if a & !SIGN64 > INF64 || b & !SIGN64 > INF64 {
        return false;
    }
    order(a) > order(b)
}

/// Maps a number to an integer of the same order; both zeros to 0.
const fn order(bits: u64) -> i64 {
    let magnitude = (bits & !SIGN64) as i64;
    if bits & SIGN64 != 0 { -magnitude } else { magnitude }
}

/// Biased exponent (1 for subnormals) and significand with its leading one.
const fn split(magnitude: u64) -> (u32, u64) {
    let exponent = (magnitude >> 52) as u32;
    let fraction = magnitude & FRACTION64;
    if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << 52) }
}

/// `value >> by`, the last bit set if any lost bit was.
const fn shift_sticky(value: u64, by: u32) -> u64 {
    if by > 63 {
        return (value != 0) as u64;
    }
    value >> by | (value & ((1 << by) - 1) != 0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical64(value: f64) -> u64 {
        if value.is_nan() { NAN64 } else { value.to_bits() }
    }

    fn canonical32(value: f32) -> u32 {
        if value.is_nan() { INF32 | 1 << 22 } else { value.to_bits() }
    }

    fn check_add(a: u64, b: u64) {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        assert_eq!(add(a, b), canonical64(x + y), "{x:e} + {y:e}");
        assert_eq!(greater(a, b), x > y, "{x:e} > {y:e}");
    }

    fn check_add32(a: u32, b: u32) {
        let (x, y) = (f32::from_bits(a), f32::from_bits(b));
        assert_eq!(widen(a), canonical64(f64::from(x)), "{x:e}");
        assert_eq!(add32(a, b), canonical32(x + y), "{x:e} + {y:e}");
    }

    /// Patterns around every edge: zeros, subnormals, powers of two, the greatest finite, infinity, NaN.
    fn edges() -> std::vec::Vec<u64> {
        let mut edges = std::vec![0, 1, 2, 3, FRACTION64, 1 << 52, INF64 - 1, INF64, INF64 + 1, NAN64];
        for exponent in [1u64, 2, 53, 54, 55, 873, 874, 896, 897, 1021, 1022, 1023, 1024, 1150, 1151, 2045, 2046] {
            for fraction in [0, 1, 1 << 28, 1 << 29, (1 << 29) - 1, FRACTION64 - (1 << 28), FRACTION64] {
                edges.push(exponent << 52 | fraction);
            }
        }
        let negative: std::vec::Vec<u64> = edges.iter().map(|e| e | SIGN64).collect();
        edges.extend(negative);
        edges
    }

    #[test]
    fn edges_agree_with_hardware() {
        for &a in &edges() {
            assert_eq!(narrow(a), canonical32(f64::from_bits(a) as f32), "{a:#x}");
            for &b in &edges() {
                check_add(a, b);
                check_add32(narrow(a), narrow(b));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn any_sum_agrees_with_hardware(a: u64, b: u64, exponent in 0u64..2047, near in 0u64..60) {
            check_add(a, b);
            // Random exponents are mostly too far apart to interact, so also bring them close.
            let near_a = a & !INF64 | exponent << 52;
            let near_b = b & !INF64 | exponent.saturating_sub(near) << 52;
            check_add(near_a, near_b);
            check_add(near_b, near_a ^ SIGN64);
        }

        #[test]
        fn any_binary32_sum_agrees_with_hardware(a: u32, b: u32, exponent in 0u32..255, near in 0u32..30) {
            check_add32(a, b);
            check_add32(a & !INF32 | exponent << 23, b & !INF32 | exponent.saturating_sub(near) << 23);
        }

        #[test]
        fn any_narrowing_agrees_with_hardware(a: u64, exponent in 860u64..1160) {
            prop_assert_eq!(narrow(a), canonical32(f64::from_bits(a) as f32));
            let a = a & !INF64 | exponent << 52;
            prop_assert_eq!(narrow(a), canonical32(f64::from_bits(a) as f32));
        }
    }
}
