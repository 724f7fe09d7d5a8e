//! Where every buffer lies, from the spec and the limits, in `const`.

use super::{Limits, MAX_BEAMS};
use crate::blob::Blob;
use crate::blob::layout::ALIGN;
use crate::blob::shortlist::set_bytes;
use crate::blob::spec::Spec;
use crate::engine::{Engine, EngineKind, Room};
use crate::error::Error;
use crate::passage::Said;
use crate::search::{book_bytes, choice_bytes};
use crate::text::{Node, SourceSpan};

/// Tokens at least whose feed-forward activations are in flight at once in the encoder, which reads each weight once for so
/// many. A phrase shorter than the limits leaves room for more of them.
const LEAST_TOKENS: usize = 5;
/// Logits of a beam that are made at a time.
pub(crate) const STRIP: usize = 64;
const _: () = assert!(STRIP.is_multiple_of(crate::kernel::ROWS), "strips are whole row blocks");
/// Bytes of a translation at least, and for each token: more than most pieces have.
const LEAST_DRAFT: usize = 64;
const DRAFT_BYTES: usize = 12;
/// Bytes of Viterbi work for each byte of normalized text.
const NODE_BYTES: usize = size_of::<Node>();

/// Bytes of each region, in order of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaPlan {
    /// Source ids.
    pub source_ids: usize,
    /// Target ids.
    pub target_ids: usize,
    /// What a search remembers.
    pub book: usize,
    /// The set of row blocks that a phrase reads of the output matrix; nothing without a shortlist.
    pub shortlist: usize,
    /// Keys and values of the encoder, then those of every cross-attention.
    pub cross: usize,
    /// Hidden states of the encoder.
    pub hidden: usize,
    /// Keys and values of every decoder self-attention, for each beam, where the hidden states were.
    pub own: usize,
    /// Activations of some tokens and attention scratch while encoding.
    pub encode_work: usize,
    /// The same of a token for each beam while decoding.
    pub step_work: usize,
    /// Ids, text as the model reads it, then normalized, and Viterbi nodes, over all of these.
    pub text: usize,
    /// The same once more, what is known of source and target tokens, and the translation before it is written: over what
    /// comes behind the book.
    pub finish: usize,
}

/// Element sizes of an engine, for sizing in `const`.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    hidden: usize,
    input: usize,
    wide: usize,
    cache: usize,
    scale: usize,
}

impl Sizes {
    /// The sizes of an engine; its module asserts that they are those of its types.
    pub const fn of(engine: EngineKind) -> Self {
        match engine {
            EngineKind::Int8 => Sizes { hidden: 2, input: 2, wide: 4, cache: 1, scale: 4 },
            EngineKind::F16 => Sizes { hidden: 4, input: 4, wide: 4, cache: 2, scale: 0 },
        }
    }
}

pub(super) const fn round_up(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN)
}

impl Sizes {
    /// Whether these are the sizes of the types of `E`.
    pub const fn are_those_of<E: Engine>(self) -> bool {
        self.hidden == size_of::<E::Hidden>()
            && self.input == size_of::<E::Input>()
            && self.wide == size_of::<E::Wide>()
            && self.cache == size_of::<E::Cache>()
            && self.scale == size_of::<E::Scale>() * E::SCALES
    }
}

const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

/// Elements of a cache of keys or of values: heads are padded to four elements.
pub(super) const fn cache_len(room: Room, d_model: usize, heads: usize) -> usize {
    let heads = larger(heads, 1);
    room.capacity * heads * d_model.div_ceil(heads).next_multiple_of(4)
}

/// Scores of an attention over so many positions, where the context of a head lies too, and a part of it.
pub(super) const fn scores_len(positions: usize, head_dim: usize) -> usize {
    larger(positions, 2 * head_dim)
}

/// A head of a query, then weights for so many positions.
pub(super) const fn weights_len(positions: usize, head_dim: usize) -> usize {
    head_dim.next_multiple_of(4) + Room::up_to(positions).capacity
}

/// Bytes of keys and values.
pub(super) const fn kv_bytes(sizes: Sizes, room: Room, d_model: usize, heads: usize) -> usize {
    2 * (round_up(cache_len(room, d_model, heads) * sizes.cache) + round_up(room.capacity * heads * sizes.scale))
}

/// Elements of the hidden states of so many beams, where the best next tokens of each lie too once the logits are made.
pub(super) const fn hidden_len(sizes: Sizes, beams: usize, d_model: usize) -> usize {
    larger(beams * d_model, choice_bytes(beams).div_ceil(sizes.hidden))
}

/// What work buffers are sized by.
#[derive(Clone, Copy)]
pub(super) struct WorkShape {
    pub d_model: usize,
    /// The widest feed-forward layer, and no narrower than `d_model`.
    pub ffn: usize,
    pub head_dim: usize,
    /// Positions attended to at most.
    pub positions: usize,
    /// Hidden states kept in the work buffers: one for each beam.
    pub hidden: usize,
}

impl WorkShape {
    /// Elements of linears' inputs where `elements` are shared out among tokens; while tokens attend, a head of a query and
    /// weights lie there.
    pub const fn inputs(self, elements: usize) -> usize {
        larger(elements, weights_len(self.positions, self.head_dim))
    }

