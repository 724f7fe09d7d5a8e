//! An evaluation as a person reads it.

use super::Evaluation;
use std::fmt;

/// Prints an evaluation as a table.
#[derive(Debug)]
pub struct Table<'e>(pub &'e Evaluation);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Evaluation { float, quantized, .. } = self.0;
        let e = self.0;
        let recipe = e.recipe.as_deref().unwrap_or(e.engine);
        writeln!(f, "blob: {} bytes, {recipe}", e.blob_bytes)?;
        writeln!(f, "phrases: {}, in {:.1} s", e.phrases, e.wall_seconds)?;
        writeln!(f)?;
        writeln!(f, "{:<28}{:>10}{:>11}{:>11}", "", "float", "quantized", "change")?;
        let (bleu, chrf) = (-e.bleu_drop(), -e.chrf_drop());
        writeln!(f, "{:<28}{:>10.2}{:>11.2}{bleu:>+11.2}", "BLEU", float.bleu, quantized.bleu)?;
        writeln!(f, "{:<28}{:>10.2}{:>11.2}{chrf:>+11.2}", "chrF", float.chrf, quantized.chrf)?;
        let (from, to, percent) = (float.cross_entropy, quantized.cross_entropy, e.cross_entropy_percent());
        writeln!(f, "{:<28}{from:>10.4}{to:>11.4}{percent:>+9.2} %", "cross-entropy, nats a token")?;
        let (from, to) = (float.core_seconds, quantized.core_seconds);
        writeln!(f, "{:<28}{from:>10.2}{to:>11.2}{:>10.2}x", "translating, core seconds", to / from)?;
        let (from, to) = (float.tokens_per_second, quantized.tokens_per_second);
        writeln!(f, "{:<28}{from:>10.0}{to:>11.0}{:>10.2}x", "target tokens a core second", to / from)?;
        writeln!(f)?;
        writeln!(f, "identical phrases: {:.2} % ({} of {})", e.identical_percent(), e.identical, e.phrases)?;
        if let Some(read) = e.output_read {
            let times = 1.0 / read;
            writeln!(f, "output matrix read by shortlist: {:.1} %, {times:.2} times fewer MACs", 100.0 * read)?;
        }
        writeln!(
            f,
            "mean KL(float || quantized): {:.3e} nats a token, over {} teacher-forced tokens",
            e.mean_kl, e.forced_tokens
        )?;
        if e.references_cut > 0 {
            writeln!(f, "references longer than --target-tokens, used up to there: {}", e.references_cut)?;
        }
        writeln!(f, "\nsignal to quantization noise, worst first:")?;
        for stage in &e.stages {
            writeln!(f, "  {:<12}{:>8.2} dB", stage.stage, stage.sqnr_db)?;
        }
        if !e.worst.is_empty() {
            writeln!(f, "\nphrases that differ, by the loss of chrF, the first differing token in ⟦⟧:")?;
        }
        for worst in &e.worst {
            writeln!(f, "  {}", worst.source)?;
            writeln!(f, "    reference        {}", worst.reference)?;
            writeln!(f, "    float     {:>6.2} {}", worst.float_chrf, worst.marked(&worst.float))?;
            writeln!(f, "    quantized {:>6.2} {}", worst.quantized_chrf, worst.marked(&worst.quantized))?;
        }
        Ok(())
    }
}
