//! Attention over caches that [`Int8::store`] filled, against softmax in f64 over the stored values.

use super::*;

/// One query over so many positions; keys and values by position.
struct Case {
    heads: usize,
    frac: i8,
    value_frac: i8,
    query: Vec<i32>,
    keys: Vec<i32>,
    values: Vec<i32>,
}

/// A head of the answer: the context wanted, and the bound on the error of its elements.
struct Wanted {
    context: Vec<f64>,
    bound: f64,
}

impl Case {
    fn random(heads: usize, head_dim: usize, len: usize, drop: u32, seed: u64) -> Self {
        let mut noise = Noise(seed);
        let d = heads * head_dim;
        let mut draw = |count: usize, drop: u32| (0..count).map(|_| noise.bits() as i32 >> drop).collect::<Vec<_>>();
        let (query, keys, values) = (draw(d, drop), draw(len * d, drop), draw(len * d, 13));
        Case { heads, frac: 16, value_frac: 16, query, keys, values }
    }

    /// The cache of `wide`, and what it stands for.
    fn cache(&self, wide: &[i32], frac: i8) -> (Vec<i8>, Vec<Scale>, Vec<f64>) {
        let (d, heads) = (self.query.len(), self.heads);
        let len = wide.len() / d;
        let (mut rows, mut scales) = (vec![0; wide.len()], vec![Scale::default(); len * heads]);
        for ((wide, rows), scales) in wide.chunks(d).zip(rows.chunks_mut(d)).zip(scales.chunks_mut(heads)) {
            Int8.store(wide, frac, heads, rows, scales);
        }
        let of_head = |i: usize| unit(scales[i / d * heads + i % d / (d / heads)], 127.0);
        let meant = rows.iter().enumerate().map(|(i, row)| f64::from(*row) * of_head(i)).collect();
        (rows, scales, meant)
    }

    /// What the engine makes of it, as values.
    fn found(&self) -> Vec<f64> {
        let (keys, key_scales, _) = self.cache(&self.keys, self.frac);
        let (values, value_scales, _) = self.cache(&self.values, self.value_frac);
        let (d, len) = (self.query.len(), self.keys.len() / self.query.len());
        let mut query = self.query.clone();
        let (mut scores, mut inputs) = (vec![-1; len], vec![-1; len + d / self.heads]);
        let keys = Cached { rows: &keys, scales: &key_scales };
        let values = Cached { rows: &values, scales: &value_scales };
        let scratch = &mut AttendScratch { scores: &mut scores, inputs: &mut inputs };
        Int8.attend(&mut query, self.frac, keys, values, self.value_frac, self.heads, scratch);
        query.iter().map(|x| f64::from(*x) * power(-i32::from(self.value_frac))).collect()
    }

    /// Softmax in f64. The bound adds up what `docs/numerics.md` says is rounded: the query to 16 bits and the score
    /// to Q16, which scale the weights; numerators to Q15; their products with the value scales to 15 bits of the
    /// largest product; the reciprocal and 1/127 to 15 bits; the context to its format.
    fn wanted(&self) -> Vec<Wanted> {
        let (_, _, keys) = self.cache(&self.keys, self.frac);
        let (_, _, values) = self.cache(&self.values, self.value_frac);
        let (d, head_dim) = (self.query.len(), self.query.len() / self.heads);
        let largest = |x: &mut dyn Iterator<Item = f64>| x.fold(0f64, |m, x| m.max(x.abs()));
        let head = |head: usize| {
            let part = |row: &[f64]| row[head * head_dim..][..head_dim].to_vec();
            let query: Vec<f64> = self.query[head * head_dim..][..head_dim]
                .iter()
                .map(|q| f64::from(*q) * power(-i32::from(self.frac)))
                .collect();
            let query_off = largest(&mut query.iter().copied()) * 1.6 / 32767.0;
            let root = (head_dim as f64).sqrt();
            let (keys, values): (Vec<_>, Vec<_>) =
                (keys.chunks(d).map(part).collect(), values.chunks(d).map(part).collect());
            let scores: Vec<f64> =
                keys.iter().map(|key| key.iter().zip(&query).map(|(k, q)| k * q).sum::<f64>() / root).collect();
            let top = scores.iter().fold(f64::NEG_INFINITY, |m, s| m.max(*s));
            let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
            let sum: f64 = weights.iter().sum();
            let context =
                (0..head_dim).map(|i| weights.iter().zip(&values).map(|(w, v)| w * v[i]).sum::<f64>() / sum).collect();
            let score_off = keys
                .iter()
                .zip(&scores)
                .map(|(key, s)| key.iter().map(|k| k.abs()).sum::<f64>() * query_off / root + s.abs() * power(-14))
                .fold(0f64, f64::max)
                + power(-17);
            let of_row: Vec<f64> = values.iter().map(|row| largest(&mut row.iter().copied())).collect();
            let products = || weights.iter().zip(&of_row).map(|(w, v)| w * v);
            let total: f64 = products().sum();
            let count = keys.len() as f64;
            // Half a unit of each numerator, once in the context and once in the sum, and half a unit of each product.
            let numerators = power(-16) * (of_row.iter().sum::<f64>() + count * total / sum);
            let rounded = numerators + count * power(-15) * products().fold(0.0, f64::max);
            let bound = (total * ((2.0 * score_off).exp_m1() + power(-13)) + rounded) / sum;
            Wanted { context, bound: bound + 0.5 * power(-i32::from(self.value_frac)) }
        };
        (0..self.heads).map(head).collect()
    }

