//! How the weights of an integer matrix lie in flash.
//!
//! A matrix of `rows x cols` is stored in *row blocks* of [`ROWS`] rows, the last padded with rows of zeros. A block is a
//! run of *tiles* of 16 bytes: a word (little-endian) for each of its rows, with some columns of that row. The columns in a
//! word are in the order in which an Arm core unpacks them, two at a time, into neighbouring halves of a register, so that
//! activations are read as they lie:
//!
//! ```text
//! 8 bits, 4 columns:   byte 0: w[0]  byte 1: w[2]  byte 2: w[1]  byte 3: w[3]
//! 4 bits, 8 columns:   bits 0-3: w[0]  4-7: w[2]  8-11: w[4]  12-15: w[6]
//!                     16-19: w[1] 20-23: w[3] 24-27: w[5]  28-31: w[7]       each plus 8
//! ```
//!
//! 8-bit weights may lie as *pairs* instead, for activations of 8 bits and columns that four divides, [`PAIR_COLUMNS`] at
//! most: a half of a word is the number `256 * w[2] + w[0]`, or `256 * w[3] + w[1]`, so that the upper byte is less by one
//! where the lower weight is negative. Arm multiplies such halves as they are.
//!
//! Weights in groups: the columns are cut into groups of a fixed length, the last may be shorter. Before the tiles of each
//! group of a block lie four bytes, the group's scales, one a row; 4-bit weights have scales of 8 bits, 8-bit weights of 4
//! (the low ones). A group is padded to whole tiles with weights of zero.

use super::ROWS;

/// Bytes of a tile.
pub const TILE: usize = 16;

/// Header value of this layout, the only one. Value 0 was rows interleaved by column.
pub const LAYOUT_TILES: u8 = 1;

/// Columns of a matrix in pairs at most: 256 times a sum must fit 32 bits, as Arm's kernel multiplies the halves.
pub const PAIR_COLUMNS: usize = 512;

const _: () = assert!(PAIR_COLUMNS as u64 * Packing::Int8Pairs.largest() as u64 * 127 < 1 << 23);

/// What a stored 4-bit weight has been raised by.
const OFFSET: i32 = 8;

/// The ways of storing an integer matrix. Group lengths are in columns; zero counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// 8 bits.
    Int8,
    /// 8 bits in groups.
    Int8Groups(usize),
    /// 4 bits in groups.
    Int4(usize),
    /// 8 bits in pairs; a matrix whose columns four does not divide, or more than [`PAIR_COLUMNS`], has no such form.
    Int8Pairs,
}

impl Packing {
    /// Whether this build has code for it: [`Packing::Int8`] needs no feature, the others need `packings`.
    pub const fn is_built(self) -> bool {
        cfg!(feature = "packings") || matches!(self, Packing::Int8)
    }

    /// The same packing, of which the compiler knows what this build can have: code for the others goes.
    #[inline(always)]
    pub(crate) const fn built(self) -> Self {
        if cfg!(feature = "packings") { self } else { Packing::Int8 }
    }

    /// Columns of a tile.
    pub const fn tile_columns(self) -> usize {
        match self {
            Packing::Int8 | Packing::Int8Pairs | Packing::Int8Groups(_) => 4,
            Packing::Int4(_) => 8,
        }
    }

    /// The largest magnitude of a weight in units of its row's scale, whatever bytes are stored.
    pub const fn largest(self) -> u32 {
        match self {
            Packing::Int8 | Packing::Int8Pairs => 128,
            Packing::Int8Groups(_) => 128 * 15,
            Packing::Int4(_) => 8 * 255,
        }
    }

    /// Columns of a group of a matrix of `cols` columns; never zero.
    pub const fn group(self, cols: usize) -> usize {
        match self {
            Packing::Int8Groups(0) | Packing::Int4(0) => 1,
            Packing::Int8Groups(group) | Packing::Int4(group) => group,
            Packing::Int8 | Packing::Int8Pairs if cols == 0 => 1,
            Packing::Int8 | Packing::Int8Pairs => cols,
        }
    }

