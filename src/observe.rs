//! Looking on: what a translation shows to those who want ids, logits, layer outputs or each token as it comes.

use crate::blob::{CRC32, Digest, digest_values};
use crate::passage::Aligned;
use core::fmt;
use core::ops::ControlFlow;

/// A place in the model whose output can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Output of encoder block `n - 1`; 0 is the embedding with positions.
    Encoder(u8),
    /// Output of decoder block `n - 1`; 0 is the embedding with positions.
    Decoder(u8),
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, layer) = match *self {
            Stage::Encoder(layer) => ("encoder", layer),
            Stage::Decoder(layer) => ("decoder", layer),
        };
        if layer == 0 { write!(f, "{side} embedding") } else { write!(f, "{side} layer {layer}") }
    }
}

/// A hidden state of one token.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// int8 engine: value `i` is `values[i] * 2^-frac`.
    Fixed {
        /// Mantissas.
        values: &'a [i16],
        /// Fraction bits.
        frac: i8,
    },
    /// f16 engine.
    Float(&'a [f32]),
}

/// Consecutive logits.
#[derive(Clone, Copy, Debug)]
pub enum Logits<'a> {
    /// int8 engine: value `i` is `values[i] * 2^-frac`.
    Fixed {
        /// Mantissas.
        values: &'a [i32],
        /// Fraction bits.
        frac: i8,
    },
    /// f16 engine.
    Float(&'a [f32]),
}

/// Receives what a translation computes. Every method has a default that does nothing and costs nothing.
pub trait Observer {
    /// The hidden state of the token at `position` after `stage`; in a beam search, of each hypothesis' token.
    fn hidden(&mut self, stage: Stage, position: usize, row: Row<'_>) {
        let _ = (stage, position, row);
    }

    /// Logits `first..` of `step`; calls cover the vocabulary in order, in a beam search for each hypothesis in turn.
    fn logits(&mut self, step: usize, first: usize, logits: Logits<'_>) {
        let _ = (step, first, logits);
    }

    /// The token chosen at `step`. `Break` ends the translation after it. A beam search knows its tokens in the end and does not
    /// call this.
    fn token(&mut self, step: usize, id: u16) -> ControlFlow<()> {
        let _ = (step, id);
        ControlFlow::Continue(())
    }

    /// Where a target token of a text comes from, the text being translated by [`Passage`](crate::passage::Passage); tokens come in
    /// order, those of a sentence or of a part of it together when they have been written.
    fn aligned(&mut self, aligned: &Aligned) {
        let _ = aligned;
    }
}

/// Observes nothing.
impl Observer for () {}

/// Two observers at once.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn hidden(&mut self, stage: Stage, position: usize, row: Row<'_>) {
        self.0.hidden(stage, position, row);
        self.1.hidden(stage, position, row);
    }

    fn logits(&mut self, step: usize, first: usize, logits: Logits<'_>) {
        self.0.logits(step, first, logits);
        self.1.logits(step, first, logits);
    }

    fn token(&mut self, step: usize, id: u16) -> ControlFlow<()> {
        match (self.0.token(step, id), self.1.token(step, id)) {
            (ControlFlow::Continue(()), ControlFlow::Continue(())) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    fn aligned(&mut self, aligned: &Aligned) {
        self.0.aligned(aligned);
        self.1.aligned(aligned);
    }
}

/// An observer that may not be there: one code for both.
impl<O: Observer> Observer for Option<O> {
    fn hidden(&mut self, stage: Stage, position: usize, row: Row<'_>) {
        if let Some(observer) = self {
            observer.hidden(stage, position, row);
        }
    }

    fn logits(&mut self, step: usize, first: usize, logits: Logits<'_>) {
        if let Some(observer) = self {
            observer.logits(step, first, logits);
        }
    }

    fn token(&mut self, step: usize, id: u16) -> ControlFlow<()> {
        self.as_mut().map_or(ControlFlow::Continue(()), |observer| observer.token(step, id))
    }

    fn aligned(&mut self, aligned: &Aligned) {
        if let Some(observer) = self {
            observer.aligned(aligned);
        }
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn hidden(&mut self, stage: Stage, position: usize, row: Row<'_>) {
        (**self).hidden(stage, position, row);
    }

    fn logits(&mut self, step: usize, first: usize, logits: Logits<'_>) {
        (**self).logits(step, first, logits);
    }

    fn token(&mut self, step: usize, id: u16) -> ControlFlow<()> {
        (**self).token(step, id)
    }

    fn aligned(&mut self, aligned: &Aligned) {
        (**self).aligned(aligned);
    }
}

/// CRC-32 over every logit of every step, little-endian, four bytes each: equal on host and device where the bits are.
///
/// A float NaN counts as 0x7fc00000, since processors differ in the NaN they make.
#[derive(Clone)]
pub struct LogitsCrc(Digest);

/// Nothing of the digest.
impl core::fmt::Debug for LogitsCrc {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LogitsCrc").finish_non_exhaustive()
    }
}

impl LogitsCrc {
    /// A checksum over nothing yet.
    pub fn new() -> Self {
        LogitsCrc(CRC32.digest())
    }

    /// The checksum so far.
    pub fn value(&self) -> u32 {
        self.0.clone().finalize()
    }
}

impl Default for LogitsCrc {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for LogitsCrc {
    fn logits(&mut self, _step: usize, _first: usize, logits: Logits<'_>) {
        match logits {
            Logits::Fixed { values, .. } => digest_values(&mut self.0, values.iter().map(|v| v.to_le_bytes())),
            Logits::Float(values) => digest_values(&mut self.0, values.iter().map(|&v| float_bytes(v))),
        }
    }
}

/// CRC-32 over where every token of a text comes from and how sure it is, six little-endian numbers of four bytes each: equal on
/// host and device where alignment, probabilities and confidence are.
#[derive(Clone)]
pub struct AlignmentCrc(Digest);

/// Nothing of the digest.
impl core::fmt::Debug for AlignmentCrc {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AlignmentCrc").finish_non_exhaustive()
    }
}

impl AlignmentCrc {
    /// A checksum over nothing yet.
    pub fn new() -> Self {
        AlignmentCrc(CRC32.digest())
    }

    /// The checksum so far.
    pub fn value(&self) -> u32 {
        self.0.clone().finalize()
    }
}

impl Default for AlignmentCrc {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for AlignmentCrc {
    fn aligned(&mut self, aligned: &Aligned) {
        let Aligned { target, source, nats, confidence } = aligned;
        let confidence = confidence.map_or(u32::MAX, u32::from);
        let ends = [target.start, target.end, source.start, source.end].map(|end| end as u32);
        let numbers = ends.into_iter().chain([u32::from(*nats), confidence]);
        digest_values(&mut self.0, numbers.map(u32::to_le_bytes));
    }
}

/// The four bytes a float counts as in a checksum.
pub(crate) fn float_bytes(v: f32) -> [u8; 4] {
    let bits = v.to_bits();
    // Written on the bits, so that a build without the f16 engine has no float comparison.
    if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fc0_0000u32 } else { bits }.to_le_bytes()
}