    /// Holds the engine to f64; returns the largest bound relative to the largest value, to show that it says something.
    fn check(&self) -> f64 {
        let (found, wanted) = (self.found(), self.wanted());
        let head_dim = self.query.len() / self.heads;
        for (head, (found, wanted)) in found.chunks(head_dim).zip(&wanted).enumerate() {
            for (found, context) in found.iter().zip(&wanted.context) {
                let error = (found - context).abs();
                assert!(error <= wanted.bound, "head {head}: {found}, not {context} +- {}", wanted.bound);
            }
        }
        let largest =
            self.values.iter().fold(0f64, |m, v| m.max(f64::from(*v).abs())) * power(-i32::from(self.value_frac));
        wanted.iter().fold(0f64, |m, w| m.max(w.bound)) / largest
    }
}

proptest! {
    #[test]
    fn equals_softmax_within_its_roundings(
        heads in 1usize..5, head_dim in 1usize..20, len in 1usize..30, drop in 13u32..20, seed: u64,
    ) {
        let bound = Case::random(heads, head_dim, len, drop, seed).check();
        prop_assert!(bound < 0.02, "a bound of {} shows nothing", bound);
    }
}

proptest! {
    /// Value scales as far apart as they may be: what is lost goes by the largest product, not the largest scale.
    #[test]
    fn values_of_any_size_beside_each_other(len in 2usize..30, drop in 10u32..16, drops: [u8; 30], seed: u64) {
        let mut case = Case::random(2, 6, len, drop, seed);
        for (values, drop) in case.values.chunks_mut(12).zip(drops) {
            values.iter_mut().for_each(|value| *value >>= drop % 18);
        }
        case.check();
    }
}

/// The most positions and the widest head, everything at the ends of i32, with fraction bits that bring scores to
/// about a hundred at most.
#[test]
fn holds_at_the_largest_sizes_and_values() {
    let bound = Case::random(1, 512, 512, 14, 3).check();
    assert!(bound < 0.05, "{bound}");
    let ends = |count: usize, seed: u64| {
        let mut noise = Noise(seed);
        (0..count).map(|_| if noise.bits().is_multiple_of(2) { i32::MAX } else { i32::MIN }).collect::<Vec<_>>()
    };
    for (heads, d, len) in [(1, 512, 512), (2, 512, 511), (1, 1, 512), (1, 512, 1)] {
        let case = Case {
            heads,
            frac: 30,
            value_frac: 16,
            query: ends(d, 1),
            keys: ends(len * d, 2),
            values: ends(len * d, 4),
        };
        case.check();
        // All of one sign: every sum of products is the largest possible, and so is every score.
        let same =
            Case { query: vec![i32::MIN; d], keys: vec![i32::MIN; len * d], values: vec![i32::MAX; len * d], ..case };
        same.check();
    }
}

#[test]
fn vectors_of_zeros_weigh_alike() {
    let random = Case::random(2, 5, 7, 15, 9);
    let mean = |values: &[f64], head: usize| values.chunks(10).map(|row| row[head]).sum::<f64>() / 7.0;
    let (_, _, values) = random.cache(&random.values, 16);
    for case in [
        Case { query: vec![0; 10], keys: random.keys.clone(), values: random.values.clone(), ..random },
        Case { query: random.query.clone(), keys: vec![0; 70], values: random.values.clone(), ..random },
    ] {
        case.check();
        for (i, found) in case.found().into_iter().enumerate() {
            assert!((found - mean(&values, i)).abs() < 1e-3 * 4.0, "{found} {}", mean(&values, i));
        }
    }
    let nothing = Case { query: random.query.clone(), keys: random.keys.clone(), values: vec![0; 70], ..random };
    assert_eq!(nothing.found(), [0.0; 10]);
    let mut values = random.values.clone();
    values[30..40].fill(0);
    Case { values, query: random.query.clone(), keys: random.keys.clone(), ..random }.check();
}

/// A position that softmax gives nothing must not decide the format of those it gives all, however large its values.
#[test]
fn an_unattended_outlier_leaves_the_attended_position_alone() {
    const LEN: usize = 4;
    for larger in 0..16 {
        for attended in 0..LEN {
            // Of one element a head and 40 apart in score: e^-40 is nothing in Q15, nor in f32.
            let mut case = Case {
                heads: 1,
                frac: 16,
                value_frac: 16,
                query: vec![40 << 16],
                keys: vec![0; LEN],
                values: vec![0; LEN],
            };
            case.keys[attended] = 1 << 16;
            case.values = vec![-20_000; LEN];
            case.values[attended] = 20_000;
            case.values[(attended + 1) % LEN] = -20_000 << larger;
            let (found, wanted) = (case.found()[0], case.wanted()[0].context[0]);
            assert!(
                (found / wanted - 1.0).abs() < 0.01,
                "2^{larger} times as large beside {attended}: {found}, not {wanted}"
            );
        }
    }
}
