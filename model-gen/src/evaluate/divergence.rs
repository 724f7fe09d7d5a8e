//! How far apart two next-token distributions are, and how well each foresees the reference.

/// Sums over teacher-forced positions, in nats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Divergence {
    /// Positions.
    pub tokens: usize,
    /// Negative log-likelihood of the reference's tokens under the float model.
    pub float_nll: f64,
    /// The same under the quantized model.
    pub quantized_nll: f64,
    /// KL(float || quantized).
    pub kl: f64,
}

impl Divergence {
    /// Adds a position: the logits of both models, and the reference's token. Pad counts, as in transformers' loss.
    pub fn note(&mut self, float: &[f32], quantized: &[f32], token: usize) {
        let max = |logits: &[f32]| f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let (float_max, quantized_max) = (max(float), max(quantized));
        let (mut float_sum, mut quantized_sum, mut weighted) = (0.0, 0.0, 0.0);
        for (p, q) in float.iter().zip(quantized) {
            let (p, q) = (f64::from(*p) - float_max, f64::from(*q) - quantized_max);
            let weight = p.exp();
            float_sum += weight;
            quantized_sum += q.exp();
            weighted += weight * (p - q);
        }
        let (float_log, quantized_log) = (float_sum.ln(), quantized_sum.ln());
        self.tokens += 1;
        self.float_nll += float_log + float_max - f64::from(float[token]);
        self.quantized_nll += quantized_log + quantized_max - f64::from(quantized[token]);
        self.kl += weighted / float_sum - float_log + quantized_log;
    }

    /// Adds another phrase's sums.
    pub fn add(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.float_nll += other.float_nll;
        self.quantized_nll += other.quantized_nll;
        self.kl += other.kl;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_distributions() {
        let mut sums = Divergence::default();
        // P = (1/2, 1/4, 1/4), Q = (1/4, 1/4, 1/2), both up to a constant.
        let (p, q) = ([0.5f32, 0.25, 0.25].map(|x| x.ln() + 7.0), [0.25f32, 0.25, 0.5].map(|x| x.ln() - 90.0));
        sums.note(&p, &q, 0);
        let ln2 = std::f64::consts::LN_2;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} {b}");
        close(sums.float_nll, ln2);
        close(sums.quantized_nll, 2.0 * ln2);
        close(sums.kl, 0.25 * ln2);
        sums.note(&p, &p, 1);
        assert_eq!(sums.tokens, 2);
        close(sums.float_nll, 3.0 * ln2);
        close(sums.kl, 0.25 * ln2);
    }
}
