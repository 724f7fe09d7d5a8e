//! Size against quality, for every evaluation in the folder.

use super::chart::{self, Scale, WIDTH, at, tick_text};
use super::text::{cut, signed, size, thousands};
use crate::evaluate::Evaluation;
use maud::{Markup, html};
use serde::Deserialize;

/// What the comparison needs of an evaluation, here or from a file.
#[derive(Clone, Debug, Deserialize)]
pub struct Point {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    /// Name of the engine.
    pub engine: String,
    /// How the blob was quantized, where it says so.
    pub recipe: Option<String>,
    /// Size of the blob.
    pub blob_bytes: usize,
    /// Distinct sources.
    pub phrases: usize,
    /// Which phrases they were.
    pub phrases_crc: u32,
    /// Phrases translated as by the float model.
    pub identical: usize,
    float: Scores,
    quantized: Scores,
}

/// Scores of one of the two models.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Scores {
    bleu: f64,
    chrf: f64,
}

impl Point {
    /// The point of an evaluation stored as `name`.
    pub fn of(e: &Evaluation, name: &str) -> Self {
        Point {
            name: name.to_owned(),
            engine: e.engine.to_owned(),
            recipe: e.recipe.clone(),
            blob_bytes: e.blob_bytes,
            phrases: e.phrases,
            phrases_crc: e.phrases_crc,
            identical: e.identical,
            float: Scores { bleu: e.float.bleu, chrf: e.float.chrf },
            quantized: Scores { bleu: e.quantized.bleu, chrf: e.quantized.chrf },
        }
    }

    /// How much chrF is lost.
    fn drop(&self) -> f64 {
        self.float.chrf - self.quantized.chrf
    }

    /// Whether it can be drawn.
    pub(super) fn is_sound(&self) -> bool {
        let scores = [self.float.bleu, self.float.chrf, self.quantized.bleu, self.quantized.chrf];
        scores.iter().all(|score| score.is_finite()) && self.blob_bytes > 0 && self.phrases > 0
    }

    /// The recipe up to its first comma: `int8`, `f16`, `int4 mix`.
    fn recipe(&self) -> &str {
        let recipe = self.recipe.as_deref().unwrap_or(&self.engine);
        recipe.split(',').next().unwrap_or(recipe).trim()
    }
}

/// Evaluations to draw together.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The one that the page is about.
    pub own: Point,
    /// Others, on the same phrases.
    pub others: Vec<Point>,
    /// Files of the folder that are no evaluation, or one on other phrases, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A dot an evaluation.
pub fn section(compared: &Compared) -> Markup {
    let mut points: Vec<&Point> = std::iter::once(&compared.own).chain(&compared.others).collect();
    points.sort_by(|a, b| (a.blob_bytes, &a.name).cmp(&(b.blob_bytes, &b.name)));
    let lead = html! {
        "What each recipe tried on these phrases costs in flash and in chrF. The corner at the lower left is best."
        @if compared.others.is_empty() {
            " Evaluate other blobs into the same folder to see them here."
        }
    };
    let row = |p: &&Point| {
        vec![
            p.name.clone(),
            p.recipe.clone().unwrap_or_else(|| p.engine.clone()),
            thousands(p.blob_bytes),
            format!("{:.2}", p.quantized.bleu),
            format!("{:.2}", p.quantized.chrf),
            signed(p.quantized.bleu - p.float.bleu, 2),
            signed(-p.drop(), 2),
            format!("{:.1} %", 100.0 * p.identical as f64 / p.phrases as f64),
        ]
    };
    let head = ["evaluation", "recipe", "bytes", "BLEU", "chrF", "\u{394} BLEU", "\u{394} chrF", "identical"];
    let body = html! {
        figure { (dots(&points, &compared.own)) }
        (chart::table(&head, points.iter().map(row)))
        @if !compared.left_out.is_empty() {
            p.note {
                "Left out: "
                @for (i, (name, reason)) in compared.left_out.iter().enumerate() {
                    @if i > 0 { "; " }
                    (name) " (" (reason) ")"
                }
                "."
            }
        }
    };
    super::section("recipes", "", "Quality against size", lead, body)
}

/// Bounds of the drawing.
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 210.0;
/// Height of a line of text.
const LINE: f64 = 14.0;
/// Characters of a label at most.
const LABEL: usize = 26;

