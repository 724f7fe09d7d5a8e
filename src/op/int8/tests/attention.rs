//! Attention over caches that [`Int8::store`] filled, against softmax in f64 over the stored values.

use super::*;
use crate::engine::{Room, Side};
use crate::kernel::Packing;
use crate::num::Multiplier;

/// A cache of `wide`, a row a position.
struct Cache {
    rows: Vec<u8>,
    scales: Vec<Scale>,
    room: Room,
    visible: usize,
    /// What it stands for, a row a position.
    meant: Vec<f64>,
}

impl Cache {
    fn of(wide: &[i32], d: usize, heads: usize, frac: i8, room: Room, side: Side) -> Self {
        let (visible, head_dim) = (wide.len() / d, d / heads);
        let padded = head_dim.next_multiple_of(4);
        // What was there before must not count.
        let mut rows = vec![0x55; room.capacity * heads * padded];
        let mut scales = vec![Scale { mantissa: 1 << 15, exponent: 99 }; room.capacity * heads];
        for (position, wide) in wide.chunks(d).enumerate() {
            Int8.store(wide, frac, heads, Place { side, position, room }, &mut rows, &mut scales);
        }
        // The matrices that `cache` describes, read by the packer's code.
        let byte = |head: usize, position: usize, i: usize| {
            let bytes = &rows[head * padded * room.capacity..];
            let chunk = room.chunk;
            let code = match side {
                Side::Keys => Packing::Int8.weight(bytes, head_dim, position, i),
                Side::Values => {
                    let bytes = &bytes[position / chunk * chunk * padded..];
                    Packing::Int8.weight(bytes, chunk, i, position % chunk)
                }
            };
            f64::from(code.unwrap())
        };
        let meant = (0..visible * d)
            .map(|i| {
                let (position, head) = (i / d, i % d / head_dim);
                byte(head, position, i % head_dim) * unit(scales[head * room.capacity + position], 127.0)
            })
            .collect();
        Cache { rows, scales, room, visible, meant }
    }

