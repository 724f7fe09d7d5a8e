//! Activation ranges of every linear.

use super::chart::{self, AXIS, NAMES, ROW, Scale, WIDTH, at, middle, row_name, side};
use super::text::{short, thousands};
use crate::evaluate::{ActivationRange, Evaluation};
use maud::{Markup, html};

/// From here on, a token's largest magnitude is drawn as an outlier: 8 bits leave less than four to the rest.
const OUTLIER: f32 = 12.0;
/// Where the bars of the ratio begin and end.
const CREST: [f64; 2] = [WIDTH - 104.0, WIDTH - 38.0];

/// A line from the smallest to the largest token, a box from the median to the 99th percentile.
pub fn section(e: &Evaluation) -> Markup {
    let lead = html! {
        "What the float model puts into each linear over these phrases: each token's largest magnitude. A token's scale "
        "follows it, so what counts is the peak, the largest magnitude over the root of the mean square: where it is high, a "
        "few outliers take the range and the rest is left with few steps."
    };
    let row = |r: &ActivationRange| -> Vec<String> {
        let figures = [r.min, r.median, r.p99, r.max, r.crest_median, r.crest_max];
        let mut row = vec![r.site.clone(), thousands(r.tokens)];
        row.extend(figures.map(|x| short(x.into())));
        row
    };
    let head = ["linear", "tokens", "min", "median", "p99", "max", "peak, median", "peak, worst"];
    let body = html! {
        figure {
            (boxes(&e.ranges))
            ul.legend {
                li { span.swatch.line {} "min to max" }
                li { span.swatch.box {} "median to p99" }
                li { span.swatch.bar {} "peak: median, worst token at the right" }
            }
        }
        (chart::table(&head, e.ranges.iter().map(row)))
    };
    super::section("ranges", "", "Activation ranges", lead, body)
}

fn boxes(ranges: &[ActivationRange]) -> Markup {
    let bottom = AXIS + ROW * ranges.len() as f64;
    let finite = |x: f32| (x.is_finite() && x > 0.0).then_some(f64::from(x));
    let least = ranges.iter().filter_map(|r| finite(r.min)).fold(f64::INFINITY, f64::min);
    let most = ranges.iter().filter_map(|r| finite(r.max)).fold(0.0, f64::max);
    let span = if most > 0.0 { [least.max(most * 1e-4), most] } else { [0.5, 1.0] };
    let scale = Scale::log(span, [NAMES, CREST[0] - 18.0]);
    let crest_most = ranges.iter().filter_map(|r| finite(r.crest_max)).fold(4.0, f64::max);
    let crest = Scale::linear([0.0, crest_most], CREST);
    let body = html! {
        (chart::axis(&scale, 6, bottom, ""))
        text.tick x=(at(CREST[0])) y=(at(AXIS - 8.0)) { "peak" }
        @for (row, r) in ranges.iter().enumerate() {
            @let y = middle(row);
            @let x = |value: f32| scale.place(value.into());
            g {
                title {
                    (r.site) ": min " (short(r.min.into())) ", median " (short(r.median.into())) ", p99 " (short(r.p99.into()))
                    ", max " (short(r.max.into())) "; peak " (short(r.crest_median.into())) ", worst " (short(r.crest_max.into()))
                }
                (row_name(NAMES, row, &r.site))
                line.whisker x1=(at(x(r.min))) x2=(at(x(r.max))) y1=(at(y)) y2=(at(y)) {}
                rect class={ "bar " (side(&r.site)) } rx="1.5" x=(at(x(r.median))) y=(at(y - 4.0))
                    width=(at((x(r.p99) - x(r.median)).max(1.5))) height="8" {}
                circle.end cx=(at(x(r.max))) cy=(at(y)) r="2" {}
                rect.bar.rest rx="1.5" x=(at(CREST[0])) y=(at(y - 3.0))
                    width=(at(crest.place(r.crest_median.into()) - CREST[0])) height="6" {}
                line class={ "mark" (if r.crest_max >= OUTLIER { " bad" } else { "" }) }
                    x1=(at(crest.place(r.crest_max.into()))) x2=(at(crest.place(r.crest_max.into())))
                    y1=(at(y - 4.5)) y2=(at(y + 4.5)) {}
                text class={ "value" (if r.crest_max >= OUTLIER { " bad" } else { "" }) } x=(at(WIDTH)) y=(at(y + 3.8))
                    text-anchor="end" { (format!("{:.1}", r.crest_max)) }
            }
        }
    };
    let desc = "One row a linear: a line from the smallest to the largest token, a box from the median to the 99th \
                percentile on a logarithmic scale; at the right the ratio of the largest magnitude to the root mean square.";
    chart::svg("ranges", bottom + 4.0, "Largest magnitude a token, by linear", desc, body)
}
