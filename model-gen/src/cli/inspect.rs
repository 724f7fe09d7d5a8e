//! `model-gen inspect`.

use super::{LimitArgs, parse_blob, print, read_blob};
use crate::cost::Macs;
use crate::shortlist::section_bytes;
use anyhow::Result;
use latimer::blob::glossary::GlossaryKind;
use latimer::blob::guide::StandInKind;
use latimer::blob::layout::{Role, SectionKind};
use latimer::blob::shortlist::block_count;
use latimer::{ArenaPlan, Model};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blob to look at.
    #[arg(long, value_name = "FILE")]
    blob: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Prints what the blob holds.
pub fn run(args: &Args) -> Result<ExitCode> {
    let bytes = read_blob(&args.blob)?;
    let model = parse_blob(&args.blob, &bytes)?;
    let (limits, plan) = args.limits.plan(&model)?;
    let value = json!({
        "blob": blob(&model),
        "metadata": model.blob().meta_lines().map(|(k, v)| (k.to_owned(), json!(v))).collect::<serde_json::Map<_, _>>(),
        "model": spec(&model),
        "tokenizer": tokenizer(&model),
        "macs": macs(&model),
        "flash": flash(&model),
        "shortlist": shortlist(&model),
        "guide": guide(&model),
        "glossary": glossary(&model),
        "arena": arena(&plan, limits),
        "stack_bound_bytes": crate::cost::STACK_BOUND,
        "tensors": model.blob().tensors().map(|t| tensor(&t)).collect::<Vec<_>>(),
    });
    print(&if args.json { format!("{value}\n") } else { text_of(&value) })?;
    Ok(ExitCode::SUCCESS)
}

fn blob(model: &Model<'_>) -> Value {
    let header = model.blob().container().header();
    json!({
        "format_version": header.version,
        "model_version": header.model_version,
        "engine": model.blob().engine().name(),
        "weight_layout": header.layout,
        "bytes": model.blob().len(),
    })
}

fn spec(model: &Model<'_>) -> Value {
    let spec = model.blob().spec();
    let h = spec.header();
    let blocks: Vec<Value> = (0..spec.block_count())
        .filter_map(|i| spec.block(i))
        .map(|b| {
            json!({
                "kind": if b.kind == 0 { "encoder" } else { "decoder" },
                "heads": b.heads,
                "ffn": b.ffn,
                "activation": format!("{:?}", b.activation()).to_lowercase(),
            })
        })
        .collect();
    json!({
        "d_model": h.d_model,
        "source_vocab": h.source_vocab,
        "target_vocab": h.target_vocab,
        "max_positions": h.max_positions,
        "eos_id": h.eos_id,
        "unk_id": h.unk_id,
        "pad_id": h.pad_id,
        "start_id": h.start_id,
        "blocks": blocks,
    })
}

fn tokenizer(model: &Model<'_>) -> Value {
    let tokenizer = model.blob().tokenizer();
    json!({
        "algorithm": format!("{:?}", tokenizer.algorithm()).to_lowercase(),
        "source_pieces": tokenizer.source().len(),
        "target_pieces": tokenizer.target().len(),
        "languages": tokenizer.languages().collect::<Vec<_>>(),
        "language": tokenizer.language(),
    })
}

/// Multiply-accumulates of linears and the output matrix; attention products depend on the lengths and come on top.
fn macs(model: &Model<'_>) -> Value {
    let Macs { source, target, output } = Macs::of(model);
    json!({
        "per_source_token": source,
        "per_target_token": target,
        "of_these_output_matrix": output,
    })
}

fn flash(model: &Model<'_>) -> Value {
    let section = |kind| model.blob().container().section(kind).map_or(0, <[u8]>::len);
    let tokenizer =
        section(SectionKind::Tokenizer) + section(SectionKind::SourceVocab) + section(SectionKind::TargetVocab);
    let matrices: usize = model
        .blob()
        .tensors()
        .filter(|t| t.cols() > 1)
        .map(|t| {
            if t.entry().dtype == latimer::blob::tensor::dtype::F16 {
                2 * t.rows() * t.cols()
            } else {
                t.packed().len()
            }
        })
        .sum();
    json!({
        "total_bytes": model.blob().len(),
        "matrix_bytes": matrices,
        "tokenizer_bytes": tokenizer,
        "overhead_percent": percent(model.blob().len(), matrices + tokenizer),
        "sections": SectionKind::ALL
            .iter()
            .filter(|kind| section(**kind) > 0)
            .map(|kind| (format!("{kind:?}"), json!(section(*kind))))
            .collect::<serde_json::Map<_, _>>(),
    })
}

/// How much `whole` exceeds `part`, in percent, two decimals.
fn percent(whole: usize, part: usize) -> f64 {
    ((whole as f64 / part as f64 - 1.0) * 10_000.0).round() / 100.0
}

