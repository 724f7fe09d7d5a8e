//! Golden vectors in the blob: on a board, [`Translator::self_test`] says whether it computes what the host did when
//! the model was packed, and if not, which layer is the first to differ.

use crate::blob::layout::{SectionKind, SelfTestCase};
use crate::blob::{CRC32, digest_values};
use crate::error::Error;
use crate::observe::{LogitsCrc, Observer, Row, Stage, float_bytes};
use crate::translator::Translator;
use core::fmt;

/// Layer outputs that are checked: those of deeper models past this are covered by the logits alone.
pub const MAX_STAGES: usize = 24;

/// Why a self-test failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelfTestError {
    /// The blob has no golden vectors.
    Absent,
    /// The section contradicts itself.
    Malformed,
    /// The phrase could not be translated (limits smaller than the vector's count too).
    Run {
        /// Which vector.
        case: usize,
        /// Why.
        error: Error,
    },
    /// The source ids differ: the tokenizer's fault.
    SourceIds {
        /// Which vector.
        case: usize,
    },
    /// A layer's output differs; those before it are equal.
    Layer {
        /// Which vector.
        case: usize,
        /// The layer.
        stage: Stage,
        /// Checksum in the blob.
        expected: u32,
        /// Checksum computed here.
        found: u32,
    },
    /// The layers are equal, the logits differ.
    Logits {
        /// Which vector.
        case: usize,
        /// Checksum in the blob.
        expected: u32,
        /// Checksum computed here.
        found: u32,
    },
    /// The logits are equal, the target ids differ.
    TargetIds {
        /// Which vector.
        case: usize,
    },
}

impl fmt::Display for SelfTestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SelfTestError::Absent => write!(f, "the blob has no self-test vectors: pack it again"),
            SelfTestError::Malformed => write!(f, "the blob's self-test section contradicts itself: pack it again"),
            SelfTestError::Run { case, error } => write!(f, "vector {case}: {error}"),
            SelfTestError::SourceIds { case } => write!(f, "vector {case}: source ids differ"),
            SelfTestError::Layer { case, stage, expected, found } => {
                write!(f, "vector {case}: {stage} differs: {found:08x}, expected {expected:08x}")
            }
            SelfTestError::Logits { case, expected, found } => {
                write!(f, "vector {case}: logits differ: {found:08x}, expected {expected:08x}")
            }
            SelfTestError::TargetIds { case } => write!(f, "vector {case}: target ids differ"),
        }
    }
}

impl core::error::Error for SelfTestError {}

/// Checksums of what each layer put out: hidden states of all tokens in order, little-endian.
pub struct StageCrcs {
    encoder_blocks: usize,
    crcs: [u32; MAX_STAGES],
}

impl StageCrcs {
    /// Checksums over nothing yet, of a model with so many encoder blocks.
    pub fn new(encoder_blocks: usize) -> Self {
        StageCrcs { encoder_blocks, crcs: [0; MAX_STAGES] }
    }

    /// The stages a model has, embedding included on both sides, up to [`MAX_STAGES`].
    pub fn count(encoder_blocks: usize, decoder_blocks: usize) -> usize {
        (encoder_blocks + decoder_blocks + 2).min(MAX_STAGES)
    }

    /// The stage with an index, encoder first.
    pub fn stage(&self, index: usize) -> Stage {
        match index.checked_sub(self.encoder_blocks + 1) {
            None => Stage::Encoder(index as u8),
            Some(decoder) => Stage::Decoder(decoder as u8),
        }
    }

    /// Those of the first `count` stages.
    pub fn values(&self, count: usize) -> &[u32] {
        self.crcs.get(..count).unwrap_or(&self.crcs)
    }

    /// The checksum of the stage with an index.
    pub fn value(&self, index: usize) -> u32 {
        self.crcs.get(index).copied().unwrap_or(0)
    }
}

impl Observer for StageCrcs {
    fn hidden(&mut self, stage: Stage, _position: usize, row: Row<'_>) {
        let index = match stage {
            Stage::Encoder(layer) => layer as usize,
            Stage::Decoder(layer) => self.encoder_blocks + 1 + layer as usize,
        };
        let Some(crc) = self.crcs.get_mut(index) else { return };
        // Goes on where the checksum stands: half the memory of a digest.
        let mut digest = CRC32.digest_with_initial((!*crc).reverse_bits());
        match row {
            Row::Fixed { values, .. } => digest_values(&mut digest, values.iter().map(|v| v.to_le_bytes())),
            Row::Float(values) => digest_values(&mut digest, values.iter().map(|&v| float_bytes(v))),
        }
        *crc = digest.finalize();
    }
}

/// A golden vector as it lies in the section.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    /// Lengths and the checksum of the logits.
    pub case: SelfTestCase,
    /// Checksum of each stage, u32 each.
    pub stages: &'a [u8],
    /// Source ids, u16 each.
    pub source_ids: &'a [u8],
    /// Target ids, u16 each.
    pub target_ids: &'a [u8],
    /// The phrase.
    pub phrase: &'a [u8],
}

