//! Sine of a phase, so that sinusoidal positions need no table: a frequency in flash is four bytes, a row of a
//! table would be two for every position.

/// Coefficients of sin(pi/2 t) on [0, 1] for t, t^3, ... t^9, Q30 (least squares).
const C: [i64; 5] = [1_686_629_684, -693_598_038, 85_565_514, -5_017_744, 162_419];

/// Phase of a quarter turn: `sine(phase + quarter_turn())` is the cosine.
pub const fn quarter_turn() -> u32 {
    1 << 30
}

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

#[cfg(test)]
mod tests {
    use super::*;

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