    /// Bytes of the scales before a group's tiles.
    pub const fn scale_len(self) -> usize {
        match self {
            Packing::Int8 | Packing::Int8Pairs => 0,
            Packing::Int8Groups(_) | Packing::Int4(_) => ROWS,
        }
    }

    /// Bytes of a group of `columns` columns; `None` where they do not fit the address space.
    pub const fn group_len(self, columns: usize) -> Option<usize> {
        match columns.div_ceil(self.tile_columns()).checked_mul(TILE) {
            Some(tiles) => tiles.checked_add(self.scale_len()),
            None => None,
        }
    }

    /// Bytes of a row block of `cols` columns; `None` where there is no such form, or none that fits the address space.
    pub const fn block_len(self, cols: usize) -> Option<usize> {
        let group = self.group(cols);
        if matches!(self, Packing::Int8Pairs) && (!cols.is_multiple_of(4) || cols > PAIR_COLUMNS) {
            return None;
        }
        let Some(whole) = self.group_len(group) else { return None };
        let Some(whole) = whole.checked_mul(cols / group) else { return None };
        match cols % group {
            0 => Some(whole),
            rest => match self.group_len(rest) {
                Some(rest) => whole.checked_add(rest),
                None => None,
            },
        }
    }

    /// Bytes of a matrix; `None` where there is no such form, or none that fits the address space.
    pub const fn matrix_len(self, rows: usize, cols: usize) -> Option<usize> {
        match self.block_len(cols) {
            Some(block) => block.checked_mul(rows.div_ceil(ROWS)),
            None => None,
        }
    }

    /// Where the scale of a row and of the group of a column lies; `None` where there are none.
    pub fn scale_at(self, cols: usize, row: usize, col: usize) -> Option<usize> {
        if self.scale_len() == 0 { None } else { Some(self.group_at(cols, row, col)? + row % ROWS) }
    }

    /// Where a column's group begins in the block of a row.
    fn group_at(self, cols: usize, row: usize, col: usize) -> Option<usize> {
        let group = self.group(cols);
        let block = self.block_len(cols)?.checked_mul(row / ROWS)?;
        block.checked_add((col / group).checked_mul(self.group_len(group)?)?)
    }

    /// Where a weight lies: its byte, and its first bit in that.
    pub fn weight_at(self, cols: usize, row: usize, col: usize) -> Option<(usize, u32)> {
        let within = col % self.group(cols);
        let tile = within / self.tile_columns() * TILE;
        let word = self.group_at(cols, row, col)?.checked_add(self.scale_len() + tile + row % ROWS * 4)?;
        Some(match self {
            Packing::Int8 | Packing::Int8Pairs | Packing::Int8Groups(_) => (word + byte_of(within), 0),
            Packing::Int4(_) => {
                // Odd columns are in the upper half of the word.
                let (odd, pair) = (within % 2, within % self.tile_columns() / 2);
                (word + 2 * odd + pair / 2, pair as u32 % 2 * 4)
            }
        })
    }

    /// A weight in units of its row's scale: what is stored, times its group's scale. `None` outside of the matrix and of
    /// the bytes.
    pub fn weight(self, bytes: &[u8], cols: usize, row: usize, col: usize) -> Option<i32> {
        if col >= cols {
            return None;
        }
        let (at, bit) = self.weight_at(cols, row, col)?;
        let byte = *bytes.get(at)?;
        let code = match self {
            Packing::Int8 | Packing::Int8Groups(_) => (byte as i8) as i32,
            // The upper byte of a pair lacks what the lower one has borrowed.
            Packing::Int8Pairs if col % 4 < 2 => (byte as i8) as i32,
            Packing::Int8Pairs => (byte as i8) as i32 + borrowed(*bytes.get(at.checked_sub(1)?)?),
            Packing::Int4(_) => (byte >> bit & 15) as i32 - OFFSET,
        };
        let Some(scale) = self.scale_at(cols, row, col) else { return Some(code) };
        Some(code * self.scale(*bytes.get(scale)?))
    }

