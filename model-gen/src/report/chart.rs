//! What the charts share. A chart is drawn in units of a narrow screen's pixels, and grows with its panel.

use super::text::short;
use maud::{Markup, html};

/// Width of a chart.
pub const WIDTH: f64 = 440.0;
/// Room for names at the left.
pub const NAMES: f64 = 118.0;
/// Height of a row of a chart with one row a thing.
pub const ROW: f64 = 17.0;
/// Height of the axis above the rows.
pub const AXIS: f64 = 22.0;

/// A coordinate: a tenth of a unit is finer than any screen.
pub fn at(x: f64) -> String {
    // Minus nothing is nothing.
    let x = (x * 10.0).round() / 10.0 + 0.0;
    if x.is_finite() { x.to_string() } else { "0".to_owned() }
}

/// An SVG image with its name and what it shows, for those who cannot see it.
pub fn svg(id: &str, height: f64, title: &str, desc: &str, body: Markup) -> Markup {
    let (title_id, desc_id) = (format!("{id}-svg-title"), format!("{id}-svg-desc"));
    html! {
        svg viewBox={ "0 0 " (at(WIDTH)) " " (at(height)) } role="img" aria-labelledby={ (title_id) " " (desc_id) } {
            title id=(title_id) { (title) }
            desc id=(desc_id) { (desc) }
            (body)
        }
    }
}

/// A map of values to places on an axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    log: bool,
}

impl Scale {
    /// Values `from..=to` at `start..=end`.
    pub fn linear([from, to]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Scale { from, to, start, end, log: false }
    }

    /// Positive values by their logarithm, over whole powers of two.
    pub fn log([from, to]: [f64; 2], [start, end]: [f64; 2]) -> Self {
        let (from, to) = (from.log2().floor(), to.log2().ceil());
        Scale { log: true, ..Scale::linear([from, to], [start, end]) }
    }

    /// The place of `value`; what lies outside is put at the end.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.log2() } else { value };
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }

    /// Round values for marks, `most` or fewer.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let span = self.to - self.from;
        let least = span / most.max(1) as f64;
        let step = if self.log {
            least.ceil().max(1.0)
        } else {
            let power = 10f64.powf(least.log10().floor());
            [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|step| *step >= least).unwrap_or(10.0 * power)
        };
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        let value = |i| if self.log { (i as f64 * step).exp2() } else { i as f64 * step };
        (first..=last).map(value).collect()
    }
}

/// The axis above rows: lines down to `bottom`, and what they stand for.
pub fn axis(scale: &Scale, most: usize, bottom: f64, unit: &str) -> Markup {
    html! {
        @for tick in scale.ticks(most) {
            @let x = at(scale.place(tick));
            line.grid x1=(x) x2=(x) y1=(at(AXIS - 4.0)) y2=(at(bottom)) {}
            text.tick x=(x) y=(at(AXIS - 8.0)) text-anchor="middle" { (tick_text(tick)) (unit) }
        }
    }
}

/// A mark's value, without zeros at the end.
pub fn tick_text(tick: f64) -> String {
    let text = if tick == 0.0 { "0".to_owned() } else { short(tick) };
    if text.contains('e') || !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').replace('-', "\u{2212}")
}

/// The name of row `row`, before the row's beginning at `left`.
pub fn row_name(left: f64, row: usize, name: &str) -> Markup {
    html! { text.name x=(at(left - 8.0)) y=(at(middle(row) + 3.8)) text-anchor="end" { (super::text::label(name)) } }
}

/// The middle of row `row`.
pub fn middle(row: usize) -> f64 {
    AXIS + ROW * (row as f64 + 0.5)
}

/// The class of what belongs to a part of the network: colours tell encoder, decoder and the rest apart.
pub fn side(name: &str) -> &'static str {
    match name.split('.').next() {
        Some("encoder") => "enc",
        Some("decoder") => "dec",
        _ => "out",
    }
}

/// What the colours of [`side`] stand for.
pub fn sides() -> Markup {
    html! {
        ul.legend {
            li { span.swatch.enc {} "encoder" }
            li { span.swatch.dec {} "decoder" }
            li { span.swatch.out {} "output, embeddings" }
        }
    }
}

/// A table behind a chart: names at the left, figures at the right.
pub fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        details {
            summary { "Table" }
            div.scroll {
                table {
                    thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (i, cell) in row.iter().enumerate() {
                                    @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        let scale = Scale::linear([0.0, 47.0], [100.0, 200.0]);
        assert_eq!(scale.ticks(5), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!((scale.place(0.0), scale.place(47.0), scale.place(99.0)), (100.0, 200.0, 200.0));
        let scale = Scale::log([0.3, 9.0], [0.0, 60.0]);
        assert_eq!(scale.ticks(6), [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!((scale.place(0.25), scale.place(16.0), scale.place(2.0)), (0.0, 60.0, 30.0));
        // One value only.
        let scale = Scale::linear([3.0, 3.0], [0.0, 10.0]);
        assert!(scale.place(3.0).is_finite() && !scale.ticks(3).is_empty());
        assert_eq!([0.0, 0.25, 10.0, 0.5, -0.2, 20.0].map(tick_text), ["0", "0.25", "10", "0.5", "\u{2212}0.2", "20"]);
        assert_eq!([1.25, -0.01, f64::NAN].map(at), ["1.3", "0", "0"]);
    }
}
