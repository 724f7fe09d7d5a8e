//! The choices a quantization is made by, and the recipes that make them.

use super::matrix::{Rounding, Width};
use latimer::blob::layout::Role;
use std::fmt;

/// Bits of the dynamically quantized input of each kind of linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputBits {
    /// Query, key and value projections.
    pub qkv: u8,
    /// Output projections of attention.
    pub out: u8,
    /// First feed-forward linear.
    pub fc1: u8,
    /// Second feed-forward linear.
    pub fc2: u8,
    /// Output matrix.
    pub logits: u8,
}

impl fmt::Display for InputBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputBits { qkv, out, fc1, fc2, logits } = self;
        write!(f, "{qkv}/{out}/{fc1}/{fc2}/{logits} (qkv/out/fc1/fc2/logits)")
    }
}

impl InputBits {
    /// Whether some inputs have so many bits.
    pub fn any(self, bits: u8) -> bool {
        let InputBits { qkv, out, fc1, fc2, logits } = self;
        [qkv, out, fc1, fc2, logits].contains(&bits)
    }

    /// The same for all.
    pub const fn all(bits: u8) -> Self {
        InputBits { qkv: bits, out: bits, fc1: bits, fc2: bits, logits: bits }
    }

    /// Those of a role.
    pub fn of(&self, role: Role) -> u8 {
        match role {
            Role::SelfOut | Role::CrossOut => self.out,
            Role::Fc1 => self.fc1,
            Role::Fc2 => self.fc2,
            Role::Embedding | Role::Output => self.logits,
            _ => self.qkv,
        }
    }
}

/// A set of choices under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recipe {
    /// Rounding to nearest: no calibration set, seconds.
    #[default]
    Fast,
    /// Weights in groups, calibrated rounding, corrected biases: needs a calibration set.
    Best,
}

impl Recipe {
    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Recipe::Fast => "fast",
            Recipe::Best => "best",
        }
    }

    /// The recipe's choices.
    pub fn settings(self) -> Settings {
        match self {
            Recipe::Fast => Settings::default(),
            Recipe::Best => Settings {
                bits: InputBits::all(12),
                width: Width::Int8Groups(16),
                smoothing: false,
                rounding: Rounding::Calibrated,
                bias_correction: true,
            },
        }
    }
}

/// The choices.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Widths of activations.
    pub bits: InputBits,
    /// Weights between two linears are scaled so that activations have no outliers.
    pub smoothing: bool,
    /// How codes are found.
    pub rounding: Rounding,
    /// Biases take up the mean of what rounding changes.
    pub bias_correction: bool,
    /// Width of weights.
    pub width: Width,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bits: InputBits::all(14),
            smoothing: false,
            rounding: Rounding::Nearest,
            bias_correction: false,
            width: Width::Int8,
        }
    }
}

impl Settings {
    /// Whether the choices need a calibration set.
    pub fn need_calibration(&self) -> bool {
        self.smoothing || self.bias_correction || self.rounding == Rounding::Calibrated
    }
}