    /// Elements of linears' outputs; while tokens attend, queries and scores lie there.
    pub const fn outputs(self, elements: usize) -> usize {
        elements + scores_len(self.positions, self.head_dim)
    }

    /// Tokens of `d_model` values that fit `elements`.
    pub const fn scales(self, elements: usize) -> usize {
        // Zero for no width at all, which no checked spec has.
        match elements.checked_div(self.d_model) {
            Some(scales) => scales,
            None => 0,
        }
    }

    const fn bytes(self, sizes: Sizes, elements: usize) -> usize {
        round_up(hidden_len(sizes, self.hidden, self.d_model) * sizes.hidden)
            + round_up(self.inputs(elements) * sizes.input)
            + round_up(self.outputs(elements) * sizes.wide)
            + round_up(self.scales(elements) * sizes.scale)
    }

    /// Elements that fit `bytes`: of the feed-forward layer of `most` tokens at most, and no less than a step of each beam needs.
    pub const fn elements(self, sizes: Sizes, bytes: usize, most: usize) -> usize {
        let token = self.ffn * (sizes.input + sizes.wide);
        let Some(mut tokens) = bytes.checked_div(token) else { return 0 };
        tokens = if tokens > most { most } else { tokens };
        while tokens > 0 && self.bytes(sizes, tokens * self.ffn) > bytes {
            tokens -= 1;
        }
        larger(tokens * self.ffn, self.step_elements())
    }

    /// A hidden state and a strip of logits for each beam, and no less than one token's feed-forward layer.
    const fn step_elements(self) -> usize {
        larger(self.ffn, self.hidden * larger(self.d_model, STRIP))
    }
}

impl ArenaPlan {
    /// The plan of a spec under limits.
    pub const fn new(spec: &Spec<'_>, engine: EngineKind, limits: Limits) -> Result<Self, Error> {
        let (source, target) = (limits.source_tokens as usize, limits.target_tokens as usize);
        let most = spec.most_positions() as usize;
        if source == 0 || target == 0 || source > most || target > most || limits.text_bytes == 0 {
            return Err(Error::Limits);
        }
        let beams = limits.beams as usize;
        if beams == 0 || beams > MAX_BEAMS {
            return Err(Error::Limits);
        }
        let (sizes, d, bytes) = (Sizes::of(engine), spec.d_model(), limits.text_bytes as usize);
        let (mut encoder, mut cross, mut own, mut ffn, mut head_dim) = (0usize, 0usize, 0usize, d, 1);
        let mut i = 0;
        while let Some(block) = spec.block(i) {
            let heads = block.heads as usize;
            ffn = larger(ffn, block.ffn as usize);
            head_dim = larger(head_dim, d / larger(heads, 1));
            if i < spec.encoder_blocks() {
                encoder = larger(encoder, kv_bytes(sizes, Room::exact(source), d, heads));
            } else {
                // Saturating: a blob of many wide blocks may ask for more than a 32-bit address space has.
                cross = cross.saturating_add(kv_bytes(sizes, Room::exact(source), d, heads));
                let kv = kv_bytes(sizes, Room::up_to(target), d, heads);
                own = own.saturating_add(kv.saturating_mul(beams));
            }
            i += 1;
        }
        let block = if source < LEAST_TOKENS { source } else { LEAST_TOKENS };
        let encode = WorkShape { d_model: d, ffn, head_dim, positions: source, hidden: 1 };
        let step = WorkShape { positions: larger(source, target), hidden: beams, ..encode };
        Ok(ArenaPlan {
            source_ids: round_up(source * 2),
            target_ids: round_up(target * 2),
            book: round_up(book_bytes(beams, target)),
            shortlist: 0,
            cross: larger(encoder, cross),
            hidden: round_up(source * d * sizes.hidden),
            own,
            encode_work: encode.bytes(sizes, larger(block * ffn, encode.step_elements())),
            step_work: step.bytes(sizes, step.step_elements()),
            text: round_up(source * 2) + round_up(bytes) + round_up(bytes) + round_up(bytes * NODE_BYTES),
            finish: 2 * round_up(bytes)
                + round_up(bytes * NODE_BYTES)
                + round_up(source * size_of::<SourceSpan>())
                + round_up(target * size_of::<Said>())
                + round_up(LEAST_DRAFT + target * DRAFT_BYTES),
        })
    }

    /// The plan with room for a set of the output matrix' row blocks, where the blob has a shortlist.
    pub const fn with_shortlist(mut self, spec: &Spec<'_>, shortlist: bool) -> Self {
        self.shortlist = if shortlist { round_up(set_bytes(spec.header().target_vocab)) } else { 0 };
        self
    }

    /// The plan of a blob under limits.
    pub(crate) const fn of(blob: &Blob<'_>, limits: Limits) -> Result<Self, Error> {
        match ArenaPlan::new(blob.spec(), blob.engine(), limits) {
            Ok(plan) => Ok(plan.with_shortlist(blob.spec(), blob.shortlist().is_some())),
            error => error,
        }
    }

    /// Bytes of the whole arena.
    pub const fn total(&self) -> usize {
        let encode = self.hidden.saturating_add(self.encode_work);
        let step = self.book.saturating_add(larger(self.own.saturating_add(self.step_work), self.finish));
        let phases = larger(self.cross.saturating_add(larger(encode, step)), self.text);
        phases.saturating_add(self.source_ids + self.target_ids + self.shortlist)
    }
}
