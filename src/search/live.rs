//! A hypothesis that grows: what is known of the logits of its next token.

use super::Rules;
use super::book::{Choice, insert};
use crate::num::log2::LOG2_E;
use crate::num::{exp2_neg, exp2_parts, high_product, ln, round_shift, saturate_i32};
use crate::observe::Logits;
use core::cmp::Ordering;

/// Tokens whose logits are lower than the highest by more, nats in Q16, have less than a millionth of its probability: they are
/// neither summed nor chosen.
const FAR: i32 = 14 << 16;

/// A hypothesis that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    /// Sum of its tokens' log-probabilities, nats in Q16.
    pub sum: i32,
    /// Its last token.
    pub id: u16,
    /// Where its keys and values lie.
    pub place: u8,
    /// How many of the best next tokens are known.
    pub choice_count: u8,
    /// The highest logit of a token that may be chosen, and of one that a guard forbids.
    allowed: i32,
    pub forbidden: i32,
    /// The highest logit, of a token that may not be chosen too, and the sum of all relative to that, Q30.
    highest: i32,
    total: u64,
}

impl Live {
    pub const fn new(sum: i32, id: u16, place: u8) -> Self {
        let (allowed, forbidden, highest) = (i32::MIN, i32::MIN, i32::MIN);
        Live { sum, id, place, choice_count: 0, allowed, forbidden, highest, total: 0 }
    }

    /// What all probabilities are divided by, as a logarithm in Q16.
    pub fn normalizer(&self) -> i32 {
        self.highest.saturating_add(ln(self.total.max(1), 30))
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
                let shift = frac as i32 - 16;
                let to_q16 = |v| saturate_i32(round_shift(v as i64, shift));
                let of_q16 = |q16| saturate_i32(round_shift(q16 as i64, -shift));
                self.offer_each(choices, first, values, (to_q16, of_q16), (never, forbids));
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
            if forbids(id as u16) {
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
        let below = self.highest.saturating_sub(logit);
        if below < 0 {
            self.total = scaled(self.total, to_log2(below.saturating_neg()));
            self.highest = logit;
        }
        if below <= FAR {
            let (part, down) = exp2_parts(to_log2(below.max(0)));
            self.total += u64::from(part >> down.min(31));
        }
    }
}

/// Nats to powers of two, Q16; of less than 2^29.
fn to_log2(nats: i32) -> i32 {
    high_product(nats.min((1 << 29) - 1) << 2, LOG2_E)
}

/// A sum in Q30 times `2^-log`.
fn scaled(total: u64, log: i32) -> u64 {
    let factor = exp2_neg(log.saturating_neg()) as u64;
    // A sum has at most 2^16 terms of at most 2^30.
    (((total >> 32) * factor) << 2) + (((total & 0xffff_ffff) * factor) >> 30)
}
