//! What `cargo xtask bench` measures on the emulated boards: kernels and operators on pseudo-random data. Each function
//! makes its data in `memory` (aligned to 16 bytes), runs one piece of the engine between [`Marks`] and returns a
//! checksum of what came out, which must not depend on the kernel. `None`: the memory does not hold the data.
//!
//! No part of the crate's interface.

use crate::arena::Carver;
use crate::blob::layout::{NONE, SpecHeader, TensorEntry};
use crate::blob::tensor::dtype;
use crate::blob::{CRC32, Tensor};
use crate::engine::{AttendScratch, Cached, Engine, Place, Room, Side};
use crate::kernel::{self, Packing};
use crate::model::Model;
use crate::num::{Multiplier, Scale};
use crate::op::int8::Int8;
use crate::op::int8::attention::{TOGETHER, divide, division};
use crate::op::int8::cache::Head;
use crate::op::int8::softmax;
use crate::rows::Rows;
use crate::search::Best;
use bytemuck::{NoUninit, cast_slice};

/// The instructions between which the counting plugin counts.
pub trait Marks {
    /// The region begins.
    fn start();
    /// The region ends.
    fn stop();
}

/// Whether the portable kernels are the only ones in this build.
pub const PORTABLE: bool = cfg!(feature = "portable");

fn measure<M: Marks, R>(run: impl FnOnce() -> R) -> R {
    M::start();
    let result = run();
    M::stop();
    result
}

fn checksum<T: NoUninit>(values: &[T]) -> Option<u32> {
    Some(CRC32.checksum(cast_slice(values)))
}

/// Pseudo-random bits of an index: what a value is does not depend on the order in which values are made.
fn noise(stream: u32, index: usize) -> u32 {
    let mut bits = (index as u32 ^ stream.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 13)
}

/// A pseudo-random integer of at most `bits` bits, symmetric.
fn signed(stream: u32, index: usize, bits: u8) -> i32 {
    let most = (1i32 << (bits - 1)) - 1;
    (noise(stream, index) >> 3) as i32 % (2 * most + 1) - most
}

fn fill<T>(values: &mut [T], make: impl Fn(usize) -> T) {
    values.iter_mut().enumerate().for_each(|(i, value)| *value = make(i));
}

/// How a matrix is multiplied.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Input features.
    pub cols: usize,
    /// Output features.
    pub rows: usize,
    /// Vectors.
    pub tokens: usize,
    /// Bits of an activation.
    pub bits: u8,
    /// Bits of a weight: 8 or 4.
    pub weight_bits: u8,
    /// Columns of a group of weights; zero where a row has one scale. One column of 8-bit weights stands for pairs.
    pub group: usize,
}

/// A tensor of pseudo-random weights, laid as the kernels of this build want them.
fn matrix<'a>(carver: &mut Carver<'a>, shape: &Shape) -> Option<Tensor<'a>> {
    let Shape { cols, rows, bits, weight_bits, group, .. } = *shape;
    let (dtype, packing) = match (weight_bits, group) {
        (8, 0) => (dtype::I8, Packing::Int8),
        (8, 1) => (dtype::I8_PAIRS, Packing::Int8Pairs),
        (8, _) => (dtype::I8_GROUPS, Packing::Int8Groups(group)),
        _ => (dtype::I4, Packing::Int4(group)),
    };
    let len = packing.matrix_len(rows, cols)?;
    let scales = len.next_multiple_of(4);
    let bias = (scales + 2 * rows).next_multiple_of(4);
    let memory = carver.take::<u8>(bias + 4 * rows).ok()?;
    let (weights, rest) = memory.split_at_mut_checked(len)?;
    let scale = |row: usize, col: usize| 1 + noise(2, row + col / packing.group(cols) * rows) as u8 % 15;
    packing.store((rows, cols), |row, col| signed(1, row * cols + col, weight_bits) as i8, scale, weights);
    let mut place = rest.iter_mut();
    let mut put = |byte: u8| place.next().map_or((), |place| *place = byte);
    (0..scales - len).for_each(|_| put(0));
    (0..rows)
        .for_each(|row| ((1 << 15) + (noise(3, row) as u16 >> 1)).to_le_bytes().map(&mut put).iter().for_each(drop));
    (0..bias - scales - 2 * rows).for_each(|_| put(0));
    (0..rows).for_each(|row| signed(4, row, 18).to_le_bytes().map(&mut put).iter().for_each(drop));
    let mut entry =
        TensorEntry { dtype, rows: rows as u32, cols: cols as u32, group: group as u8, ..Default::default() };
    (entry.scales, entry.bias) = (scales as u32, bias as u32);
    // Row scales below one over the steps of an activation, outputs in Q16: what the packer makes of ordinary layers.
    (entry.in_bits, entry.scale_shift, entry.out_frac) = (bits, 24, 16);
    (entry.embed_scale, entry.embed_shift, entry.embed_frac) = (1 << 30, 48, 12);
    Some(Tensor::new(entry, memory))
}

