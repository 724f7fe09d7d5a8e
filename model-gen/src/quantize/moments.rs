//! First and second moments of vectors.

/// Sums over vectors of one length.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Vectors seen.
    pub count: f64,
    sum: Vec<f64>,
    /// Sum of the outer products, row-major, the part right of the diagonal and on it.
    outer: Vec<f64>,
}

impl Moments {
    /// Nothing seen yet.
    pub fn new(len: usize) -> Self {
        Self { count: 0.0, sum: vec![0.0; len], outer: vec![0.0; len * len] }
    }

    /// Adds a vector.
    pub fn note(&mut self, x: &[f32]) {
        self.count += 1.0;
        self.sum.iter_mut().zip(x).for_each(|(sum, &x)| *sum += f64::from(x));
        for (i, row) in self.outer.chunks_exact_mut(x.len()).enumerate() {
            let factor = f64::from(x[i]);
            if factor != 0.0 {
                row[i..].iter_mut().zip(&x[i..]).for_each(|(sum, &x)| *sum += factor * f64::from(x));
            }
        }
    }

    /// Adds another's sums.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.iter_mut().zip(&other.sum).for_each(|(a, b)| *a += b);
        self.outer.iter_mut().zip(&other.outer).for_each(|(a, b)| *a += b);
    }

    /// As if each element of every vector had been divided by its factor.
    pub fn divide(&mut self, factors: &[f64]) {
        self.sum.iter_mut().zip(factors).for_each(|(sum, f)| *sum /= f);
        for (row, f) in self.outer.chunks_exact_mut(factors.len()).zip(factors) {
            row.iter_mut().zip(factors).for_each(|(sum, g)| *sum /= f * g);
        }
    }

    /// Elements of a vector.
    pub fn width(&self) -> usize {
        self.sum.len()
    }

    /// Mean of each element.
    pub fn mean(&self) -> Vec<f64> {
        self.sum.iter().map(|sum| sum / self.count.max(1.0)).collect()
    }

    /// Mean of the products of elements `i` and `j`.
    pub fn product(&self, i: usize, j: usize) -> f64 {
        self.outer[i.min(j) * self.width() + i.max(j)] / self.count.max(1.0)
    }
}
