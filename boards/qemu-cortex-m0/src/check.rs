//! The kernels against sums as one would write them down, on shapes that divide a kernel's blocks and such that don't.

use core::fmt;

use app::latimer::kernel::{ROWS, block_bytes, block_columns, dot_i4, multiply_i8, multiply_i8_groups};

const ROWS_TRIED: [usize; 7] = [1, 3, 4, 5, 8, 15, 16];
const COLS_TRIED: [usize; 9] = [1, 2, 3, 4, 7, 16, 31, 64, 65];
const VECTORS_TRIED: [usize; 3] = [1, 2, 3];
const GROUPS_TRIED: [usize; 3] = [4, 16, 24];

const MAX_ROWS: usize = 16;
const MAX_COLS: usize = 65;
const MAX_VECTORS: usize = 3;

/// A product whose kernel and naive sum differ.
#[derive(Debug)]
pub struct Difference {
    kernel: &'static str,
    /// Rows, columns, vectors, columns in a group.
    shape: [usize; 4],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, shape: [rows, cols, vectors, group] } = self;
        write!(
            f,
            "{kernel} differs from the naive sum: {rows} rows, {cols} columns, {vectors} vectors, groups of {group}"
        )
    }
}

/// Memory of the checks.
#[derive(Debug)]
pub struct Check {
    /// Blocks of weights with a column of scales for each group.
    weights: [[i8; ROWS]; MAX_ROWS / ROWS * (MAX_COLS + MAX_COLS.div_ceil(4))],
    x: [i16; MAX_COLS * MAX_VECTORS],
    out: [i32; MAX_ROWS * MAX_VECTORS],
    seed: u32,
}

impl Check {
    /// Memory for the checks.
    pub const fn new() -> Self {
        Self {
            weights: [[0; ROWS]; MAX_ROWS / ROWS * (MAX_COLS + MAX_COLS.div_ceil(4))],
            x: [0; MAX_COLS * MAX_VECTORS],
            out: [0; MAX_ROWS * MAX_VECTORS],
            seed: 1,
        }
    }

    /// Checks every shape; tells how many products were compared.
    pub fn run(&mut self) -> Result<usize, Difference> {
        let mut products = 0;
        for rows in ROWS_TRIED {
            for cols in COLS_TRIED {
                for vectors in VECTORS_TRIED {
                    self.whole(rows, cols, vectors)?;
                    products += 1;
                    for group in GROUPS_TRIED {
                        self.groups(rows, cols, vectors, group)?;
                        products += 1;
                    }
                }
            }
        }
        for cols in COLS_TRIED {
            for group in GROUPS_TRIED {
                self.nibbles::<1>(cols, group)?;
                self.nibbles::<2>(cols, group)?;
                products += 2;
            }
        }
        Ok(products)
    }

    /// New weights, scales among them, and activations of so many bits: what the contract allows for these columns.
    fn fill(&mut self, bits: u32) {
        // A linear congruential generator's upper bits; Knuth's constants (TAOCP 2, 3.3.4).
        let mut next = || {
            self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.seed >> 16
        };
        for weight in self.weights.as_flattened_mut() {
            *weight = next() as u8 as i8;
        }
        for x in &mut self.x {
            *x = next() as u16 as i16 >> (16 - bits);
        }
    }

    fn whole(&mut self, rows: usize, cols: usize, vectors: usize) -> Result<(), Difference> {
        self.fill(16);
        let weights = &self.weights[..rows.div_ceil(ROWS) * cols];
        let (x, out) = (&self.x[..cols * vectors], &mut self.out[..rows * vectors]);
        multiply_i8(weights, cols, x, rows, out);
        for (i, &found) in out.iter().enumerate() {
            let (row, x) = (i % rows, &x[i / rows * cols..]);
            let block = &weights[row / ROWS * cols..];
            let naive: i32 = (0..cols).map(|col| i32::from(block[col][row % ROWS]) * i32::from(x[col])).sum();
            if found != naive {
                return Err(Difference { kernel: "multiply_i8", shape: [rows, cols, vectors, 0] });
            }
        }
        Ok(())
    }

    fn groups(&mut self, rows: usize, cols: usize, vectors: usize, group: usize) -> Result<(), Difference> {
        self.fill(14);
        let columns = block_columns(cols, group).unwrap_or(0);
        let weights = &self.weights[..rows.div_ceil(ROWS) * columns];
        let (x, out) = (&self.x[..cols * vectors], &mut self.out[..rows * vectors]);
        multiply_i8_groups(weights, group, cols, x, rows, out);
        for (i, &found) in out.iter().enumerate() {
            let (row, x) = (i % rows, &x[i / rows * cols..]);
            let at = |column: usize| i32::from(weights[row / ROWS * columns + column][row % ROWS]);
            let product = |col: usize| {
                let first = col / group * (group + 1);
                (at(first) & 15) * at(first + 1 + col % group) * i32::from(x[col])
            };
            if found != (0..cols).map(product).sum::<i32>() {
                return Err(Difference { kernel: "multiply_i8_groups", shape: [rows, cols, vectors, group] });
            }
        }
        Ok(())
    }

    fn nibbles<const N: usize>(&mut self, cols: usize, group: usize) -> Result<(), Difference> {
        self.fill(14);
        // The bytes of what `fill` left in the weights are scales and pairs as good as any.
        let mut bytes = [0; MAX_COLS * ROWS];
        for (byte, &weight) in bytes.iter_mut().zip(self.weights.as_flattened()) {
            *byte = weight as u8;
        }
        let block = &bytes[..block_bytes(cols, group).unwrap_or(0)];
        let x: [&[i16]; N] = core::array::from_fn(|n| &self.x[n * cols..][..cols]);
        let found = dot_i4(block, group, x);
        for (x, found) in x.iter().zip(found) {
            for (row, found) in found.into_iter().enumerate() {
                let product = |col: usize| {
                    let start = col / group * (group * ROWS / 2 + ROWS);
                    let pair = block[start + ROWS + col % group * 2 + row / 2];
                    let nibble = if row % 2 == 0 { pair << 4 } else { pair } as i8 >> 4;
                    i32::from(block[start + row]) * i32::from(nibble) * i32::from(x[col])
                };
                if found != (0..cols).map(product).sum::<i32>() {
                    return Err(Difference { kernel: "dot_i4", shape: [ROWS, cols, N, group] });
                }
            }
        }
        Ok(())
    }
}
