//! Quantization noise, stage by stage, and the observers that see the quantized model's values.

use super::{StageNoise, decibels};
use latimer::Observer;
use latimer::observe::{Logits, Row, Stage};

/// Sums of squares of one stage.
#[derive(Clone, Copy, Debug, Default)]
struct Power {
    signal: f64,
    noise: f64,
}

impl Power {
    fn note(&mut self, wanted: &[f32], found: &[f32]) {
        debug_assert_eq!(wanted.len(), found.len());
        for (wanted, found) in wanted.iter().zip(found) {
            let (wanted, found) = (f64::from(*wanted), f64::from(*found));
            self.signal += wanted * wanted;
            self.noise += (wanted - found) * (wanted - found);
        }
    }

    fn add(&mut self, other: &Self) {
        self.signal += other.signal;
        self.noise += other.noise;
    }
}

/// Signal and noise of every stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    encoder: Vec<Power>,
    decoder: Vec<Power>,
    logits: Power,
}

impl Stages {
    /// Notes encoder stage `layer`, all tokens at once.
    pub fn encoder(&mut self, layer: usize, wanted: &[f32], found: &[f32]) {
        place(&mut self.encoder, layer).note(wanted, found);
    }

    /// Notes decoder stage `layer` of one position.
    pub fn decoder(&mut self, layer: usize, wanted: &[f32], found: &[f32]) {
        place(&mut self.decoder, layer).note(wanted, found);
    }

    /// Notes the logits of one position.
    pub fn logits(&mut self, wanted: &[f32], found: &[f32]) {
        self.logits.note(wanted, found);
    }

    /// Adds another phrase's sums.
    pub fn add(&mut self, other: &Self) {
        for (sums, others) in [(&mut self.encoder, &other.encoder), (&mut self.decoder, &other.decoder)] {
            others.iter().enumerate().for_each(|(layer, power)| place(sums, layer).add(power));
        }
        self.logits.add(&other.logits);
    }

    /// Every stage in dB; the earlier one first where two are equal.
    pub fn worst_first(&self) -> Vec<StageNoise> {
        let layers = |side, powers: &[Power]| -> Vec<(String, Power)> {
            powers.iter().enumerate().map(|(layer, power)| (format!("{side}.{layer}"), *power)).collect()
        };
        let mut all = layers("encoder", &self.encoder);
        all.extend(layers("decoder", &self.decoder));
        all.push(("logits".to_owned(), self.logits));
        let noise =
            |(stage, power): (String, Power)| StageNoise { stage, sqnr_db: decibels(power.signal, power.noise) };
        let mut noises: Vec<StageNoise> = all.into_iter().map(noise).collect();
        noises.sort_by(|a, b| a.sqnr_db.total_cmp(&b.sqnr_db));
        noises
    }
}

fn place(powers: &mut Vec<Power>, layer: usize) -> &mut Power {
    if powers.len() <= layer {
        powers.resize(layer + 1, Power::default());
    }
    &mut powers[layer]
}

/// Keeps the encoder's stages: tokens of a stage one after another.
#[derive(Debug, Default)]
pub(super) struct EncoderStages(pub Vec<Vec<f32>>);

impl Observer for EncoderStages {
    fn hidden(&mut self, stage: Stage, _position: usize, row: Row<'_>) {
        if let Stage::Encoder(layer) = stage {
            keep(&mut self.0, layer, row);
        }
    }
}

/// Keeps one decoder step's stages and logits.
#[derive(Debug, Default)]
pub(super) struct StepStages {
    pub stages: Vec<Vec<f32>>,
    pub logits: Vec<f32>,
}

impl StepStages {
    /// Forgets the last step.
    pub fn clear(&mut self) {
        self.stages.iter_mut().for_each(Vec::clear);
        self.logits.clear();
    }
}

impl Observer for StepStages {
    fn hidden(&mut self, stage: Stage, _position: usize, row: Row<'_>) {
        if let Stage::Decoder(layer) = stage {
            keep(&mut self.stages, layer, row);
        }
    }

    fn logits(&mut self, _step: usize, _first: usize, logits: Logits<'_>) {
        match logits {
            Logits::Fixed { values, frac } => {
                let unit = unit(frac);
                self.logits.extend(values.iter().map(|v| *v as f32 * unit));
            }
            Logits::Float(values) => self.logits.extend(values),
        }
    }
}

fn keep(stages: &mut Vec<Vec<f32>>, layer: u8, row: Row<'_>) {
    let layer = usize::from(layer);
    if stages.len() <= layer {
        stages.resize(layer + 1, Vec::new());
    }
    match row {
        Row::Fixed { values, frac } => {
            let unit = unit(frac);
            stages[layer].extend(values.iter().map(|v| f32::from(*v) * unit));
        }
        Row::Float(values) => stages[layer].extend(values),
    }
}

/// What one unit of a mantissa is worth.
fn unit(frac: i8) -> f32 {
    2f32.powi(-i32::from(frac))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decibels_worst_first() {
        let mut stages = Stages::default();
        stages.encoder(0, &[3.0, 4.0], &[3.0, 4.0]);
        stages.encoder(1, &[10.0], &[9.0]);
        stages.logits(&[1.0], &[1.1]);
        let mut sum = Stages::default();
        sum.add(&stages);
        // Signal 100 + 100, noise 1 + 1: 20 dB, as before.
        sum.add(&stages);
        sum.logits(&[0.0], &[1.0]);
        let found: Vec<_> = sum.worst_first().into_iter().map(|s| (s.stage, s.sqnr_db)).collect();
        assert_eq!(
            found.iter().map(|(stage, _)| stage.as_str()).collect::<Vec<_>>(),
            ["logits", "encoder.1", "encoder.0"]
        );
        assert!((found[0].1 - 10.0 * (2.0f64 / 1.02).log10()).abs() < 1e-5, "{found:?}");
        assert!((found[1].1 - 20.0).abs() < 1e-9 && found[2].1 == f64::INFINITY, "{found:?}");
    }

    #[test]
    fn observers_scale_mantissas() {
        let mut encoder = EncoderStages::default();
        encoder.hidden(Stage::Encoder(1), 0, Row::Fixed { values: &[3, -4], frac: 1 });
        encoder.hidden(Stage::Decoder(0), 0, Row::Float(&[9.0]));
        assert_eq!(encoder.0, [vec![], vec![1.5, -2.0]]);
        let mut step = StepStages::default();
        step.logits(0, 0, Logits::Fixed { values: &[5], frac: -1 });
        step.logits(0, 1, Logits::Float(&[0.5]));
        assert_eq!(step.logits, [10.0, 0.5]);
        step.clear();
        assert!(step.logits.is_empty());
    }
}