/// What the shortlist reads; null where there is none.
fn shortlist(model: &Model<'_>) -> Value {
    let Some(shortlist) = model.blob().shortlist() else { return Value::Null };
    let spec = model.blob().spec().header();
    let listed: Vec<usize> = (0..spec.source_vocab).map(|id| shortlist.blocks(id as u16).count()).collect();
    json!({
        "bytes": section_bytes(model),
        "blocks": block_count(spec.target_vocab),
        "blocks_always_read": shortlist.always().iter().map(|bits| bits.count_ones()).sum::<u32>(),
        "listed_blocks": listed.iter().sum::<usize>(),
        "most_blocks_of_a_source_id": listed.iter().max(),
    })
}

/// What guides translations; null where nothing does.
fn guide(model: &Model<'_>) -> Value {
    let Some(section) = model.blob().container().section(SectionKind::Guide) else { return Value::Null };
    let guide = model.blob().guide();
    let header = guide.header();
    let words = |kind| guide.stand_ins(kind).map(|(source, _)| source).collect::<Vec<_>>();
    json!({
        "bytes": section.len(),
        "aligned_block": header.aligned_block,
        "aligned_head": header.aligned_head,
        "target_tokens_per_source_token": f64::from(header.length_per_token) / 256.0,
        "target_tokens_more": header.length_more,
        "stand_ins_name": words(StandInKind::Name),
        "stand_ins_number": words(StandInKind::Number),
        "phrase_confidence_knots": header.phrase_knots,
        "token_confidence_knots": header.token_knots,
    })
}

/// What the glossary has; null where there is none.
fn glossary(model: &Model<'_>) -> Value {
    let Some(section) = model.blob().container().section(SectionKind::Glossary) else { return Value::Null };
    let glossary = model.blob().glossary();
    let kinds = || (0..glossary.len()).filter_map(|i| glossary.entry(i)).map(|(_, kind, _)| kind);
    json!({
        "bytes": section.len(),
        "phrases": kinds().filter(|kind| *kind == GlossaryKind::Phrase).count(),
        "terms": kinds().filter(|kind| *kind == GlossaryKind::Term).count(),
    })
}

fn arena(plan: &ArenaPlan, limits: latimer::Limits) -> Value {
    json!({
        "source_tokens": limits.source_tokens,
        "target_tokens": limits.target_tokens,
        "text_bytes": limits.text_bytes,
        "beams": limits.beams,
        "total_bytes": plan.total(),
        "source_ids": plan.source_ids,
        "target_ids": plan.target_ids,
        "beam_search": plan.book,
        "shortlist": plan.shortlist,
        "encoder_or_cross_kv": plan.cross,
        "hidden": plan.hidden,
        "self_kv_over_hidden": plan.own,
        "encode_work": plan.encode_work,
        "step_work": plan.step_work,
        "text_and_viterbi_overlaid": plan.text,
    })
}

fn tensor(tensor: &latimer::blob::Tensor<'_>) -> Value {
    let entry = tensor.entry();
    let role = Role::ALL.iter().find(|role| **role as u8 == entry.role);
    let kind = ["int8", "f16", "norm", "steps", "int4", "int8", "int8 pairs"].get(entry.dtype as usize);
    let kind = kind.map(|kind| if entry.group == 0 { (*kind).to_owned() } else { format!("{kind}/{}", entry.group) });
    json!({
        "role": role.map(|role| format!("{role:?}")),
        "block": (entry.block != u16::MAX).then_some(entry.block),
        "type": kind,
        "rows": entry.rows,
        "cols": entry.cols,
        "input_bits": tensor.packing().map(|_| entry.in_bits),
        "bytes": tensor.flash_bytes(),
    })
}

/// The same values as lines: objects as indented keys, arrays of objects as tables.
fn text_of(value: &Value) -> String {
    let part = |(name, part): (&String, &Value)| match part {
        Value::Object(fields) => format!("{name}\n{}", fields.iter().map(field_of).collect::<String>()),
        Value::Array(rows) => table_of(name, rows),
        other => format!("{name}\n  {other}\n"),
    };
    value.as_object().into_iter().flatten().map(part).collect()
}

fn field_of((key, field): (&String, &Value)) -> String {
    match field {
        Value::Array(rows) if rows.iter().any(Value::is_object) => table_of(&format!("  {key}"), rows),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, field)| format!("    {key:<28} {}\n", plain(field)));
            format!("  {key}\n{}", fields.collect::<String>())
        }
        other => format!("  {key:<30} {}\n", plain(other)),
    }
}

fn table_of(name: &str, rows: &[Value]) -> String {
    let line =
        |cells: Vec<String>| format!("  {}\n", cells.iter().map(|cell| format!("{cell:>12}")).collect::<String>());
    let rows: Vec<_> = rows.iter().filter_map(Value::as_object).collect();
    let header = rows.first().map(|first| line(first.keys().cloned().collect())).unwrap_or_default();
    let lines = rows.iter().map(|row| line(row.values().map(plain).collect()));
    format!("{name}\n{header}{}", lines.collect::<String>())
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Array(values) if values.is_empty() => "-".to_owned(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
