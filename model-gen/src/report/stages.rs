//! Noise of every stage, in the order of the network.

use super::chart::{self, AXIS, ROW, Scale, WIDTH, at, middle, row_name, side};
use super::text::decibels;
use crate::evaluate::{Evaluation, StageNoise};
use maud::{Markup, html};

/// Bars are at least this much: below the scale's range nothing can be told apart.
const LEAST_DB: f64 = 10.0;

/// Where bars begin.
const LEFT: f64 = 58.0;

/// A bar a stage, the worst one marked.
pub fn section(e: &Evaluation) -> Markup {
    let worst = e.stages.first().filter(|stage| stage.sqnr_db.is_finite());
    let mut stages: Vec<&StageNoise> = e.stages.iter().collect();
    stages.sort_by_key(|stage| place(&stage.stage));
    let lead = html! {
        "Signal to quantization noise of the hidden states after each layer (0: the embedding) and of the logits, both models reading the same "
        "tokens. Higher is better: 6 dB are one bit."
        @if let Some(worst) = worst {
            " Worst: " b { (worst.stage) } ", " (decibels(worst.sqnr_db)) "\u{a0}dB."
        }
    };
    let body = html! {
        figure { (bars(&stages, worst.map_or("none", |stage| &stage.stage))) (chart::sides()) }
        (chart::table(&["stage", "SQNR, dB"], stages.iter().map(|s| vec![s.stage.clone(), decibels(s.sqnr_db)])))
    };
    super::section("noise", "", "Error by layer", lead, body)
}

fn bars(stages: &[&StageNoise], worst: &str) -> Markup {
    let bottom = AXIS + ROW * stages.len() as f64;
    let most = stages.iter().map(|s| s.sqnr_db).filter(|db| db.is_finite()).fold(LEAST_DB, f64::max);
    let scale = Scale::linear([0.0, most], [LEFT, WIDTH - 78.0]);
    let body = html! {
        (chart::axis(&scale, 6, bottom, ""))
        @for (row, stage) in stages.iter().enumerate() {
            @let end = scale.place(if stage.sqnr_db.is_finite() { stage.sqnr_db } else { most });
            g {
                title { (stage.stage) ": " (decibels(stage.sqnr_db)) " dB" }
                (row_name(LEFT, row, &stage.stage))
                rect class={ "bar " (if stage.stage == worst { "bad" } else { side(&stage.stage) }) } rx="2"
                    x=(at(LEFT)) y=(at(middle(row) - 5.5)) width=(at((end - LEFT).max(1.0))) height="11" {}
                text.value x=(at(end + 5.0)) y=(at(middle(row) + 3.8)) {
                    (decibels(stage.sqnr_db))
                    @if stage.stage == worst { tspan.bad { " worst" } }
                }
            }
        }
    };
    let desc = format!("One bar a stage in the order of the network; the shortest is {worst}.");
    chart::svg("noise", bottom + 4.0, "Signal to quantization noise by stage, in dB", &desc, body)
}

/// Encoder, decoder, logits; layers in order.
fn place(stage: &str) -> (u8, usize) {
    let layer = |text: &str| text.parse().unwrap_or(usize::MAX);
    match stage.split_once('.') {
        Some(("encoder", rest)) => (0, layer(rest)),
        Some(("decoder", rest)) => (1, layer(rest)),
        _ => (2, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_order_counts_layers() {
        let mut names = ["logits", "decoder.0", "encoder.10", "encoder.9"];
        names.sort_by_key(|name| place(name));
        assert_eq!(names, ["encoder.9", "encoder.10", "decoder.0", "logits"]);
    }
}