    /// The weights of a row in units of the row's scale, which 16 bits hold; stops where the bytes or `out` end.
    pub fn row(self, bytes: &[u8], cols: usize, row: usize, out: &mut [i16]) {
        let packing = self.built();
        let group = packing.group(cols);
        let (Some(block_len), Some(group_len @ 1..)) = (packing.block_len(cols), packing.group_len(group)) else {
            return;
        };
        let block = row / ROWS * block_len;
        let block = bytes.get(block..block + block_len).unwrap_or_default();
        for (bytes, out) in block.chunks(group_len).zip(out.chunks_mut(group)) {
            let scale = packing.scale_of(bytes, row) as i16;
            let put = |out: &mut [i16], weights: &[i32]| {
                out.iter_mut().zip(weights).for_each(|(out, &weight)| *out = (weight as i16).wrapping_mul(scale));
            };
            let words = packing.words(bytes, row);
            match packing {
                Packing::Int8Pairs => {
                    words.zip(out.chunks_mut(4)).for_each(|(word, out)| put(out, &columns_pairs(*word)))
                }
                Packing::Int4(_) => words.zip(out.chunks_mut(8)).for_each(|(word, out)| put(out, &columns_i4(*word))),
                _ => words.zip(out.chunks_mut(4)).for_each(|(word, out)| put(out, &columns_i8(*word))),
            }
        }
    }

    /// The dot product of a row of a block with activations, modulo 2^32, in the least code.
    #[cfg(any(latimer_dsp, test))]
    pub(crate) fn dot(self, block: &[u8], row: usize, x: &[i16]) -> i32 {
        let packing = self.built();
        let group = packing.group(x.len());
        let Some(group_len @ 1..) = packing.group_len(group) else { return 0 };
        let mut total = 0i32;
        for (bytes, x) in block.chunks(group_len).zip(x.chunks(group)) {
            let add = |sum: i32, weights: &[i32], x: &[i16]| {
                weights.iter().zip(x).fold(sum, |sum, (&weight, &x)| sum.wrapping_add(weight.wrapping_mul(x as i32)))
            };
            let words = packing.words(bytes, row);
            let sum = match packing {
                Packing::Int8Pairs => {
                    words.zip(x.chunks(4)).fold(0, |sum, (word, x)| add(sum, &columns_pairs(*word), x))
                }
                Packing::Int4(_) => words.zip(x.chunks(8)).fold(0, |sum, (word, x)| add(sum, &columns_i4(*word), x)),
                _ => words.zip(x.chunks(4)).fold(0, |sum, (word, x)| add(sum, &columns_i8(*word), x)),
            };
            total = total.wrapping_add(sum.wrapping_mul(packing.scale_of(bytes, row)));
        }
        total
    }

    /// The words of a row in a group's bytes.
    #[inline(always)]
    fn words(self, group: &[u8], row: usize) -> impl Iterator<Item = &[u8; 4]> {
        let (_, tiles) = group.split_at_checked(self.scale_len()).unwrap_or_default();
        tiles.as_chunks::<TILE>().0.iter().filter_map(move |tile| tile.as_chunks().0.get(row % ROWS))
    }

    /// The scale of a row in a group's bytes; one where there are none.
    #[inline(always)]
    fn scale_of(self, group: &[u8], row: usize) -> i32 {
        match self.scale_len() {
            0 => 1,
            _ => group.get(row % ROWS).map_or(1, |&scale| self.scale(scale)),
        }
    }

    /// What a stored byte of a group's scales is worth.
    #[inline(always)]
    pub const fn scale(self, byte: u8) -> i32 {
        match self {
            Packing::Int8Groups(_) => (byte & 15) as i32,
            Packing::Int8 | Packing::Int8Pairs | Packing::Int4(_) => byte as i32,
        }
    }

