//! How long translations are: a bound that is linear in the source's length and holds for all but one in a thousand of those
//! that end as sentences do.

use super::{Watch, run_all, spread};
use crate::score::pairs::Phrase;
use anyhow::Result;
use latimer::{Limits, Model};

/// Phrases that are translated.
const PHRASES: usize = 4_000;
/// Share of them that the bound holds for.
const HELD: f64 = 0.999;

/// Target tokens a source token, a multiple of 1/8, and tokens beside: those that allow the fewest on average.
pub(super) fn fit(model: &Model<'_>, train: &[Phrase], limits: Limits, watch: Watch) -> Result<(f64, u16)> {
    let lengths = run_all(model, limits, &spread(train, PHRASES), |translator, phrase| {
        watch("lengths");
        let stats = translator.translate_phrase(phrase.source.as_bytes(), &mut (), &mut String::new());
        Ok(stats.ok().filter(|stats| !stats.truncated).map(|stats| (stats.source_tokens, stats.target_tokens)))
    })?;
    Ok(bound(&lengths.into_iter().flatten().collect::<Vec<_>>()))
}

fn bound(lengths: &[(usize, usize)]) -> (f64, u16) {
    let mean_source = lengths.iter().map(|(source, _)| *source as f64).sum::<f64>() / lengths.len().max(1) as f64;
    let mut best = (f64::INFINITY, 2.0, 8);
    for eighths in 8..=24 {
        let slope = f64::from(eighths) / 8.0;
        let mut more: Vec<f64> = lengths.iter().map(|&(s, t)| (t as f64 - slope * s as f64).max(0.0)).collect();
        more.sort_by(f64::total_cmp);
        let Some(more) = more.get(((more.len() as f64 * HELD) as usize).min(more.len().saturating_sub(1))) else {
            break;
        };
        let more = more.ceil();
        let allowed = slope * mean_source + more;
        if allowed < best.0 {
            best = (allowed, slope, more as u16);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bounds_hold_and_are_tight() {
        let lengths: Vec<(usize, usize)> = (0..2000).map(|i| (2 + i % 20, 3 + (2 + i % 20) * 3 / 2)).collect();
        let (slope, more) = super::bound(&lengths);
        assert_eq!((slope, more), (1.5, 3));
        assert_eq!(super::bound(&[]), (2.0, 8));
    }
}