impl<'a> Vector<'a> {
    /// The vector at the start of `section` and what follows it.
    pub fn parse(section: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let case = SelfTestCase::read(section, 0).filter(|case| case.reserved == 0)?;
        let (_, rest) = section.split_at_checked(SelfTestCase::SIZE)?;
        let (stages, rest) = rest.split_at_checked(case.stages as usize * 4)?;
        let (source_ids, rest) = rest.split_at_checked(case.source_len as usize * 2)?;
        let (target_ids, rest) = rest.split_at_checked(case.target_len as usize * 2)?;
        let (phrase, rest) = rest.split_at_checked(case.phrase_len as usize)?;
        Some((Vector { case, stages, source_ids, target_ids, phrase }, rest))
    }

    /// Bytes [`Vector::emit`] writes.
    pub const fn emitted_len(&self) -> usize {
        SelfTestCase::SIZE + self.stages.len() + self.source_ids.len() + self.target_ids.len() + self.phrase.len()
    }

    /// Writes the vector; `None` where `out` is too short or a part does not have the length the case gives.
    pub fn emit(&self, out: &mut [u8]) -> Option<usize> {
        self.case.write(out, 0)?;
        let lengths = self.stages.len() == self.case.stages as usize * 4
            && self.source_ids.len() == self.case.source_len as usize * 2
            && self.target_ids.len() == self.case.target_len as usize * 2
            && self.phrase.len() == self.case.phrase_len as usize;
        let mut at = SelfTestCase::SIZE;
        for part in [self.stages, self.source_ids, self.target_ids, self.phrase] {
            out.get_mut(at..at + part.len())?.copy_from_slice(part);
            at += part.len();
        }
        lengths.then_some(at)
    }

    /// Checksum of stage `index`.
    fn stage(&self, index: usize) -> Option<u32> {
        let bytes = self.stages.get(index * 4..index * 4 + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Whether ids equal their stored form.
fn same_ids(stored: &[u8], ids: &[u16]) -> bool {
    stored.len() == ids.len() * 2 && stored.chunks_exact(2).zip(ids).all(|(stored, id)| *stored == id.to_le_bytes())
}

impl Translator<'_> {
    /// Translates the blob's own golden vectors and compares ids, layer outputs and logits with those of the host that
    /// packed it. Returns the number of vectors.
    ///
    /// # Errors
    ///
    /// [`SelfTestError`] names the first difference.
    #[inline(never)]
    pub fn self_test(&mut self) -> Result<usize, SelfTestError> {
        let section = self.blob.container().section(SectionKind::SelfTest).unwrap_or_default();
        // The vectors were made with the language the model was packed for and with all logits, whatever has been chosen since.
        let chosen = self.blob.tokenizer_mut().swap_language(None);
        let shortlist = core::mem::replace(&mut self.shortlist, false);
        let result = self.run_vectors(section);
        self.blob.tokenizer_mut().swap_language(Some(chosen));
        self.shortlist = shortlist;
        self.choose_rows();
        result
    }

    fn run_vectors(&mut self, mut section: &[u8]) -> Result<usize, SelfTestError> {
        let mut count = 0;
        while !section.is_empty() {
            let (vector, rest) = Vector::parse(section).ok_or(SelfTestError::Malformed)?;
            self.run_vector(count, &vector)?;
            section = rest;
            count += 1;
        }
        if count == 0 { Err(SelfTestError::Absent) } else { Ok(count) }
    }

    fn run_vector(&mut self, case: usize, vector: &Vector<'_>) -> Result<(), SelfTestError> {
        let spec = self.blob.spec();
        if vector.case.target_len > self.limits.target_tokens {
            return Err(SelfTestError::Run { case, error: Error::Limits });
        }
        let run = |error| SelfTestError::Run { case, error };
        let mut id = spec.header().start_id;
        let mut observers = (StageCrcs::new(spec.encoder_blocks()), LogitsCrc::new());
        self.tokenize(vector.phrase).map_err(run)?;
        if !same_ids(vector.source_ids, self.source_ids()) {
            return Err(SelfTestError::SourceIds { case });
        }
        self.encode(&mut observers).map_err(run)?;
        // The stored ids are fed, not the chosen ones: a fault that changes a choice would else show in the embedding
        // of the next step before the layer that is to blame.
        let mut chosen_equal = true;
        for stored in vector.target_ids.chunks_exact(2) {
            let stored = u16::from_le_bytes(stored.try_into().map_err(|_| SelfTestError::Malformed)?);
            chosen_equal &= self.step(id, &mut observers).map_err(run)? == stored;
            id = stored;
        }
        let (layers, logits) = &observers;
        for index in 0..vector.case.stages as usize {
            let (expected, found) = (vector.stage(index).unwrap_or(0), layers.value(index));
            if expected != found {
                return Err(SelfTestError::Layer { case, stage: layers.stage(index), expected, found });
            }
        }
        let (expected, found) = (vector.case.logits_crc, logits.value());
        if expected != found {
            return Err(SelfTestError::Logits { case, expected, found });
        }
        if chosen_equal { Ok(()) } else { Err(SelfTestError::TargetIds { case }) }
    }
}
