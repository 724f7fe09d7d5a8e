//! The kernel against sums as one would write them down, on shapes that divide a kernel's blocks and such that don't.

use core::fmt;

use app::latimer::kernel::{Packing, multiply};

const ROWS_TRIED: [usize; 7] = [1, 3, 4, 5, 8, 15, 16];
const COLS_TRIED: [usize; 9] = [1, 2, 3, 4, 7, 16, 31, 64, 65];
const VECTORS_TRIED: [usize; 3] = [1, 2, 3];
const PACKINGS_TRIED: [Packing; 8] = [
    Packing::Int8,
    Packing::Int8Pairs,
    Packing::Int8Groups(4),
    Packing::Int8Groups(16),
    Packing::Int8Groups(24),
    Packing::Int4(4),
    Packing::Int4(16),
    Packing::Int4(24),
];

const MAX_ROWS: usize = 16;
const MAX_COLS: usize = 65;
const MAX_VECTORS: usize = 3;

/// A product that is not the naive sum.
#[derive(Debug)]
pub struct Difference {
    packing: Packing,
    rows: usize,
    cols: usize,
    vectors: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, rows, cols, vectors } = self;
        write!(f, "not the naive sum: {rows} x {cols} weights of {packing:?}, {vectors} vectors")
    }
}

/// Memory of the checks, aligned as a blob's matrices are.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Check {
    weights: [u8; 2048],
    x: [i16; MAX_COLS * MAX_VECTORS],
    out: [i32; MAX_ROWS * MAX_VECTORS],
}

impl Check {
    /// Memory for the checks.
    pub const fn new() -> Self {
        Self { weights: [0; 2048], x: [0; MAX_COLS * MAX_VECTORS], out: [0; MAX_ROWS * MAX_VECTORS] }
    }

    /// Checks every shape; tells how many products were compared.
    pub fn run(&mut self) -> Result<usize, Difference> {
        let mut products = 0;
        for packing in PACKINGS_TRIED {
            for rows in ROWS_TRIED {
                // Pairs have whole tiles alone; every other packing has all sizes.
                for cols in COLS_TRIED.into_iter().filter(|cols| packing != Packing::Int8Pairs || cols % 4 == 0) {
                    for vectors in VECTORS_TRIED {
                        if !self.equal(packing, rows, cols, vectors) {
                            return Err(Difference { packing, rows, cols, vectors });
                        }
                        products += 1;
                    }
                }
            }
        }
        Ok(products)
    }

    fn equal(&mut self, packing: Packing, rows: usize, cols: usize, vectors: usize) -> bool {
        // The contract leaves 16 bits to the activations where weights have no scales, 8 where they lie in pairs, and here
        // 14 where they have scales.
        let spare = match packing {
            Packing::Int8 => 0,
            Packing::Int8Pairs => 8,
            Packing::Int8Groups(_) | Packing::Int4(_) => 2,
        };
        let code = |row: usize, col: usize| match packing {
            Packing::Int8 | Packing::Int8Groups(_) => mix(row, col) as i8,
            Packing::Int8Pairs => (mix(row, col) as i8).max(-127),
            Packing::Int4(_) => mix(row, col) as i8 >> 4,
        };
        let group = packing.group(cols);
        let scale = |row: usize, col: usize| mix(row + MAX_ROWS, col / group) as u8;
        let Some(weights) = packing.matrix_len(rows, cols).and_then(|len| self.weights.get_mut(..len)) else {
            return false;
        };
        weights.fill(0);
        packing.store((rows, cols), code, scale, weights);
        let (x, out) = (&mut self.x[..cols * vectors], &mut self.out[..rows * vectors]);
        for (i, x) in x.iter_mut().enumerate() {
            *x = mix(i, rows + cols) as i16 >> spare;
        }
        multiply(packing, weights, cols, x, rows, out);
        let naive = |i: usize| -> i32 {
            let (row, x) = (i % rows, &x[i / rows * cols..]);
            let scale = |col| if packing.scale_len() == 0 { 1 } else { packing.scale(scale(row, col)) };
            (0..cols).map(|col| scale(col) * i32::from(code(row, col)) * i32::from(x[col])).sum()
        };
        out.iter().enumerate().all(|(i, &found)| found == naive(i))
    }
}

/// Bits that look like chance: a linear congruential generator's upper half, stepped once for each of two numbers; Knuth's
/// constants (TAOCP 2, 3.3.4).
fn mix(a: usize, b: usize) -> u16 {
    let step = |seed: u32, number: usize| (seed ^ number as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (step(step(step(1, a).rotate_left(16), b), 0) >> 16) as u16
}
