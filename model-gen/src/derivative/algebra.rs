//! Matrix products and their derivatives. Every sum is made in one written order, so that the result does not depend on
//! the processor: a blob is the same wherever it is packed.

use super::layout::{LinearAt, MatrixAt, NormAt};
use crate::reference::softmax;

/// `tokens x cols` values, row-major.
pub type Rows = Vec<f32>;

/// Adds `factor * x` to `y`.
#[inline]
fn add_scaled(y: &mut [f32], factor: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// Sum of products, in eight running sums.
#[inline]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0f32; 8];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// `x W^T + b`.
pub fn linear(p: &[f32], at: LinearAt, x: &[f32]) -> Rows {
    let (weight, bias) = (&p[at.weight.range()], &p[at.bias()]);
    let MatrixAt { rows, cols, .. } = at.weight;
    let tokens = x.len() / cols;
    let mut out = vec![0.0; tokens * rows];
    for ((o, row), bias) in weight.chunks_exact(cols).enumerate().zip(bias) {
        for (t, x) in x.chunks_exact(cols).enumerate() {
            out[t * rows + o] = dot(row, x) + bias;
        }
    }
    out
}

/// The derivative of the input of [`linear`] from that of its output.
pub fn linear_back(p: &[f32], at: LinearAt, dy: &[f32]) -> Rows {
    let MatrixAt { rows, cols, .. } = at.weight;
    let mut dx = vec![0.0; dy.len() / rows * cols];
    for (o, row) in p[at.weight.range()].chunks_exact(cols).enumerate() {
        for (t, dx) in dx.chunks_exact_mut(cols).enumerate() {
            let dy = dy[t * rows + o];
            if dy != 0.0 {
                add_scaled(dx, dy, row);
            }
        }
    }
    dx
}

/// What the derivative of a norm needs.
pub struct Normed {
    /// The normalized values, before gamma and beta.
    pub unit: Rows,
    /// One over the deviation, a token.
    inverse: Vec<f32>,
}

/// Layer norm of `x + y`.
pub fn add_norm(p: &[f32], at: NormAt, epsilon: f32, x: &[f32], y: &[f32]) -> (Rows, Normed) {
    let n = at.len as f32;
    let mut unit: Rows = x.iter().zip(y).map(|(x, y)| x + y).collect();
    let mut inverse = Vec::with_capacity(unit.len() / at.len);
    let mut out = Vec::with_capacity(unit.len());
    for row in unit.chunks_exact_mut(at.len) {
        let mean = row.iter().sum::<f32>() / n;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
        let scale = 1.0 / (variance + epsilon).sqrt();
        row.iter_mut().for_each(|x| *x = (*x - mean) * scale);
        inverse.push(scale);
        let affine = p[at.gamma()].iter().zip(&p[at.beta()]);
        out.extend(row.iter().zip(affine).map(|(x, (gamma, beta))| x * gamma + beta));
    }
    (out, Normed { unit, inverse })
}

/// The derivative of `x` in [`add_norm`], which is that of `y` too.
pub fn add_norm_back(p: &[f32], at: NormAt, normed: &Normed, dy: &[f32]) -> Rows {
    let n = at.len as f32;
    let mut dx = Vec::with_capacity(dy.len());
    for ((unit, inverse), dy) in normed.unit.chunks_exact(at.len).zip(&normed.inverse).zip(dy.chunks_exact(at.len)) {
        let du: Vec<f32> = dy.iter().zip(&p[at.gamma()]).map(|(dy, gamma)| dy * gamma).collect();
        let mean = du.iter().sum::<f32>() / n;
        let along = du.iter().zip(unit).map(|(d, u)| d * u).sum::<f32>() / n;
        dx.extend(du.iter().zip(unit).map(|(d, u)| (d - mean - u * along) * inverse));
    }
    dx
}

/// Adds `y` to `x`.
pub fn add(x: &mut [f32], y: &[f32]) {
    add_scaled(x, 1.0, y);
}

/// Multi-head attention of `queries` over `keys` and `values`, `causal` where a query sees no later position.
#[derive(Clone, Copy)]
pub struct Heads {
    pub width: usize,
    pub count: usize,
    pub causal: bool,
}

impl Heads {
    /// Contexts, and the weights of every head and query for the derivative.
    pub fn attend(self, q: &[f32], k: &[f32], v: &[f32]) -> (Rows, Vec<Vec<f32>>) {
        let mut out = vec![0.0; q.len()];
        let mut weights = Vec::new();
        self.each(q.len(), k.len(), |query, part, seen| {
            let q = &q[query..][part.clone()];
            let rows = |x: usize| x * self.width + part.start..x * self.width + part.end;
            let mut p: Vec<f32> = (0..seen).map(|i| dot(q, &k[rows(i)]) * self.scale()).collect();
            softmax(&mut p);
            let out = &mut out[query..][part.clone()];
            p.iter().enumerate().for_each(|(i, p)| add_scaled(out, *p, &v[rows(i)]));
            weights.push(p);
        });
        (out, weights)
    }

    /// Derivatives of queries, keys and values.
    pub fn back(self, q: &[f32], k: &[f32], v: &[f32], weights: &[Vec<f32>], dy: &[f32]) -> [Rows; 3] {
        let [mut dq, mut dk, mut dv] = [q, k, v].map(|x| vec![0.0; x.len()]);
        let mut weights = weights.iter();
        self.each(q.len(), k.len(), |query, part, seen| {
            let p = weights.next().expect("as many as were made");
            let dy = &dy[query..][part.clone()];
            let rows = |x: usize| x * self.width + part.start..x * self.width + part.end;
            let dp: Vec<f32> = (0..seen).map(|i| dot(dy, &v[rows(i)])).collect();
            let mean: f32 = p.iter().zip(&dp).map(|(p, dp)| p * dp).sum();
            for i in 0..seen {
                add_scaled(&mut dv[rows(i)], p[i], dy);
                let ds = p[i] * (dp[i] - mean) * self.scale();
                add_scaled(&mut dq[query..][part.clone()], ds, &k[rows(i)]);
                add_scaled(&mut dk[rows(i)], ds, &q[query..][part.clone()]);
            }
        });
        [dq, dk, dv]
    }

    fn scale(self) -> f32 {
        ((self.width / self.count) as f32).sqrt().recip()
    }

    /// Calls `f` for every head and query with the query's start, the head's part of a row and the keys it sees.
    fn each(self, queries: usize, keys: usize, mut f: impl FnMut(usize, std::ops::Range<usize>, usize)) {
        let head = self.width / self.count;
        for h in 0..self.count {
            for t in 0..queries / self.width {
                let all = keys / self.width;
                f(t * self.width, h * head..(h + 1) * head, if self.causal { all.min(t + 1) } else { all });
            }
        }
    }
}