    /// Stores a matrix: fills `out`, which has [`Packing::matrix_len`] bytes, from codes and group scales by row and column.
    /// The packer's side of the contract; codes of 4 bits are -8 to 7, those in pairs not -128.
    pub fn store(
        self,
        (rows, cols): (usize, usize),
        code: impl Fn(usize, usize) -> i8,
        scale: impl Fn(usize, usize) -> u8,
        out: &mut [u8],
    ) {
        if let Packing::Int4(_) = self {
            out.fill(OFFSET as u8 * 0x11);
        }
        // Rows of padding have scales too.
        for row in 0..rows.next_multiple_of(ROWS) {
            for col in 0..cols {
                if let Some(byte) = self.scale_at(cols, row, col).and_then(|at| out.get_mut(at)) {
                    *byte = if row < rows { scale(row, col) } else { 0 };
                }
                let Some((at, bit)) = self.weight_at(cols, row, col).filter(|_| row < rows) else { continue };
                let Some(byte) = out.get_mut(at) else { continue };
                *byte = match self {
                    Packing::Int8Pairs if col % 4 >= 2 => {
                        (code(row, col) as u8).wrapping_sub((code(row, col - 2) < 0) as u8)
                    }
                    Packing::Int8 | Packing::Int8Pairs | Packing::Int8Groups(_) => code(row, col) as u8,
                    Packing::Int4(_) => {
                        let nibble = (code(row, col) as i32 + OFFSET) as u8 & 15;
                        *byte & !(15 << bit) | nibble << bit
                    }
                };
            }
        }
    }
}

/// The byte of a word of 8-bit weights that has a column: even ones, then odd ones. Its own inverse.
#[inline(always)]
pub(crate) const fn byte_of(column: usize) -> usize {
    column % 2 * 2 + column % 4 / 2
}

/// The weights of a row of a tile of 8-bit weights, in order of columns.
#[inline(always)]
pub(crate) const fn columns_i8(word: [u8; 4]) -> [i32; 4] {
    [word[0] as i8 as i32, word[2] as i8 as i32, word[1] as i8 as i32, word[3] as i8 as i32]
}

/// What the upper weight of a pair has lent to the lower one, whose byte is given.
#[inline(always)]
const fn borrowed(lower: u8) -> i32 {
    (lower >> 7) as i32
}

/// The weights of a row of a tile of pairs, in order of columns.
#[inline(always)]
pub(crate) const fn columns_pairs(word: [u8; 4]) -> [i32; 4] {
    let [w0, w1, w2, w3] = columns_i8(word);
    [w0, w1, w2 + borrowed(word[0]), w3 + borrowed(word[2])]
}

