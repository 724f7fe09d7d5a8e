//! The top of the page: which blob, how it fares, the headline figures.

use super::judge::{self, Level};
use super::text::{short, signed, size, thousands};
use crate::evaluate::{Evaluation, memory};
use maud::{Markup, html};

/// Fewer phrases than this, and a change of one weighs in the scores.
const FEW_PHRASES: usize = 500;

/// Identity, verdict, figures.
pub fn section(e: &Evaluation, name: &str) -> Markup {
    let recipe = e.recipe.as_deref().unwrap_or(e.engine);
    html! {
        header {
            p.eyebrow { "latimer \u{b7} a packed model against the float model it was made from" }
            h1 { (name) }
            p.recipe { (recipe) }
            (chips(e))
            (verdict(e))
            div.cards { (cards(e)) }
            (metadata(e))
        }
    }
}

fn chips(e: &Evaluation) -> Markup {
    let languages = e.blob.meta("source_language").zip(e.blob.meta("target_language"));
    html! {
        ul.chips aria-label="The blob" {
            li { b { (e.engine) } }
            @if let Some((from, to)) = languages { li { (from) " \u{2192} " (to) } }
            li { b { (size(e.blob_bytes)) } " flash" }
            li { b { (size(memory::total(&e.memory.arena))) } " arena" }
            li { "format " (e.blob.format_version) }
            li { "CRC-32 " code { (format!("{:08x}", e.blob.crc)) } }
            li { (thousands(e.phrases)) " phrases" }
        }
    }
}

fn verdict(e: &Evaluation) -> Markup {
    let levels = judge::levels(e);
    let worst = levels.iter().map(|(_, level)| *level).fold(Level::Equal, Level::max);
    let words = match worst {
        Level::Equal => "No measurable loss: every figure is within the limits of the best recipe.",
        Level::Small => "A small loss: measurable, hardly noticeable.",
        Level::Loss => "A loss that a reader may notice.",
    };
    let causes: Vec<&str> = levels.iter().filter(|(_, level)| *level == worst).map(|(name, _)| *name).collect();
    html! {
        p class={ "verdict " (worst.class()) } {
            span.sign aria-hidden="true" { (worst.sign()) }
            span {
                b { (words) }
                @if worst != Level::Equal { " It shows in: " (causes.join(", ")) "." }
                @if e.phrases < FEW_PHRASES {
                    " Judged on " (thousands(e.phrases)) " phrases only: one of them weighs "
                    (short(100.0 / e.phrases as f64)) " %."
                }
            }
        }
    }
}

fn cards(e: &Evaluation) -> Markup {
    let [bleu, chrf, identical, cross_entropy, kl] = judge::levels(e).map(|(_, level)| level);
    let speed = e.quantized.tokens_per_second / e.float.tokens_per_second;
    html! {
        (card("BLEU", &format!("{:.2}", e.quantized.bleu), html! {
            "float " (format!("{:.2}", e.float.bleu)) ", " (signed(-e.bleu_drop(), 2))
        }, Some((bleu, judge::BLEU.words(" lost")))))
        (card("chrF", &format!("{:.2}", e.quantized.chrf), html! {
            "float " (format!("{:.2}", e.float.chrf)) ", " (signed(-e.chrf_drop(), 2))
        }, Some((chrf, judge::CHRF.words(" lost")))))
        (card("identical phrases", &format!("{:.1} %", e.identical_percent()), html! {
            (thousands(e.identical)) " of " (thousands(e.phrases))
        }, Some((identical, judge::DIFFERING.words(" % differing")))))
        (card("cross-entropy, nats", &format!("{:.4}", e.quantized.cross_entropy), html! {
            "float " (format!("{:.4}", e.float.cross_entropy)) ", " (signed(e.cross_entropy_percent(), 2)) "\u{a0}%"
        }, Some((cross_entropy, judge::CROSS_ENTROPY.words(" % more")))))
        (card("KL divergence, nats", &format!("{:.1e}", e.mean_kl), html! {
            "over " (thousands(e.forced_tokens)) " tokens"
        }, Some((kl, judge::KL.words("")))))
        (card("tokens a core second", &thousands(e.quantized.tokens_per_second as usize), html! {
            "float " (thousands(e.float.tokens_per_second as usize)) ", " (format!("{speed:.2}")) "\u{d7}"
        }, None))
    }
}

fn card(label: &str, value: &str, detail: Markup, judged: Option<(Level, String)>) -> Markup {
    html! {
        div.card {
            p.label { (label) }
            p.value { (value) }
            p.detail { (detail) }
            @if let Some((level, limits)) = judged {
                p class={ "level " (level.class()) } title="up to the first limit as float, up to the second a small loss" {
                    (level.sign()) " " (level.words())
                    span.limits { (limits) }
                }
            } @else {
                p.level.none { "on this machine" }
            }
        }
    }
}

fn metadata(e: &Evaluation) -> Markup {
    html! {
        details {
            summary { "Metadata and times" }
            div.scroll {
                table {
                    tbody {
                        @for (key, value) in &e.blob.metadata {
                            tr { th scope="row" { (key) } td.text { (value) } }
                        }
                        tr { th scope="row" { "model version" } td.text { (e.blob.model_version) } }
                        tr { th scope="row" { "blob bytes" } td.text { (thousands(e.blob_bytes)) } }
                        tr { th scope="row" { "phrases' CRC-32" } td.text { (format!("{:08x}", e.phrases_crc)) } }
                        @if e.references_cut > 0 {
                            tr { th scope="row" { "references cut" } td.text { (thousands(e.references_cut)) } }
                        }
                        tr {
                            th scope="row" { "translating, core seconds" }
                            td.text { "float " (format!("{:.2}", e.float.core_seconds)) ", quantized " (format!("{:.2}", e.quantized.core_seconds)) }
                        }
                        tr { th scope="row" { "evaluation, seconds" } td.text { (format!("{:.1}", e.wall_seconds)) } }
                    }
                }
            }
        }
    }
}