/// The kernel alone: exact sums from activations that are quantized already.
pub fn multiply<M: Marks>(memory: &mut [u8], shape: &Shape) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let tensor = matrix(&mut carver, shape)?;
    let x = carver.take::<i16>(shape.cols * shape.tokens).ok()?;
    let out = carver.take::<i32>(shape.rows * shape.tokens).ok()?;
    fill(x, |i| signed(5, i, shape.bits) as i16);
    let (cols, rows) = (shape.cols, shape.rows);
    let (packing, weights) = (tensor.packing()?, tensor.packed());
    measure::<M, _>(|| kernel::multiply(packing, weights, cols, x, rows, out));
    checksum(out)
}

/// A linear as a layer runs it: hidden states quantized, multiplied, requantized, bias added.
pub fn linear<M: Marks>(memory: &mut [u8], shape: &Shape) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let tensor = matrix(&mut carver, shape)?;
    let hidden = carver.take::<i16>(shape.cols * shape.tokens).ok()?;
    let x = carver.take::<i16>(shape.cols * shape.tokens).ok()?;
    let scales = carver.take::<Scale>(shape.tokens).ok()?;
    let out = carver.take::<i32>(shape.rows * shape.tokens).ok()?;
    fill(hidden, |i| signed(6, i, 15) as i16);
    let cols = shape.cols.max(1);
    measure::<M, _>(|| {
        for ((hidden, x), scale) in hidden.chunks_exact(cols).zip(x.chunks_exact_mut(cols)).zip(&mut *scales) {
            *scale = Int8.input_of_hidden(&tensor, hidden, 12, x);
        }
        Int8.linear(&tensor, x, scales, out);
    });
    checksum(out)
}

/// The sizes of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Positions looked at.
    pub positions: usize,
    /// Values of a head.
    pub head_dim: usize,
    /// Heads.
    pub heads: usize,
    /// Queries.
    pub tokens: usize,
}

/// The parts of an attention.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Query times keys, requantized.
    Scores,
    /// Softmax, and its product with the scales of the values.
    Softmax,
    /// Softmax weights times values.
    Context,
    /// All of it, from the query projection's output to the context.
    Whole,
}

/// Most positions whose softmax is measured.
const MOST_POSITIONS: usize = 64;

