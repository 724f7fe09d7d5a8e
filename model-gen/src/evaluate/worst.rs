//! The phrases that lose most, side by side.

use super::phrase::Outcome;
use crate::score::corpus_chrf;
use crate::score::pairs::Phrase;
use anyhow::Result;
use latimer::Model;
use rayon::prelude::*;
use serde::Serialize;

/// Phrases shown.
const COUNT: usize = 10;

/// A phrase that the two models translate differently.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// The source.
    pub source: String,
    /// The first reference.
    pub reference: String,
    /// The phrase's own chrF2 of the float model.
    pub float_chrf: f64,
    /// That of the quantized model.
    pub quantized_chrf: f64,
    /// Tokens before the first that differs.
    pub first_difference: usize,
    /// Pieces of the float model's translation, end of sentence included where it was reached.
    pub float: Vec<String>,
    /// Pieces of the quantized model's translation.
    pub quantized: Vec<String>,
}

impl Worst {
    /// The pieces as text, the first one that differs in brackets; the brackets are empty where a translation ends
    /// before it.
    pub fn marked(&self, pieces: &[String]) -> String {
        let text = |pieces: &[String]| pieces.concat().replace('\u{2581}', " ");
        let (same, rest) = pieces.split_at(self.first_difference.min(pieces.len()));
        let (first, rest) = rest.split_at(rest.len().min(1));
        let marked = format!("{}⟦{}⟧{}", text(same), text(first), text(rest));
        marked.trim_start().to_owned()
    }
}

/// The phrases whose chrF drops most, worst first; those of equal loss in their order.
pub(super) fn worst(model: &Model<'_>, phrases: &[Phrase], outcomes: &[Outcome]) -> Result<Vec<Worst>> {
    let differing: Vec<_> = phrases.iter().zip(outcomes).filter(|(_, o)| o.float.ids != o.quantized.ids).collect();
    let mut drops = differing
        .into_par_iter()
        .map(|(phrase, outcome)| {
            let references = [phrase.references.iter().map(String::as_str).collect::<Vec<_>>()];
            let float = corpus_chrf(&[&outcome.float.text], &references)?;
            let quantized = corpus_chrf(&[&outcome.quantized.text], &references)?;
            Ok((float, quantized, phrase, outcome))
        })
        .collect::<Result<Vec<_>>>()?;
    drops.sort_by(|a, b| (b.0 - b.1).total_cmp(&(a.0 - a.1)));
    drops.truncate(COUNT);
    let pieces = |ids: &[u16]| -> Vec<String> {
        ids.iter().map(|id| model.blob().tokenizer().piece(*id).unwrap_or_default().to_owned()).collect()
    };
    let worst = drops.into_iter().map(|(float_chrf, quantized_chrf, phrase, outcome)| {
        let (float, quantized) = (&outcome.float.ids, &outcome.quantized.ids);
        Worst {
            source: phrase.source.clone(),
            reference: phrase.references[0].clone(),
            float_chrf,
            quantized_chrf,
            first_difference: float.iter().zip(quantized).take_while(|(a, b)| a == b).count(),
            float: pieces(float),
            quantized: pieces(quantized),
        }
    });
    Ok(worst.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_token_is_marked() {
        let pieces = |text: &str| text.split(' ').map(|piece| piece.replace('_', "\u{2581}")).collect::<Vec<_>>();
        let (float, quantized) = (pieces("_Tom _na da . </s>"), pieces("_Tom _na </s>"));
        let worst = Worst {
            source: String::new(),
            reference: String::new(),
            float_chrf: 0.0,
            quantized_chrf: 0.0,
            first_difference: 2,
            float: float.clone(),
            quantized: quantized.clone(),
        };
        assert_eq!(worst.marked(&float), "Tom na⟦da⟧.</s>");
        assert_eq!(worst.marked(&quantized), "Tom na⟦</s>⟧");
        assert_eq!(worst.marked(&quantized[..2]), "Tom na⟦⟧");
        assert_eq!(worst.marked(&[]), "⟦⟧");
    }
}