    fn cached(&self) -> Cached<'_, Int8> {
        Cached { rows: &self.rows, scales: &self.scales, room: self.room, visible: self.visible }
    }
}

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

    fn caches(&self, room: Room) -> [Cache; 2] {
        let (d, heads) = (self.query.len(), self.heads);
        [
            Cache::of(&self.keys, d, heads, self.frac, room, Side::Keys),
            Cache::of(&self.values, d, heads, self.value_frac, room, Side::Values),
        ]
    }

    fn exact(&self) -> Room {
        Room::exact(self.keys.len() / self.query.len())
    }

    /// What the engine makes of it, as values.
    fn found(&self) -> Vec<f64> {
        let (d, len) = (self.query.len(), self.keys.len() / self.query.len());
        let run = |room: Room| {
            let [keys, values] = self.caches(room);
            let mut query = self.query.clone();
            let head_dim = d / self.heads;
            let (mut scores, mut inputs) = (vec![-1; len.max(2 * head_dim)], vec![-1; len + 15 + head_dim + 3]);
            let scratch = &mut AttendScratch { scores: &mut scores, inputs: &mut inputs, watched: None };
            let (keys, values) = (keys.cached(), values.cached());
            Int8.attend(&mut query, d, self.frac, keys, values, self.value_frac, self.heads, scratch);
            query
        };
        let query = run(self.exact());
        for limit in [len, len + 9, len + 40] {
            assert_eq!(run(Room::up_to(limit)), query, "the same however values are laid");
        }
        query.iter().map(|x| f64::from(*x) * power(-i32::from(self.value_frac))).collect()
    }

    /// Softmax in f64. The bound adds up what `docs/numerics.md` says is rounded: the query to 16 bits and the score
    /// to Q16, which scale the weights; numerators to 4e-6; their products with the value scales to 15 bits of the
    /// largest product; the context to its format.
    fn wanted(&self) -> Vec<Wanted> {
        let [Cache { meant: keys, .. }, Cache { meant: values, .. }] = self.caches(self.exact());
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
            // Half a unit of each product, of which the largest has 30 889 at least, and each numerator's own error, in the
            // context and in the sum.
            let rounded = count / (2.0 * 30_889.0) * products().fold(0.0, f64::max);
            let bound = (total * ((2.0 * score_off).exp_m1() + 8e-6) + rounded) / sum;
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
    let [_, Cache { meant: values, .. }] = random.caches(random.exact());
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

proptest! {
    /// What the issue asks of 16-bit probabilities, on scores as they are: ordinary ones, one far above all others, all
    /// the same, and with value scales that differ.
    #[test]
    fn probabilities_are_within_3e_5(len in 1usize..80, spread in 0u32..31, one_scale: bool, peak: bool, seed: u64) {
        let worst = probability_error(len, spread, one_scale, peak, seed);
        prop_assert!(worst <= 3e-5, "{}", worst);
    }
}

/// The largest error of `weight / scale / sum` against softmax in f64.
fn probability_error(len: usize, spread: u32, one_scale: bool, peak: bool, seed: u64) -> f64 {
    let mut noise = Noise(seed);
    let scale =
        |noise: &mut Noise| Scale { mantissa: (1 << 14) + noise.bits() as u16 % ((1 << 14) + 1), exponent: -13 };
    let one = scale(&mut noise);
    let scales: Vec<Scale> = (0..len).map(|_| if one_scale { one } else { scale(&mut noise) }).collect();
    // Scores are made of sums: with these keys and this multiplier, of sums in Q16 as they are.
    let (keys, multiplier) =
        (vec![Scale { mantissa: 1 << 14, exponent: 0 }; len], Multiplier { mantissa: 1 << 14, shift: 44 });
    let mut sums: Vec<i32> = (0..len).map(|_| noise.bits() as i32 >> spread).collect();
    if peak {
        sums[len / 2] = i32::MAX;
    }
    let mut found = sums.clone();
    let peak = softmax::scores(multiplier, &keys, &scales, &mut found);
    let scores: Vec<f64> = found.iter().map(|score| f64::from(*score) * power(-16)).collect();
    let mut weights = vec![-1; len];
    let normalizer = softmax::softmax(peak, &scales, &found, &mut weights);
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = scores.iter().map(|score| (score - top).exp2()).sum();
    let sum = normalizer.sum as f64 * power(-30);
    let probability =
        |weight: i16, scale: Scale| f64::from(weight) * power(normalizer.exponent) / unit(scale, 1.0) / sum;
    let found = weights.iter().zip(&scales).map(|(weight, scale)| {
        assert!(*weight >= 0);
        probability(*weight, *scale)
    });
    let largest = scales.iter().map(|scale| scale.mantissa).max().unwrap();
    found
        .zip(&scores)
        .zip(&scales)
        // A position whose value is small has a coarser weight by as much as its weight counts less.
        .map(|((found, score), scale)| {
            (found - (score - top).exp2() / total).abs() * f64::from(scale.mantissa) / f64::from(largest)
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_largest_error_of_probabilities() {
    let cases = (0..2000u64).map(|i| probability_error(1 + i as usize % 64, i as u32 % 31, i % 2 == 0, i % 7 == 0, i));
    let worst = cases.fold(0.0, f64::max);
    std::println!("largest error of a probability: {worst:.2e}");
    assert!(worst <= 3e-5, "{worst}");
}

proptest! {
    #[test]
    fn stored_rows_are_within_half_a_step_a_head(
        heads in 1usize..6, head_dim in 1usize..20, len in 1usize..40, frac in -4i8..=20, drops in any::<[u8; 6]>(),
        values: bool, growing: bool, seed: u64,
    ) {
        let mut noise = Noise(seed);
        let d = heads * head_dim;
        let wide: Vec<i32> =
            (0..len * d).map(|i| (noise.bits() as i32) >> (drops[i % d / head_dim] % 32)).collect();
        let room = if growing { Room::up_to(len + 3) } else { Room::exact(len) };
        let side = if values { Side::Values } else { Side::Keys };
        let cache = Cache::of(&wide, d, heads, frac, room, side);
        for (i, (&found, &x)) in cache.meant.iter().zip(&wide).enumerate() {
            let unit = unit(cache.scales[i % d / head_dim * room.capacity + i / d], 127.0);
            let wanted = f64::from(x) * power(-i32::from(frac));
            // The scale is rounded up to 16 bits.
            prop_assert!((found - wanted).abs() <= unit * (0.5 + 127.0 * power(-14)), "{} {} {}", found, unit, wanted);
        }
    }
}

#[test]
fn stored_extremes_and_zeros() {
    let wide = [i32::MIN, i32::MAX, 0, 0, i32::MIN, i32::MIN];
    for side in [Side::Keys, Side::Values] {
        let cache = Cache::of(&wide, 6, 3, 16, Room::exact(1), side);
        assert_eq!(cache.meant, [-32768.0, 32768.0, 0.0, 0.0, -32768.0, -32768.0]);
        let scales = [0, 4, 8].map(|i| unit(cache.scales[i], 1.0));
        assert_eq!(scales, [32768.0, 0.0, 32768.0]);
    }
}