/// Attention of `tokens` queries.
pub fn attend<M: Marks>(memory: &mut [u8], lookup: &Lookup, part: Part) -> Option<u32> {
    let Lookup { positions, head_dim, heads, tokens } = *lookup;
    let d_model = head_dim * heads;
    let mut carver = Carver::new(memory);
    let query = carver.take::<i32>(tokens * d_model).ok()?;
    let room = Room::exact(positions);
    let padded = head_dim.next_multiple_of(4);
    let len = room.capacity * heads * padded;
    let [keys, values] = [carver.take::<u8>(len).ok()?, carver.take::<u8>(len).ok()?];
    let scales = carver.take::<Scale>(room.capacity * heads).ok()?;
    let together = tokens.min(TOGETHER);
    let scores = carver.take::<i32>(together * positions.max(2 * head_dim)).ok()?;
    let inputs = carver.take::<i16>(together * (room.capacity + padded)).ok()?;
    fill(query, |i| signed(7, i, 18));
    fill(keys, |i| signed(8, i, 8) as u8);
    fill(values, |i| signed(9, i, 8) as u8);
    fill(scales, |i| Scale { mantissa: (1 << 14) + (noise(10, i) as u16 >> 2), exponent: -13 });
    let visible = positions;
    let keys = Cached::<Int8> { rows: keys, scales, room, visible };
    let values = Cached::<Int8> { rows: values, scales, room, visible };
    let block = (together * d_model).max(1);
    if let Part::Whole = part {
        let mut scratch = AttendScratch { scores, inputs, watched: None };
        measure::<M, _>(|| {
            for queries in query.chunks_mut(block) {
                Int8.attend(queries, d_model, 16, keys, values, 16, heads, &mut scratch);
            }
        });
        return checksum(query);
    }
    let (q, weights) = inputs.split_at_mut_checked((together * head_dim).next_multiple_of(4))?;
    let q = q.get_mut(..together * head_dim)?;
    let weights = weights.get_mut(..together * room.capacity)?;
    fill(q, |i| signed(12, i, 16) as i16);
    fill(weights, |i| if i % room.capacity < positions { signed(13, i, 16).unsigned_abs() as i16 } else { 0 });
    // What a head of 32 values in Q16 gives.
    let multiplier = Multiplier { mantissa: 20_000, shift: 40 };
    let normalizer = softmax::Normalizer { sum: 1 << 30, exponent: -15 };
    let head = Head::of(keys, 0, head_dim);
    let (sums, part_sums) = scores.split_at_mut_checked(together * positions.max(head_dim))?;
    head.times_keys(q, sums.get_mut(..together * positions)?);
    let mut peak = None;
    for sums in sums.get_mut(..together * positions)?.chunks_exact_mut(positions.max(1)) {
        peak = Some(softmax::scores(multiplier, head.scales, head.scales, sums));
    }
    let peak = peak?;
    let mut one_sums = [0; MOST_POSITIONS];
    let one_sums = one_sums.get_mut(..positions)?;
    one_sums.iter_mut().zip(&*sums).for_each(|(one, sum)| *one = *sum);
    let mut one_weights = [0; MOST_POSITIONS];
    let one_weights = one_weights.get_mut(..positions)?;
    measure::<M, _>(|| {
        for queries in query.chunks_mut(block) {
            let count = queries.len() / d_model.max(1);
            for index in 0..heads {
                match part {
                    Part::Scores => {
                        let head = Head::of(keys, index, head_dim);
                        let sums = sums.get_mut(..count * positions).unwrap_or_default();
                        head.times_keys(q, sums);
                        for sums in sums.chunks_exact_mut(positions.max(1)) {
                            let _ = softmax::scores(multiplier, head.scales, head.scales, sums);
                        }
                    }
                    Part::Softmax => {
                        for _ in 0..count {
                            let _ = softmax::softmax(peak, head.scales, one_sums, &mut *one_weights);
                        }
                    }
                    Part::Context | Part::Whole => {
                        let sums = sums.get_mut(..count * head_dim).unwrap_or_default();
                        let weights = weights.get(..count * room.capacity).unwrap_or_default();
                        Head::of(values, index, head_dim).times_values(weights, part_sums, sums);
                        let tokens = queries.chunks_exact_mut(d_model.max(1));
                        for (query, sums) in tokens.zip(sums.chunks_exact(head_dim.max(1))) {
                            let query = query.get_mut(index * head_dim..(index + 1) * head_dim).unwrap_or_default();
                            divide(sums, division(normalizer, 16), query);
                        }
                    }
                }
            }
        }
    });
    match part {
        Part::Scores => checksum(sums),
        Part::Softmax => checksum(one_weights),
        Part::Context | Part::Whole => checksum(query),
    }
}

