//! Which head of the decoder's cross-attention says best what a token was made from: judged by how likely the lexicon of a
//! statistical word alignment finds each target token to come from the source token that the head looks at.

use super::{Watch, run_all, spread};
use crate::align::{Aligner, Pair};
use crate::score::pairs::Phrase;
use anyhow::Result;
use latimer::{Limits, Model, Translator};

/// Pairs that the alignment is learned from at most, and phrases that heads are judged on.
const LEARNED: usize = 40_000;
const JUDGED: usize = 400;
/// Probability of what the lexicon lacks.
const LEAST: f32 = 1e-4;

/// A head and how it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadScore {
    /// Decoder block, from 0.
    pub block: usize,
    /// Head of it, from 0.
    pub head: usize,
    /// Mean logarithm of the lexicon's probabilities.
    pub score: f64,
}

pub(super) fn rank(
    model: &Model<'_>,
    train: &[Phrase],
    dev: &[Phrase],
    limits: Limits,
    watch: Watch,
) -> Result<Vec<HeadScore>> {
    // What the model itself says is what its heads are to explain.
    let translated = run_all(model, limits, &spread(train, LEARNED), |translator, phrase| {
        let found = translate(translator, &phrase.source);
        watch("alignment");
        Ok(found)
    })?;
    let aligner = Aligner::learn(&translated.into_iter().flatten().collect::<Vec<_>>(), || {});
    let judged = spread(dev, JUDGED);
    let mut scores = Vec::new();
    let spec = model.blob().spec();
    for block in 0..spec.decoder_blocks() {
        for head in 0..spec.decoder_block(block).map_or(0, |block| usize::from(block.heads)) {
            let sums = run_all(model, limits, &judged, |translator, phrase| {
                translator.set_alignment_head(block, head)?;
                let (mut sum, mut count) = (0.0, 0.0);
                if let Some(pair) = translate(translator, &phrase.source) {
                    translator.tokens(|place, token| {
                        let (Some(&source), Some(&target)) =
                            (pair.source.get(usize::from(token.source)), pair.target.get(place))
                        else {
                            return;
                        };
                        sum += f64::from(aligner.lexicon().probability(Some(source), target).max(LEAST).ln());
                        count += 1.0;
                    });
                }
                watch("heads");
                Ok((sum, count))
            })?;
            let (sum, count) = sums.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            scores.push(HeadScore { block, head, score: sum / f64::max(count, 1.0) });
        }
    }
    scores.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(scores)
}

/// Ids of a phrase and of its translation, both without the end of sentence; `None` of what does not fit.
fn translate(translator: &mut Translator<'_>, source: &str) -> Option<Pair> {
    translator.tokenize(source.as_bytes()).ok()?;
    translator.encode(&mut ()).ok()?;
    translator.search(&mut ()).ok()?;
    let words = |ids: &[u16]| ids.split_last().map(|(_, words)| words.to_vec());
    Some(Pair { source: words(translator.source_ids())?, target: words(translator.target_ids())? })
}
