//! Row scales as the blob holds them: 16-bit mantissas that share one shift.

/// Scales of a matrix's rows. The runtime's input quantizer counts to `steps`; the division by it is folded in.
#[derive(Clone, Debug)]
pub struct RowScales {
    /// One a row.
    pub mantissas: Vec<u16>,
    /// Scale `i` is `mantissas[i] * 2^-shift`.
    pub shift: i32,
    steps: f64,
}

impl RowScales {
    /// Scales of at least `ideal`, what one code unit of each row is worth: rounded up, so that the largest weight stays
    /// within its code.
    pub fn of(ideal: &[f64], steps: f64) -> Self {
        let largest = ideal.iter().fold(0f64, |m, &s| m.max(s / steps)).max(2f64.powi(-100));
        let shift = ((65_535.0 / largest).log2().floor() as i32).clamp(-100, 100);
        let mantissa = |s: f64| (s / steps * 2f64.powi(shift)).ceil().clamp(1.0, 65_535.0) as u16;
        Self { mantissas: ideal.iter().map(|&s| mantissa(s)).collect(), shift, steps }
    }

    /// What one code unit of row `i` is worth.
    pub fn unit(&self, i: usize) -> f64 {
        self.unit_of(self.mantissas[i])
    }

    /// What one code unit is worth under a mantissa.
    pub fn unit_of(&self, mantissa: u16) -> f64 {
        f64::from(mantissa) * 2f64.powi(-self.shift) * self.steps
    }
}
