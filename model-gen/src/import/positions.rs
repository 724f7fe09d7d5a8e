//! Sinusoidal positions in Marian's order: all sines first, then all cosines ("Attention Is All You Need", section 3.5,
//! without the interleaving).

/// The vector added to the embedding at `position`, `d_model` long.
///
/// Element `k` of either half turns with the angle `position / 10000^(2k / d_model)`; the sine half is the longer one
/// when `d_model` is odd. Angles are f64, as transformers computes them, and rounded to f32 at the end.
pub fn sinusoid(position: usize, d_model: usize) -> Vec<f32> {
    let angle = |k: usize| position as f64 / 10000f64.powf((2 * k) as f64 / d_model as f64);
    let sines = (0..d_model.div_ceil(2)).map(|k| angle(k).sin() as f32);
    let cosines = (0..d_model / 2).map(|k| angle(k).cos() as f32);
    sines.chain(cosines).collect()
}

#[cfg(test)]
mod tests {
    use super::sinusoid;

    #[test]
    fn halves_and_frequencies() {
        assert_eq!(sinusoid(0, 5), [0.0, 0.0, 0.0, 1.0, 1.0]);
        let row = sinusoid(3, 4);
        let wanted = [3f64.sin(), 0.03f64.sin(), 3f64.cos(), 0.03f64.cos()];
        for (found, wanted) in row.iter().zip(wanted) {
            assert!((f64::from(*found) - wanted).abs() < 1e-7, "{row:?}");
        }
        // Odd width: the third sine turns with 10000^(-4/5), the second cosine with 10000^(-2/5).
        let row = sinusoid(7, 5);
        assert!((f64::from(row[2]) - (7.0 * 10000f64.powf(-0.8)).sin()).abs() < 1e-7);
        assert!((f64::from(row[4]) - (7.0 * 10000f64.powf(-0.4)).cos()).abs() < 1e-7);
    }
}