/// Residual and layer norm of one token.
pub fn add_norm<M: Marks>(memory: &mut [u8], len: usize) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let parameters = carver.take::<i32>(len + len.div_ceil(2)).ok()?;
    let hidden = carver.take::<i16>(len).ok()?;
    let wide = carver.take::<i32>(len).ok()?;
    fill(parameters, |i| if i < len { signed(14, i, 16) } else { noise(15, i) as i32 & 0x3fff_3fff });
    fill(hidden, |i| signed(16, i, 15) as i16);
    fill(wide, |i| signed(17, i, 18));
    let mut entry = TensorEntry { dtype: dtype::NORM, rows: len as u32, cols: 1, scales: NONE, ..Default::default() };
    (entry.bias, entry.data, entry.in_bits) = (0, 4 * len as u32, 16);
    (entry.scale_shift, entry.out_frac) = (13, 12);
    let norm = Tensor::new(entry, cast_slice(parameters));
    let spec = SpecHeader { norm_eps_q32: 42_950, ..Default::default() };
    measure::<M, _>(|| Int8.add_norm(&norm, &spec, hidden, 12, wide, 16));
    checksum(hidden)
}

/// An embedded token of a table of 16.
pub fn embed<M: Marks>(memory: &mut [u8], len: usize) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let shape = Shape { cols: len, rows: 16, tokens: 1, bits: 14, weight_bits: 8, group: 0 };
    let table = matrix(&mut carver, &shape)?;
    let half = len.div_ceil(2);
    let steps = carver.take::<u32>(half).ok()?;
    let out = carver.take::<i16>(len).ok()?;
    fill(steps, |i| noise(18, i) >> 3);
    let entry = TensorEntry { dtype: dtype::STEPS, rows: half as u32, cols: 1, ..Default::default() };
    let steps = Tensor::new(entry, cast_slice(steps));
    measure::<M, _>(|| Int8.embed(&table, &steps, 7, 11, out));
    checksum(out)
}

/// A hidden state as a linear's input of `bits` bits; with `wide`, the output of a linear.
pub fn quantize<M: Marks>(memory: &mut [u8], len: usize, bits: u8, from_wide: bool) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let [hidden, out] = [carver.take::<i16>(len).ok()?, carver.take::<i16>(len).ok()?];
    let wide = carver.take::<i32>(len).ok()?;
    fill(hidden, |i| signed(19, i, 15) as i16);
    fill(wide, |i| signed(20, i, 19));
    let linear = Tensor::new(TensorEntry { in_bits: bits, ..Default::default() }, &[]);
    if from_wide {
        measure::<M, _>(|| Int8.input_of_wide(&linear, wide, 16, out));
    } else {
        measure::<M, _>(|| Int8.input_of_hidden(&linear, hidden, 12, out));
    }
    checksum(out)
}

/// A key or value into the cache.
pub fn store<M: Marks>(memory: &mut [u8], len: usize, heads: usize) -> Option<u32> {
    let mut carver = Carver::new(memory);
    let room = Room::exact(4);
    let wide = carver.take::<i32>(len).ok()?;
    let rows = carver.take::<u8>(room.capacity * len.next_multiple_of(4 * heads.max(1))).ok()?;
    let scales = carver.take::<Scale>(room.capacity * heads).ok()?;
    fill(wide, |i| signed(21, i, 19));
    fill(rows, |_| 0);
    let place = Place { side: Side::Values, position: 0, room };
    measure::<M, _>(|| Int8.store(wide, 16, heads, place, rows, scales));
    checksum(rows)
}

/// The id with the highest logit of the model's output matrix, for one pseudo-random hidden state.
pub fn argmax<M: Marks>(memory: &mut [u8], model: &Model<'_>) -> Option<u32> {
    let (header, table) = (model.blob().spec().header(), model.blob().table());
    let output = table.get(header.output).ok()?;
    let mut carver = Carver::new(memory);
    let [hidden, x] = [carver.take::<i16>(output.cols()).ok()?, carver.take::<i16>(output.cols()).ok()?];
    fill(hidden, |i| signed(22, i, 15) as i16);
    let id = measure::<M, _>(|| {
        let scale = Int8.input_of_hidden(&output, hidden, 12, x);
        let mut best = Best::new([header.pad_id, header.unk_id]);
        Int8.logits(&output, Rows::All, x, scale, |first, logits| best.offer(first, logits));
        best.id()
    });
    id.map(u32::from)
}