fn dots(points: &[&Point], own: &Point) -> Markup {
    let most_bytes = points.iter().map(|p| p.blob_bytes as f64).fold(1.0, f64::max);
    let drops = || points.iter().map(|p| p.drop());
    let (least, most) = (drops().fold(0.0, f64::min), drops().fold(0.1, f64::max));
    let margin = (most - least) * 0.12;
    let x = Scale::linear([0.0, most_bytes * 1.08], [LEFT, RIGHT]);
    let y = Scale::linear([least - margin, most + margin], [BOTTOM, TOP]);
    let labels = labels(points, |p| (x.place(p.blob_bytes as f64), y.place(p.drop())));
    let body = html! {
        @for tick in y.ticks(5) {
            @let place = y.place(tick);
            line class=(if tick == 0.0 { "limit" } else { "grid" }) x1=(at(LEFT)) x2=(at(RIGHT)) y1=(at(place)) y2=(at(place)) {}
            text.tick x=(at(LEFT - 7.0)) y=(at(place + 3.8)) text-anchor="end" { (tick_text(tick)) }
        }
        @for tick in x.ticks(5) {
            @let place = x.place(tick);
            line.grid x1=(at(place)) x2=(at(place)) y1=(at(TOP)) y2=(at(BOTTOM)) {}
            text.tick x=(at(place)) y=(at(BOTTOM + 15.0)) text-anchor="middle" { (if tick == 0.0 { "0".to_owned() } else { size(tick as usize) }) }
        }
        text.tick x=(at(LEFT - 7.0)) y=(at(TOP - 9.0)) { "chrF lost" }
        text.tick x=(at(RIGHT)) y=(at(BOTTOM + 31.0)) text-anchor="end" { "size of the blob" }
        @for (p, label) in points.iter().zip(&labels) {
            @let (px, py) = (x.place(p.blob_bytes as f64), y.place(p.drop()));
            g {
                title {
                    (p.name) ": " (p.recipe.as_deref().unwrap_or(&p.engine)) "; " (thousands(p.blob_bytes)) " bytes, chrF "
                    (format!("{:.2}", p.quantized.chrf)) ", " (signed(-p.drop(), 2))
                }
                @if (label.y - py).abs() > LINE {
                    line.lead x1=(at(px)) x2=(at(label.x)) y1=(at(py)) y2=(at(label.y)) {}
                }
                circle class=(if p.name == own.name { "dot own" } else { "dot" }) cx=(at(px)) cy=(at(py)) r="5.5" {}
                text class=(if p.name == own.name { "name own" } else { "name" }) x=(at(label.x)) y=(at(label.y + 4.0))
                    text-anchor=(label.anchor) { (label.text) }
            }
        }
    };
    let desc =
        "One dot an evaluation: to the right the size of the blob, upwards the chrF lost against the float model.";
    chart::svg("recipes", BOTTOM + 36.0, "chrF lost against size, by recipe", desc, body)
}

struct Label {
    x: f64,
    y: f64,
    anchor: &'static str,
    text: String,
}

/// Labels beside their dots, moved down or up where they would lie on another.
fn labels(points: &[&Point], place: impl Fn(&Point) -> (f64, f64)) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for point in points {
        // A recipe tried twice is told apart by the name of the file.
        let twice = points.iter().filter(|other| other.recipe() == point.recipe()).count() > 1;
        let text = cut(if twice { &point.name } else { point.recipe() }, LABEL);
        let (x, y) = place(point);
        let left = x > (LEFT + RIGHT) / 2.0;
        let (x, anchor) = if left { (x - 10.0, "end") } else { (x + 10.0, "start") };
        let width = text.chars().count() as f64 * 6.4;
        let ends = |x: f64, width: f64, anchor: &str| if anchor == "end" { (x - width, x) } else { (x, x + width) };
        let (from, to) = ends(x, width, anchor);
        let free = |y: f64| {
            let dots = points.iter().map(|other| place(other));
            let mut on_dots = dots.filter(|(dx, dy)| (from - 7.0..to + 7.0).contains(dx) && (dy - y).abs() < 11.0);
            let mut on_labels = labels.iter().filter(|other| {
                let (a, b) = ends(other.x, other.text.chars().count() as f64 * 6.4, other.anchor);
                a < to && from < b && (other.y - y).abs() < LINE
            });
            on_dots.next().is_none() && on_labels.next().is_none() && (TOP + 6.0..BOTTOM - 4.0).contains(&y)
        };
        let shifts = (0..24).flat_map(|i| [f64::from(i), -f64::from(i)]).map(|i| y + i * LINE / 2.0);
        let y = shifts.into_iter().find(|y| free(*y)).unwrap_or(y);
        labels.push(Label { x, y, anchor, text });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, recipe: &str, blob_bytes: usize, chrf: f64) -> Point {
        let (float, quantized) = (Scores { bleu: 40.0, chrf: 60.0 }, Scores { bleu: 40.0, chrf });
        let (engine, recipe) = ("int8".to_owned(), Some(recipe.to_owned()));
        Point {
            name: name.to_owned(),
            engine,
            recipe,
            blob_bytes,
            phrases: 5,
            phrases_crc: 0,
            identical: 4,
            float,
            quantized,
        }
    }

    #[test]
    fn labels_lie_on_nothing() {
        let points: Vec<Point> =
            (0..7).map(|i| point(&format!("blob-{i}"), "int8, rows", 1_000_000 + i, 59.9)).collect();
        let points: Vec<&Point> = points.iter().collect();
        let labels = labels(&points, |_| (120.0, 100.0));
        assert!(labels.iter().enumerate().all(|(i, a)| labels[..i].iter().all(|b| (a.y - b.y).abs() >= LINE)));
        assert_eq!(labels[3].text, "blob-3", "recipes alike are told apart by name");
    }

    #[test]
    fn recipes_label_their_dots() {
        let (a, b) = (point("a", "int8, row scales", 1000, 59.9), point("b", "f16, libm", 2000, 60.0));
        let compared = Compared { own: a, others: vec![b], left_out: vec![("x.json".to_owned(), "why".to_owned())] };
        let html = section(&compared).into_string();
        for text in [">int8<", ">f16<", "Left out: x.json (why)."] {
            assert!(html.contains(text), "{text} is not in {html}");
        }
    }
}
