//! The phrases that lose most.

use super::text::signed;
use crate::evaluate::{Evaluation, Worst};
use maud::{Markup, html};

/// Both translations side by side, the first token that differs marked.
pub fn section(e: &Evaluation) -> Markup {
    let differing = e.phrases - e.identical;
    let lead = html! {
        @if e.worst.is_empty() {
            "None: every phrase gets the very tokens that the float model gives."
        } @else {
            "Of the " (differing) " that are translated differently, those whose own chrF drops most. Marked is the first token "
            "that differs; from there on the two models read different histories."
        }
    };
    let body = html! {
        div.phrases { @for worst in &e.worst { (phrase(worst)) } }
    };
    super::section("worst", "wide", "Worst phrases", lead, body)
}

fn phrase(w: &Worst) -> Markup {
    html! {
        article {
            p.source { (w.source) }
            p.reference { span.tag { "reference" } (w.reference) }
            div.pair {
                div { p.tag { "float, chrF " (format!("{:.1}", w.float_chrf)) } p.text { (marked(&w.float, w.first_difference)) } }
                div {
                    p.tag {
                        "quantized, chrF " (format!("{:.1}", w.quantized_chrf))
                        " (" (signed(w.quantized_chrf - w.float_chrf, 1)) ")"
                    }
                    p.text { (marked(&w.quantized, w.first_difference)) }
                }
            }
        }
    }
}

/// Pieces as text, the one at `first` marked; a mark without text stands where the translation ends before it.
fn marked(pieces: &[String], first: usize) -> Markup {
    let (same, rest) = pieces.split_at(first.min(pieces.len()));
    let (differing, rest) = rest.split_at(rest.len().min(1));
    let text = |pieces: &[String]| pieces.concat().replace('\u{2581}', " ");
    let before = text(same);
    let piece = differing.first().map_or("", String::as_str);
    // The space that a piece begins with is not marked.
    let (space, piece) = match piece.strip_prefix('\u{2581}') {
        Some(rest) if !rest.is_empty() && !before.is_empty() => (" ", rest),
        Some(rest) if !rest.is_empty() => ("", rest),
        _ => ("", piece),
    };
    html! {
        (before.trim_start()) (space)
        mark {
            @match piece {
                "" => "(limit)",
                "</s>" => "(end)",
                "\u{2581}" => "\u{2423}",
                piece => (piece.replace('\u{2581}', " ")),
            }
        }
        (text(rest).trim_end_matches("</s>"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_token_is_marked_and_text_escaped() {
        let pieces = |text: &str| text.split(' ').map(|piece| piece.replace('_', "\u{2581}")).collect::<Vec<_>>();
        let shown = |text: &str, first| marked(&pieces(text), first).into_string();
        assert_eq!(shown("_Tom _na da . </s>", 2), "Tom na<mark>da</mark>.");
        assert_eq!(shown("_Tom _na </s>", 2), "Tom na<mark>(end)</mark>");
        assert_eq!(shown("_Tom _na", 2), "Tom na<mark>(limit)</mark>");
        assert_eq!(shown("_Tom _na", 0), "<mark>Tom</mark> na");
        assert_eq!(shown("_Tom _ <b>", 1), "Tom<mark>\u{2423}</mark>&lt;b&gt;");
        assert_eq!(shown("_Tom _<b> _&", 1), "Tom <mark>&lt;b&gt;</mark> &amp;");
    }
}
