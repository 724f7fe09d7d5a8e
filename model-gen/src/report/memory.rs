//! Where the bytes go.

use super::chart::{self, WIDTH, at};
use super::text::{size, thousands};
use crate::evaluate::Evaluation;
use crate::evaluate::memory::{Part, total};
use maud::{Markup, html};

/// Colours of parts in the style sheet; the rest shares the last.
const COLOURS: usize = 8;
/// Height of a stack of parts.
const HEIGHT: f64 = 30.0;

/// Flash by section and by role, the arena by buffer.
pub fn section(e: &Evaluation) -> Markup {
    let m = &e.memory;
    let lead = html! {
        "The blob lies in flash and is read in place; the arena is all the RAM a translation needs besides the stack, here for "
        (m.source_tokens) " source tokens, " (m.target_tokens) " target tokens and " (thousands(m.text_bytes.into()))
        " bytes of text."
    };
    let body = html! {
        div.maps {
            (map("flash", "Flash by section", &m.sections, html! {}))
            (map("roles", "Weights by role of tensor", &m.roles, html! {}))
            (map("arena", "Arena by buffer", &m.arena, html! {
                p.note {
                    "While a phrase is tokenized, its text and Viterbi nodes lie over these buffers: "
                    (thousands(m.overlaid_text_bytes)) " bytes."
                }
            }))
        }
    };
    super::section("memory", "wide", "Memory map", lead, body)
}

fn map(id: &str, title: &str, parts: &[Part], note: Markup) -> Markup {
    let whole = total(parts).max(1);
    let share = |bytes: usize| 100.0 * bytes as f64 / whole as f64;
    let mut start = 0.0;
    let widths = parts.iter().map(|part| {
        let (from, width) = (start, part.bytes as f64 / whole as f64 * WIDTH);
        start += width;
        (from, width)
    });
    // The largest parts have the colours that are easiest to tell apart.
    let mut ranks: Vec<usize> = (0..parts.len()).collect();
    ranks.sort_by_key(|i| std::cmp::Reverse(parts[*i].bytes));
    let colour = |i: usize| ranks.iter().position(|rank| *rank == i).unwrap_or(COLOURS).min(COLOURS - 1);
    let stack = html! {
        @for (i, (part, (from, width))) in parts.iter().zip(widths).enumerate() {
            // A gap between parts, where they are wide enough for one.
            rect class={ "part p" (colour(i)) } x=(at(from)) y="0" height=(at(HEIGHT))
                width=(at(if width > 3.0 { width - 1.0 } else { width })) {
                title { (part.name) ": " (thousands(part.bytes)) " bytes, " (format!("{:.1} %", share(part.bytes))) }
            }
        }
    };
    let largest = parts.iter().max_by_key(|part| part.bytes).map_or("", |part| part.name.as_str());
    let desc = format!("A bar divided into {} parts; the largest is {largest}.", parts.len());
    html! {
        figure {
            h3 { (title) ", " (size(total(parts))) }
            (chart::svg(id, HEIGHT, title, &desc, stack))
            table.key {
                tbody {
                    @for (i, part) in parts.iter().enumerate() {
                        tr {
                            th scope="row" { span class={ "swatch p" (colour(i)) } {} (part.name) }
                            td { (thousands(part.bytes)) }
                            td { (format!("{:.1} %", share(part.bytes))) }
                        }
                    }
                }
            }
            (note)
        }
    }
}
