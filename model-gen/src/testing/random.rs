//! A small generator of its own, so that a seed means the same numbers in every release of every crate.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `bound`, which must not be 0. The bias of the remainder is of no matter to tests.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f32 {
        // 24 bits: every value is exact in f32.
        (self.next_u64() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// Uniform around `mean` with the given standard deviation.
    pub fn uniform(&mut self, mean: f32, deviation: f32) -> f32 {
        mean + self.signed() * deviation * 3f32.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn published_sequence_of_seed_0() {
        let mut random = SplitMix64::new(0);
        let first: [u64; 3] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(first, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn mean_and_deviation() {
        let mut random = SplitMix64::new(3);
        let values: Vec<f32> = (0..20_000).map(|_| random.uniform(1.0, 0.5)).collect();
        let mean = values.iter().sum::<f32>() / 20_000.0;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.02 && (variance.sqrt() - 0.5).abs() < 0.02, "{mean} {variance}");
    }
}
