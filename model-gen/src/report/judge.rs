//! When a loss is one.

use crate::evaluate::Evaluation;

/// How bad a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Within what is asked of the best int8 recipe.
    Equal,
    /// More than that, and yet hard to notice.
    Small,
    /// A reader of the translations may notice.
    Loss,
}

impl Level {
    /// In a word or two.
    pub fn words(self) -> &'static str {
        match self {
            Level::Equal => "as float",
            Level::Small => "small loss",
            Level::Loss => "loss",
        }
    }

    /// A sign, so that colour is not all that tells.
    pub fn sign(self) -> &'static str {
        match self {
            Level::Equal => "\u{2713}",
            Level::Small => "\u{2248}",
            Level::Loss => "\u{2717}",
        }
    }

    /// Its class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Level::Equal => "equal",
            Level::Small => "small",
            Level::Loss => "loss",
        }
    }
}

/// The most that a figure may be worse than float's to count as equal, and as a small loss.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    equal: f64,
    small: f64,
}

/// BLEU points lost.
pub const BLEU: Limits = Limits { equal: 0.10, small: 0.50 };
/// chrF points lost.
pub const CHRF: Limits = Limits { equal: 0.05, small: 0.50 };
/// Phrases that differ, in percent.
pub const DIFFERING: Limits = Limits { equal: 5.0, small: 10.0 };
/// Growth of the cross-entropy in percent.
pub const CROSS_ENTROPY: Limits = Limits { equal: 0.5, small: 2.0 };
/// Mean divergence in nats a token.
pub const KL: Limits = Limits { equal: 1e-3, small: 1e-2 };

impl Limits {
    /// The level of a figure that is worse than float's by `worse`; a gain counts as equal. What is no number is a loss.
    pub fn judge(self, worse: f64) -> Level {
        match worse {
            w if w <= self.equal => Level::Equal,
            w if w <= self.small => Level::Small,
            _ => Level::Loss,
        }
    }

    /// The limits in words.
    pub fn words(self, unit: &str) -> String {
        format!("limits {} / {}{unit}", self.equal, self.small)
    }
}

/// The level of every figure that is judged, by its name.
pub fn levels(e: &Evaluation) -> [(&'static str, Level); 5] {
    [
        ("BLEU", BLEU.judge(e.bleu_drop())),
        ("chrF", CHRF.judge(e.chrf_drop())),
        ("identical phrases", DIFFERING.judge(100.0 - e.identical_percent())),
        ("cross-entropy", CROSS_ENTROPY.judge(e.cross_entropy_percent())),
        ("KL divergence", KL.judge(e.mean_kl)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_no_losses_and_what_is_no_number_is() {
        assert_eq!(
            [-3.0, 0.1, 0.11, 0.5, 0.51, f64::NAN].map(|worse| BLEU.judge(worse)),
            [Level::Equal, Level::Equal, Level::Small, Level::Small, Level::Loss, Level::Loss]
        );
        for limits in [BLEU, CHRF, DIFFERING, CROSS_ENTROPY, KL] {
            assert!(limits.equal < limits.small);
        }
    }
}