/// The weights of a row of a tile of 4-bit weights, in order of columns.
#[inline(always)]
pub(crate) const fn columns_i4(word: [u8; 4]) -> [i32; 8] {
    const fn nibble(word: u32, bit: u32) -> i32 {
        (word >> bit & 15) as i32 - OFFSET
    }
    let w = u32::from_le_bytes(word);
    [
        nibble(w, 0),
        nibble(w, 16),
        nibble(w, 4),
        nibble(w, 20),
        nibble(w, 8),
        nibble(w, 24),
        nibble(w, 12),
        nibble(w, 28),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_lie_as_arm_unpacks_them() {
        let mut out = [0; 2 * TILE];
        Packing::Int8.store((3, 5), |row, col| (10 * row + col) as i8, |_, _| 0, &mut out);
        assert_eq!(out[..TILE], [0, 2, 1, 3, 10, 12, 11, 13, 20, 22, 21, 23, 0, 0, 0, 0]);
        assert_eq!(out[TILE..], [4, 0, 0, 0, 14, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(columns_i8([1, 2, 0xff, 4]), [1, -1, 2, 4]);
        let mut out = [0; TILE];
        Packing::Int8Pairs.store((1, 4), |_, col| [-3, 5, 7, -9][col], |_, _| 0, &mut out);
        assert_eq!(out[..4], [0xfd, 6, 5, 0xf7]);
        assert_eq!(i16::from_le_bytes([0xfd, 6]), 256 * 7 - 3);
        assert_eq!(columns_pairs([0xfd, 6, 5, 0xf7]), [-3, 5, 7, -9]);
        assert_eq!(Packing::Int8Pairs.block_len(6), None);
        assert_eq!(Packing::Int8Pairs.block_len(PAIR_COLUMNS), Some(PAIR_COLUMNS / 4 * TILE));
        assert_eq!(Packing::Int8Pairs.block_len(PAIR_COLUMNS + 4), None);
        assert!((0..4).all(|column| byte_of(byte_of(column)) == column));
        let mut out = [0; 4 + TILE];
        Packing::Int4(8).store((1, 7), |_, col| col as i8 - 4, |_, _| 9, &mut out);
        // Each weight plus 8: 4 to 10, and 8 for the padding.
        assert_eq!(out[..8], [9, 0, 0, 0, 0x64, 0xa8, 0x75, 0x89]);
        assert!(out[8..].iter().all(|&byte| byte == 0x88));
        assert_eq!(columns_i4([0x64, 0xa8, 0x75, 0x89]), [-4, -3, -2, -1, 0, 1, 2, 0]);
    }

    #[test]
    fn lengths_count_padding_and_scales() {
        assert_eq!(Packing::Int8.matrix_len(5, 6), Some(2 * 2 * TILE));
        // Groups of 5, 5 and 1 columns: two tiles, two, and one.
        assert_eq!(Packing::Int8Groups(5).block_len(11), Some(5 * TILE + 3 * 4));
        assert_eq!(Packing::Int4(16).block_len(40), Some(5 * TILE + 3 * 4));
        assert_eq!(Packing::Int8.block_len(0), Some(0));
        assert_eq!(Packing::Int8.matrix_len(usize::MAX, usize::MAX), None);
        assert_eq!(Packing::Int4(1).block_len(usize::MAX), None);
    }

    proptest! {
        /// Every weight is found where it was put, and none lies on another or on a scale.
        #[test]
        fn weights_are_found_again(rows in 1usize..10, cols in 1usize..40, group in 0usize..20, kind in 0..4) {
            let cols = if kind == 3 { cols.next_multiple_of(4) } else { cols };
            let packings = [Packing::Int8, Packing::Int8Groups(group), Packing::Int4(group), Packing::Int8Pairs];
            let packing = packings[kind as usize];
            let code = |row: usize, col: usize| {
                let byte = (row * 41 + col * 7) as i8;
                if kind == 2 { byte >> 4 } else { byte.max(-127) }
            };
            let scale = |row: usize, col: usize| (row + col / packing.group(cols)) as u8 % 16;
            let mut out = std::vec![0; packing.matrix_len(rows, cols).unwrap()];
            packing.store((rows, cols), code, scale, &mut out);
            for row in 0..rows {
                for col in 0..cols {
                    let scale = if packing.scale_len() == 0 { 1 } else { scale(row, col) as i32 };
                    prop_assert_eq!(packing.weight(&out, cols, row, col), Some(code(row, col) as i32 * scale));
                }
                prop_assert_eq!(packing.weight(&out, cols, row, cols), None);
                let x: std::vec::Vec<i16> = (0..cols).map(|col| (col * 37 + row) as i16 - 200).collect();
                let product = |col: usize| packing.weight(&out, cols, row, col).unwrap() * x[col] as i32;
                let block = packing.block_len(cols).unwrap();
                let found = packing.dot(&out[row / ROWS * block..][..block], row, &x);
                prop_assert_eq!(found, (0..cols).map(product).sum::<i32>());
                let mut whole = std::vec![7; cols];
                packing.row(&out, cols, row, &mut whole);
                for (col, found) in whole.into_iter().enumerate() {
                    prop_assert_eq!(Some(found as i32), packing.weight(&out, cols, row, col));
                }
            }
            prop_assert_eq!(packing.weight(&out, cols, rows.next_multiple_of(ROWS), 0), None);
        }
    }
}
