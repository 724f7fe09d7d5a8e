//! Sinusoidal positions in Marian's order: all sines first, then all cosines ("Attention Is All You Need", section 3.5,
//! without the interleaving).

/// How fast each pair of a sine and a cosine turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frequencies {
    /// Pair `k` turns by `10000^(-k / (d_model / 2))` radians a position: the paper's, which transformers computes.
    #[default]
    Paper,
    /// Pair `k` turns by `10000^(-k / (d_model / 2 - 1))`, so that the last one turns by exactly 1/10000: Marian's
    /// (after tensor2tensor). `d_model` must be even and at least 4.
    Marian,
}

impl Frequencies {
    /// Radians a position for each sine, the fastest first. They are f64, as transformers computes them.
    pub fn radians(self, d_model: usize) -> impl Iterator<Item = f64> {
        // Twice the number of steps from 1 down to 1/10000.
        let steps = match self {
            Self::Paper => d_model,
            Self::Marian => d_model.saturating_sub(2),
        };
        (0..d_model.div_ceil(2)).map(move |k| 10000f64.powf(-((2 * k) as f64 / steps as f64)))
    }

    /// The vector added to the embedding at `position`, `d_model` long; rounded to f32 at the end. The sine half is the
    /// longer one when `d_model` is odd.
    pub fn sinusoid(self, position: usize, d_model: usize) -> Vec<f32> {
        let angles: Vec<f64> = self.radians(d_model).map(|step| position as f64 * step).collect();
        let cosines = angles.iter().take(d_model / 2).map(|angle| angle.cos() as f32);
        angles.iter().map(|angle| angle.sin() as f32).chain(cosines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Frequencies;

    #[test]
    fn halves_and_frequencies() {
        let sinusoid = |position, d_model| Frequencies::Paper.sinusoid(position, d_model);
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

    /// By the formula with logarithms that Marian has, and at both ends.
    #[test]
    fn marian_ends_at_a_ten_thousandth() {
        let (position, half) = (11, 6);
        let row = Frequencies::Marian.sinusoid(position, 2 * half);
        let increment = 10000f64.ln() / (half as f64 - 1.0);
        for k in 0..half {
            let angle = position as f64 * (-(k as f64) * increment).exp();
            assert!((f64::from(row[k]) - angle.sin()).abs() < 1e-7, "{k}: {row:?}");
            assert!((f64::from(row[half + k]) - angle.cos()).abs() < 1e-7, "{k}: {row:?}");
        }
        let radians: Vec<f64> = Frequencies::Marian.radians(4).collect();
        assert!(radians[0] == 1.0 && (radians[1] - 1e-4).abs() < 1e-18, "{radians:?}");
    }
}
