//! What becomes of the weights: rounding noise and clipping.

use super::chart::{self, AXIS, NAMES, ROW, Scale, WIDTH, at, middle, row_name, side};
use super::text::{decibels, short, thousands};
use crate::evaluate::{Clipping, Evaluation, WeightFit};
use maud::{Markup, html};

/// Where the noise is drawn when clipping stands beside it.
const NOISE: [f64; 2] = [NAMES, 222.0];
/// Where the ratios to the limit are drawn.
const RATIO: [f64; 2] = [272.0, WIDTH - 58.0];

/// A bar of noise a tensor; with scales, the largest weight against what they can hold and the share that is clipped.
pub fn section(e: &Evaluation) -> Markup {
    let has_limits = e.weights.iter().any(|fit| fit.clipping.is_some());
    let clipped: usize = e.weights.iter().filter_map(|fit| fit.clipping).map(|c| c.clipped).sum();
    let lead = html! {
        "Each matrix of the blob against the checkpoint's."
        @if !has_limits {
            " Nothing can be clipped here: " (e.engine) " weights have no scales and so no limit, only rounding."
        } @else if clipped == 0 {
            " Largest weight over the limit of its scale: at 1 the scale just holds it. This recipe clips none."
        } @else {
            " Largest weight over the limit of its scale: beyond 1 it is clipped, which costs that weight and gives the others "
            "finer steps. Clipped in all: " b { (thousands(clipped)) } "."
        }
    };
    let row = |fit: &WeightFit| {
        let mut row = vec![
            fit.tensor.clone(),
            format!("{}\u{d7}{}", fit.rows, fit.cols),
            thousands(fit.bytes),
            decibels(fit.sqnr_db),
        ];
        if has_limits {
            row.push(fit.clipping.map_or("-".to_owned(), |c| format!("{:.3}", c.largest_over_limit)));
            row.push(fit.clipping.map_or("-".to_owned(), |c| thousands(c.clipped)));
            row.push(fit.clipping.map_or("-".to_owned(), |c| percent(fit, c)));
        }
        row
    };
    let mut head = vec!["tensor", "shape", "bytes", "SQNR, dB"];
    if has_limits {
        head.extend(["largest / limit", "clipped", "share"]);
    }
    let body = html! {
        figure { (bars(&e.weights, has_limits)) (chart::sides()) }
        (chart::table(&head, e.weights.iter().map(row)))
    };
    super::section("weights", "", if has_limits { "Weights and clipping" } else { "Weights" }, lead, body)
}

/// The share of clipped weights.
fn percent(fit: &WeightFit, clipping: Clipping) -> String {
    match 100.0 * clipping.clipped as f64 / (fit.rows * fit.cols) as f64 {
        0.0 => "0 %".to_owned(),
        share if share < 0.01 => "<0.01 %".to_owned(),
        share => format!("{} %", short(share)),
    }
}

fn bars(fits: &[WeightFit], has_limits: bool) -> Markup {
    let bottom = AXIS + ROW * fits.len() as f64;
    let finite = fits.iter().map(|fit| fit.sqnr_db).filter(|db| db.is_finite());
    let worst = finite.clone().fold(f64::INFINITY, f64::min);
    let most = finite.fold(10.0, f64::max);
    let noise = Scale::linear([0.0, most], if has_limits { NOISE } else { [NAMES, WIDTH - 40.0] });
    let ratios = fits.iter().filter_map(|fit| fit.clipping).map(|c| c.largest_over_limit).filter(|r| r.is_finite());
    let ratio = Scale::linear([0.0, ratios.fold(1.25, f64::max)], RATIO);
    let body = html! {
        (chart::axis(&noise, if has_limits { 3 } else { 6 }, bottom, " dB"))
        @if has_limits {
            (chart::axis(&ratio, 3, bottom, "\u{d7}"))
            line.limit x1=(at(ratio.place(1.0))) x2=(at(ratio.place(1.0))) y1=(at(AXIS - 4.0)) y2=(at(bottom)) {}
            text.tick x=(at(WIDTH)) y=(at(AXIS - 8.0)) text-anchor="end" { "clipped" }
        }
        @for (row, fit) in fits.iter().enumerate() {
            @let y = middle(row);
            @let end = noise.place(if fit.sqnr_db.is_finite() { fit.sqnr_db } else { most });
            g {
                title {
                    (fit.tensor) ": " (decibels(fit.sqnr_db)) " dB"
                    @if let Some(c) = fit.clipping {
                        ", largest weight " (format!("{:.3}", c.largest_over_limit)) " of its limit, " (percent(fit, c)) " clipped"
                    }
                }
                (row_name(NAMES, row, &fit.tensor))
                rect class={ "bar " (if fit.sqnr_db == worst && worst.is_finite() { "bad" } else { side(&fit.tensor) }) } rx="2"
                    x=(at(NAMES)) y=(at(y - 4.5)) width=(at((end - NAMES).max(1.0))) height="9" {}
                text.value x=(at(end + 4.0)) y=(at(y + 3.8)) { (decibels(fit.sqnr_db)) }
                @if let Some(c) = fit.clipping {
                    @let place = ratio.place(c.largest_over_limit);
                    @let over = if c.clipped > 0 { " bad" } else { "" };
                    line.whisker x1=(at(RATIO[0])) x2=(at(place)) y1=(at(y)) y2=(at(y)) {}
                    circle class={ "end" (over) } cx=(at(place)) cy=(at(y)) r="3" {}
                    text class={ "value" (over) } x=(at(WIDTH)) y=(at(y + 3.8)) text-anchor="end" { (percent(fit, c)) }
                }
            }
        }
    };
    let desc = if has_limits {
        "One row a matrix: a bar for the signal to noise in dB, a dot for the largest weight over its limit, and the share \
         of weights clipped."
    } else {
        "One row a matrix: a bar for the signal to noise in dB."
    };
    chart::svg("weights", bottom + 4.0, "Weights of the blob against the checkpoint's", desc, body)
}
