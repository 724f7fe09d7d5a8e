//! A hypothesis that grows: what is known of the logits of its next token.

use super::Rules;
use super::book::{Choice, insert};
use crate::num::log2::LOG2_E;
use crate::num::{exp2_neg, high_product, ln, round_shift, saturate_i32};
use crate::observe::Logits;
use core::cmp::Ordering;

/// Tokens whose logits are lower than the highest by more, nats in Q16, have less than a millionth of its probability: they are
/// neither summed nor chosen.
const FAR: i32 = 14 << 16;

/// `2^-(i / 32)` in Q24: between them lines are an eighth of a thousandth too high at most.
const POWERS: [u32; 33] = {
    let mut powers = [0; 33];
    let mut i = 0;
    while i < powers.len() {
        powers[i] = exp2_neg(-((i as i32) << 11)) >> 6;
        i += 1;
    }
    powers
};

/// A hypothesis that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    /// Sum of its tokens' log-probabilities, nats in Q16.
    pub sum: i32,
    /// A bit for some of the ids that it has: what has none is not among them.
    pub said: u32,
    /// Its last token.
    pub id: u16,
    /// Where its keys and values lie.
    pub place: u8,
    /// How many of the best next tokens are known.
    pub choice_count: u8,
    /// The highest logit of a token that may be chosen, and of one that a guard forbids, Q16.
    allowed: i32,
    pub forbidden: i32,
    /// The highest logit, of a token that may not be chosen too, and the sum of all relative to that, Q24.
    highest: i32,
    total: u64,
}

impl Live {
    /// The hypothesis of the start token alone.
    pub const fn start(id: u16) -> Self {
        let (allowed, forbidden, highest) = (i32::MIN, i32::MIN, i32::MIN);
        Live { sum: 0, said: 0, id, place: 0, choice_count: 0, allowed, forbidden, highest, total: 0 }
    }

    /// This one with a token more.
    pub const fn with(&self, id: u16, sum: i32) -> Self {
        Live { sum, said: self.said | Self::bit(id), place: self.place, ..Self::start(id) }
    }

    /// The bit of an id.
    const fn bit(id: u16) -> u32 {
        1 << ((id ^ (id >> 5)) & 31)
    }

    /// What all probabilities are divided by, as a logarithm in Q16.
    pub fn normalizer(&self) -> i32 {
        self.highest.saturating_add(ln(self.total.max(1), 24))
    }

    /// Logits of the ids from `first` on; they come in order. The best that may be chosen go to `choices`; `forbids` is asked
    /// about those that would.
    pub fn offer(
        &mut self,
        rules: &Rules,
        first_step: bool,
        choices: &mut [Choice],
        first: usize,
        logits: Logits<'_>,
        forbids: impl Fn(u16) -> bool,
    ) {
        let never = |id| rules.never.contains(&id) || (first_step && id == rules.eos);
        match logits {
            Logits::Fixed { values, frac } => {
                let down = frac as i32 - 16;
                let of_q16 = |q16| saturate_i32(round_shift(q16 as i64, -down));
                if let 0..=31 = down {
                    // Rounded down, which all have in common.
                    self.offer_each(choices, first, values, (|v| v >> down, of_q16), (never, forbids));
                } else {
                    let to_q16 = |v| saturate_i32(round_shift(v as i64, down));
                    self.offer_each(choices, first, values, (to_q16, of_q16), (never, forbids));
                }
            }
            #[cfg(feature = "f16")]
            Logits::Float(values) => {
                let formats = (|v| (v * 65536.0) as i32, |q16| q16 as f32 / 65536.0);
                self.offer_each(choices, first, values, formats, (never, forbids));
            }
            #[cfg(not(feature = "f16"))]
            Logits::Float(_) => {}
        }
    }

    #[inline(always)]
    fn offer_each<T: Copy + PartialOrd>(
        &mut self,
        choices: &mut [Choice],
        first: usize,
        values: &[T],
        (to_q16, of_q16): (impl Fn(T) -> i32, impl Fn(i32) -> T),
        (never, forbids): (impl Fn(u16) -> bool, impl Fn(u16) -> bool),
    ) {
        let mut least = of_q16(self.allowed.saturating_sub(FAR));
        for (id, &value) in (first as u32..).zip(values) {
            // Most are too low to count, and no NaN does.
            if value.partial_cmp(&least).is_none_or(Ordering::is_lt) {
                continue;
            }
            let logit = to_q16(value);
            self.count(logit);
            let full = self.choice_count as usize == choices.len();
            if full && choices.last().is_none_or(|last| last.logit >= logit) || never(id as u16) {
                continue;
            }
            if self.said & Self::bit(id as u16) != 0 && forbids(id as u16) {
                self.forbidden = self.forbidden.max(logit);
                continue;
            }
            if logit > self.allowed {
                self.allowed = logit;
                least = of_q16(logit.saturating_sub(FAR));
            }
            let len = (self.choice_count as usize + usize::from(!full)).min(choices.len());
            self.choice_count = len as u8;
            let Some(choices) = choices.get_mut(..len) else { continue };
            // Ids come in order: behind those that are equal.
            let place = choices.iter().take(len.saturating_sub(1)).take_while(|choice| choice.logit >= logit).count();
            insert(choices.get_mut(place..).unwrap_or_default(), Choice { logit, id });
        }
    }

    /// Adds a logit to the sum of probabilities.
    #[inline(always)]
    fn count(&mut self, logit: i32) {
        let below = self.highest.wrapping_sub(logit);
        // Most are lower than the highest, by less than the format's ends are apart.
        if let 0..=FAR = below {
            self.total += u64::from(power(high_product(below << 2, LOG2_E)));
        } else if logit > self.highest {
            let up = logit.saturating_sub(self.highest);
            self.total = scaled(self.total, to_log2(up)) + u64::from(POWERS[0]);
            self.highest = logit;
        }
    }
}

/// `2^-log` of a logarithm in Q16 that is not negative, in Q24.
#[inline(always)]
fn power(log: i32) -> u32 {
    let (whole, step, rest) = (log >> 16, ((log >> 11) & 31) as usize, (log & 0x7ff) as u32);
    let [from, to] = [POWERS.get(step), POWERS.get(step + 1)].map(|power| power.copied().unwrap_or(0));
    // Less than 2^19 times 2^11.
    (from - (((from - to) * rest) >> 11)) >> whole.min(31)
}

/// Nats to powers of two, Q16; of less than 2^29.
fn to_log2(nats: i32) -> i32 {
    high_product(nats.min((1 << 29) - 1) << 2, LOG2_E)
}

/// A sum in Q24 times `2^-log`.
fn scaled(total: u64, log: i32) -> u64 {
    let factor = exp2_neg(log.saturating_neg()) as u64;
    // A sum has at most 2^16 terms of at most 2^24.
    (((total >> 32) * factor) << 2) + (((total & 0xffff_ffff) * factor) >> 30)
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers_are_close_from_above() {
        for log in 0..(20 << 16) {
            let (found, exact) = (f64::from(power(log)), 2f64.powf(24.0 - f64::from(log) / 65536.0));
            assert!(found >= exact - 2.0 && found <= exact * 1.000_07 + 1.0, "{log}: {found} {exact}");
        }
    }
}
