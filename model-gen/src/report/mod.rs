//! The report: an evaluation as one HTML file to look at, which asks for nothing outside itself.
//!
//! ```text
//! Evaluation ─ store as DIR/NAME.json ─ all evaluations in DIR ─┐
//!       └──────────────────────────────────────────────────────┴─ page ─ DIR/report.html
//! ```
//!
//! Text goes through `maud`, which escapes whatever is not marked as markup; the page's content security policy forbids
//! scripts and all loading besides, should that ever fail. Charts are inline SVG, colours come from one style sheet with
//! a light and a dark side, and behind each chart lies its table.

mod chart;
mod compare;
mod folder;
mod header;
mod judge;
mod memory;
mod ranges;
mod stages;
mod text;
mod weights;
mod worst;

use crate::evaluate::Evaluation;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use compare::{Compared, Point};
pub use folder::{Folder, PAGE};

const STYLE: &str = include_str!("style.css");
/// Nothing but the page's own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page of one evaluation, beside the others that were made on the same phrases.
pub fn page(evaluation: &Evaluation, compared: &Compared) -> String {
    let name = evaluation.blob.meta("name").unwrap_or("unnamed model");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (name) ", " (evaluation.engine) ": evaluation" }
                // Braces and quotes of the style sheet are not text.
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header::section(evaluation, name))
                main {
                    (stages::section(evaluation))
                    (compare::section(compared))
                    (ranges::section(evaluation))
                    (weights::section(evaluation))
                    (memory::section(evaluation))
                    (worst::section(evaluation))
                }
                footer {
                    p {
                        "Written by model-gen " (env!("CARGO_PKG_VERSION")) ". Same inputs give the same page, but for the times."
                    }
                }
            }
        }
    };
    page.into_string()
}

/// A section with its heading and what it tells.
fn section(id: &str, class: &str, title: &str, lead: Markup, body: Markup) -> Markup {
    html! {
        section id=(id) class={ "panel " (class) } aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            p.lead { (lead) }
            (body)
        }
    }
}
