//! What is learned about a packed model, for its guide section: which head aligns, how long translations are, which words the
//! model carries over, and how far its probabilities can be trusted.

mod confidence;
mod heads;
mod lengths;
mod stand_ins;

pub use confidence::{Calibration, calibration_error};
pub use heads::HeadScore;
pub use stand_ins::Copied;

use crate::aligned::AlignedBytes;
use crate::pack::with_section;
use crate::score::pairs::Phrase;
use anyhow::{Context, Result, ensure};
use latimer::blob::guide::{GuideHeader, GuideParts, Knot};
use latimer::blob::layout::SectionKind;
use latimer::{Limits, Model, Translator};
use rayon::prelude::*;

/// What was learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// Every head of the decoder's cross-attention, the best first.
    pub heads: Vec<HeadScore>,
    /// Target tokens a source token, and more tokens, that translations stay within.
    pub lengths: (f64, u16),
    /// Stand-ins, the best first.
    pub stand_ins: Vec<Copied>,
    /// Confidence in phrases.
    pub phrase: Calibration,
    /// Confidence in tokens.
    pub token: Calibration,
    /// Bytes of the section.
    pub section_bytes: usize,
}

/// How far the learning is: a step's name, and that one of its phrases is done.
pub type Watch<'w> = &'w (dyn Fn(&'static str) + Sync);

/// Learns a guide for the blob: words and lengths from `train`, heads and confidence from `dev`. The blob with it, in place of an
/// older one.
pub fn learn(
    blob: &[u8],
    train: &[Phrase],
    dev: &[Phrase],
    limits: Limits,
    watch: Watch,
) -> Result<(Vec<u8>, Learned)> {
    ensure!(dev.len() >= 50, "{} phrases are too few to calibrate with: give 50 or more", dev.len());
    let bytes = AlignedBytes::copy_of(blob);
    let model = Model::from_bytes(&bytes).context("the blob cannot be run")?;
    let heads = heads::rank(&model, train, dev, limits, watch)?;
    let best = heads.first().context("the model has no decoder blocks")?;
    let lengths = lengths::fit(&model, train, limits, watch)?;
    let stand_ins = stand_ins::choose(&model, train, limits, watch)?;
    let header = GuideHeader {
        aligned_block: u8::try_from(best.block)?,
        aligned_head: u8::try_from(best.head)?,
        length_per_token: (lengths.0 * 256.0).round() as u16,
        length_more: lengths.1,
        ..GuideHeader::default()
    };
    // Confidence is in what the pipeline makes with the rest.
    let without = with_guide(blob, &header, (&[], &[]), &stand_ins)?.0;
    let bytes = AlignedBytes::copy_of(&without);
    let model = Model::from_bytes(&bytes).context("the blob cannot be run with its guide")?;
    let (phrase, token) = confidence::calibrate(&model, dev, limits, watch)?;
    let (blob, section_bytes) = with_guide(blob, &header, (&phrase.knots, &token.knots), &stand_ins)?;
    Model::from_bytes(&AlignedBytes::copy_of(&blob)).context("the blob cannot be run with its guide")?;
    Ok((blob, Learned { heads, lengths, stand_ins, phrase, token, section_bytes }))
}

/// The blob with a guide of these parts, and the bytes of that.
fn with_guide(
    blob: &[u8],
    header: &GuideHeader,
    (phrase, token): (&[Knot], &[Knot]),
    stand_ins: &[Copied],
) -> Result<(Vec<u8>, usize)> {
    let stand_ins: Vec<_> = stand_ins.iter().map(|word| (word.kind, word.text.as_str(), word.text.as_str())).collect();
    let parts = GuideParts { header: *header, phrase, token, stand_ins: &stand_ins };
    let mut section = vec![0; parts.emitted_len()];
    parts.emit(&mut section).context("a guide has too many entries")?;
    Ok((with_section(blob, SectionKind::Guide, &section)?, section.len()))
}

/// Runs something on every item, each thread with its own translator; results in the order of the items.
fn run_all<T: Sync, R: Send>(
    model: &Model<'_>,
    limits: Limits,
    items: &[T],
    run: impl Fn(&mut Translator<'_>, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let len = model.arena_len(limits).context("the model cannot run within these limits")?;
    items
        .par_iter()
        .map_init(|| AlignedBytes::zeroed(len), |arena, item| run(&mut model.translator(arena, limits)?, item))
        .collect()
}

/// At most `count` items, evenly spread.
fn spread<T>(items: &[T], count: usize) -> Vec<&T> {
    let count = count.min(items.len());
    (0..count).map(|i| &items[i * items.len() / count]).collect()
}
