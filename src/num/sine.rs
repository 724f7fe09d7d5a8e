//! Sine of a phase, so that sinusoidal positions need no table: a frequency in flash is four bytes, a row of a
//! table would be two for every position.

use super::high_product;

/// Coefficients of sin(pi/2 t) on [0, 1] for t, t^3, ... t^9, Q30 (least squares).
const C: [i64; 5] = [1_686_629_684, -693_598_038, 85_565_514, -5_017_744, 162_419];

/// Phase of a quarter turn: `sine(phase + quarter_turn())` is the cosine.
pub const fn quarter_turn() -> u32 {
    1 << 30
}

/// Intervals of a quarter turn in [`TABLE`].
const INTERVALS: usize = 64;

/// Sines from 0 to a quarter turn, Q30: 260 bytes.
const TABLE: [i32; INTERVALS + 1] = {
    let mut table = [0; INTERVALS + 1];
    let mut i = 0;
    while i <= INTERVALS {
        table[i] = sine((i as u32) << 24);
        i += 1;
    }
    table
};

/// `sin(2 pi phase / 2^32)` in Q30. Absolute error at most 3e-8.
///
/// ```
/// assert_eq!(latimer::num::sine(0), 0);
/// assert!((latimer::num::sine(1 << 30) - (1 << 30)).abs() < 32);
/// ```
pub const fn sine(phase: u32) -> i32 {
    let quadrant = phase >> 30;
    let within = (phase & 0x3fff_ffff) as i64;
    let t = if quadrant & 1 == 1 { (1 << 30) - within } else { within };
    let t2 = (t * t) >> 30;
    let mut y = C[4];
    y = C[3] + ((y * t2) >> 30);
    y = C[2] + ((y * t2) >> 30);
    y = C[1] + ((y * t2) >> 30);
    y = C[0] + ((y * t2) >> 30);
    let y = ((y * t) >> 30) as i32;
    if quadrant >= 2 { -y } else { y }
}

/// `sin` and `cos` of `2 pi phase / 2^32` in Q30. Absolute error at most 4e-7.
///
/// From the table's nearest point by the angle `d` that is left, at most pi / 256: with the sum's rule and
/// `sin d = d`, `cos d = 1 - d^2 / 2`.
#[inline]
pub const fn sine_cosine(phase: u32) -> (i32, i32) {
    /// 2 pi in Q28.
    const TURN: i32 = 1_686_629_713;
    let nearest = phase.wrapping_add(1 << 23);
    let index = (nearest >> 24) as usize % INTERVALS;
    let (s, c) = (TABLE[index], TABLE[INTERVALS - index]);
    // 24 bits of a turn's 32 are left, about zero: made radians in Q36, their square in Q40.
    let left = (phase.wrapping_sub(nearest & 0xff00_0000) << 8) as i32;
    let d = high_product(left, TURN);
    let square = high_product(d, d);
    let sin = s + (high_product(d, c) >> 4) - (high_product(square, s) >> 9);
    let cos = c - (high_product(d, s) >> 4) - (high_product(square, c) >> 9);
    let (sin, cos) = if nearest & 1 << 30 == 0 { (sin, cos) } else { (cos, -sin) };
    if nearest & 1 << 31 == 0 { (sin, cos) } else { (-sin, -cos) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_within_the_stated_bound() {
        let mut worst = 0f64;
        for i in 0..1_000_003u32 {
            let phase = i.wrapping_mul(4295);
            let turn = phase as f64 / 4294967296.0 * core::f64::consts::TAU;
            let (sin, cos) = sine_cosine(phase);
            for (got, want) in [(sin, turn.sin()), (cos, turn.cos())] {
                worst = worst.max((got as f64 / (1u64 << 30) as f64 - want).abs());
            }
        }
        assert!(worst < 4e-7, "{worst:e}");
    }

    #[test]
    fn error_is_within_the_stated_bound() {
        for i in 0..1_000_003u32 {
            let phase = i.wrapping_mul(4295);
            let got = sine(phase) as f64 / (1u64 << 30) as f64;
            let want = (phase as f64 / 4294967296.0 * core::f64::consts::TAU).sin();
            assert!((got - want).abs() < 3e-8, "{phase}: {got} {want}");
        }
    }
}
