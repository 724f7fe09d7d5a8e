//! What models cost: multiply-accumulates and bytes of weights of one; ceilings that hold for every one.

use latimer::Model;
use latimer::blob::layout::Role;
use latimer::blob::shortlist::block_count;

/// Ceiling on the bytes of stack that the firmware of a board uses, its own line handling and JSON included: nothing
/// recurses and no buffer on the stack depends on the model. Measured, not derived from the call graph. `cargo xtask test`
/// holds the painted stacks of the emulated boards to it; `:stats` on a board prints what it used.
pub const STACK_BOUND: usize = 4096;

/// Multiply-accumulates of a model's linears; attention's products depend on the lengths and come on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Macs {
    /// Of a source token: encoder, and keys and values of the cross-attention.
    pub source: u64,
    /// Of a target token: decoder and output matrix.
    pub target: u64,
    /// Those of the output matrix, all of it.
    pub output: u64,
}

impl Macs {
    /// Those of a model.
    pub fn of(model: &Model<'_>) -> Self {
        let mut macs = Macs::default();
        for part in parts(model) {
            let count = part.rows as u64 * part.cols as u64;
            match part.of {
                Of::Source => macs.source += count,
                Of::Target => macs.target += count,
                Of::Output => (macs.output, macs.target) = (count, macs.target + count),
            }
        }
        macs
    }
}

/// Bytes of weights that are read, each matrix once for all that it does at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// For a phrase, whatever its length.
    pub phrase: u64,
    /// For a target token, of which `output` are the output matrix's.
    pub target: u64,
    /// Of the output matrix, all of it.
    pub output: u64,
}

impl Traffic {
    /// That of a model.
    pub fn of(model: &Model<'_>) -> Self {
        let mut traffic = Traffic::default();
        for Part { of, bytes, .. } in parts(model) {
            match of {
                Of::Source => traffic.phrase += bytes,
                Of::Target => traffic.target += bytes,
                Of::Output => (traffic.output, traffic.target) = (bytes, traffic.target + bytes),
            }
        }
        traffic
    }
}

/// The share of the output matrix that a phrase of so many source tokens reads: all of it without a shortlist, else at most what
/// its tokens list on average, none in common.
pub fn output_share(model: &Model<'_>, source_tokens: usize) -> f64 {
    let Some(shortlist) = model.blob().shortlist() else { return 1.0 };
    let header = model.blob().spec().header();
    let blocks = block_count(header.target_vocab) as f64;
    let always: u32 = shortlist.always().iter().map(|bits| bits.count_ones()).sum();
    let ids = 0..header.source_vocab;
    let listed: usize = ids.clone().map(|id| shortlist.blocks(id as u16).count()).sum();
    let each = listed as f64 / ids.len().max(1) as f64;
    ((f64::from(always) + each * source_tokens as f64) / blocks).min(1.0)
}

/// What a matrix is multiplied with.
enum Of {
    Source,
    Target,
    Output,
}

struct Part {
    of: Of,
    rows: usize,
    cols: usize,
    bytes: u64,
}

/// The matrices that tokens are multiplied with.
fn parts<'m>(model: &'m Model<'_>) -> impl Iterator<Item = Part> + 'm {
    let spec = model.blob().spec();
    let encoders = spec.encoder_blocks();
    model.blob().tensors().enumerate().filter_map(move |(index, tensor)| {
        let entry = tensor.entry();
        let cross_kv = entry.role == Role::CrossK as u8 || entry.role == Role::CrossV as u8;
        let of = if index as u32 == spec.header().output {
            Of::Output
        } else if entry.block == u16::MAX || tensor.cols() <= 1 {
            // Embeddings are looked up; norms and positions do not multiply matrices.
            return None;
        } else if (entry.block as usize) < encoders || cross_kv {
            Of::Source
        } else {
            Of::Target
        };
        Some(Part { of, rows: tensor.rows(), cols: tensor.cols(), bytes: tensor.flash_bytes() as u64 })
    })
}
